#!/usr/bin/env bash
# A test with kubectl and curl. FIELDMANAGER is the program; `fieldmanager` in PATH by default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The server says in one line that it answers.
exec {server}< <(exec "${FIELDMANAGER:-fieldmanager}" serve --test-api --crd shops.yaml)
pid=$!
trap 'kill "$pid"' EXIT
IFS= read -r line <&"$server"
[[ "$line" =~ ^serving\ (.*)\;\ kubeconfig\ (.*)$ ]]
url="${BASH_REMATCH[1]}" KUBECONFIG="${BASH_REMATCH[2]}"
export KUBECONFIG
token="$(kubectl config view --raw -o jsonpath='{.users[0].user.token}')"

# Sends a request to a path below /test.
api() {
    curl -sSf -X "$1" "$url/test$2" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' ${3:+-d "$3"}
}
apply() {
    printf '{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": %s}' "$2" |
        kubectl apply --server-side --force-conflicts --field-manager "$1" -f -
}
equal() { [ "$1" = "$2" ] || { printf 'found %s, want %s\n' "$1" "$2" >&2; exit 1; }; }

apply alice '{"color": "red", "size": 1}'
api POST /faults '{"fault": "conflict", "verb": "apply", "manager": "bob", "times": 1}' >/dev/null
! apply bob '{"size": 2}' || exit 1
apply bob '{"size": 2}'

equal "$(kubectl get shop corner -o jsonpath='{.spec}')" '{"color":"red","size":2}'
owners() { kubectl get shop corner --show-managed-fields -o jsonpath="{.metadata.managedFields[?(@.fieldsV1.f:spec.$1)].manager}"; }
equal "$(owners f:size)" bob
equal "$(owners f:color)" alice
equal "$(api GET '/log?manager=bob&path=.spec.size' | wc -l)" 1

api POST /reset >/dev/null
equal "$(kubectl get shops -o name)" ''
