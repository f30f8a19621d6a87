# What the blocks of a page run in, one after the other, in a folder with the files of `files`.
set -euo pipefail

servers=()
trap '((${#servers[@]} == 0)) || kill "${servers[@]}" 2>/dev/null || true' EXIT

# Says which block runs, in the output of a failure.
at() { printf '== %s\n' "$1"; }

# Starts a server on a free port in place of the one that a page names, and waits for it.
serve() {
    local arguments=() config="" previous=""
    for argument in "$@"; do
        [ "$previous" != --kubeconfig ] || config="$argument"
        [ "$argument" = --port ] || [ "$previous" = --port ] || arguments+=("$argument")
        previous="$argument"
    done
    [ -n "$config" ] || { config="$PWD/server-${#servers[@]}.kubeconfig"; arguments+=(--kubeconfig "$config"); }
    rm -f "$config"
    "$FIELDMANAGER" serve "${arguments[@]}" >"$config.log" 2>&1 &
    servers+=("$!")
    until [ -s "$config" ]; do
        kill -0 "${servers[-1]}" || { cat "$config.log"; return 1; }
        sleep 0.05
    done
    export KUBECONFIG="$config"
    url="$(sed -n 's/^serving \([^;]*\);.*/\1/p' "$config.log")"
}

# A server that asks for a token over HTTPS alone, and another one that asks for none.
two_servers() {
    serve --tls
    secure="$url" TOKEN="$(kubectl config view --raw -o jsonpath='{.users[0].user.token}')"
    kubectl config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d >ca.pem
    serve --no-token
    kubectl config rename-context "$(kubectl config current-context)" kind-shop
}

# Runs an example that a build of the workspace made beside the program.
example() { "$(dirname "$FIELDMANAGER")/examples/$1"; }

# Runs a command, and looks for words in what it prints; lines may be broken elsewhere.
prints() {
    local output
    output="$(eval "$2" 2>&1 || true)"
    output="$(tr -s ' \n' ' ' <<<"$output")"
    [[ "$output" == *"$1"* ]] || { printf 'found   %s\nwanted  %s\n' "$output" "$1"; return 1; }
}

# Posts JSON to a path of the server.
post() {
    local token
    token="$(kubectl config view --raw -o jsonpath='{.users[0].user.token}')"
    curl -sSf "$url$1" -H "Authorization: Bearer $token" -H "Content-Type: application/json" --data-binary @-
}

# The whole suite has a part of `.ci/run` of its own: here an area of it is enough, unless a page selects cases.
fieldmanager() {
    local area=()
    [[ "$1" != conformance || "$*" =~ --only|--skip|--list|my-cases|block ]] || area=(--only conflicts)
    command fieldmanager "$@" "${area[@]}"
}
