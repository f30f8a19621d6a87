#!/usr/bin/env bash
# A test of least privilege with kubectl. FIELDMANAGER is the program; `fieldmanager` in PATH by default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

exec {server}< <(exec "${FIELDMANAGER:-fieldmanager}" serve --authorization rbac --crd shops.yaml --load operator.yaml)
pid=$!
trap 'kill "$pid"' EXIT
IFS= read -r line <&"$server"
KUBECONFIG="${line#*; kubeconfig }"
export KUBECONFIG
equal() { [ "$1" = "$2" ] || { printf 'found %s, want %s\n' "$1" "$2" >&2; exit 1; }; }

kubectl create -f - <<<'{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}}'

# What the operator does, with a token of the service account that it has in a cluster.
token="$(kubectl create token operator)"
operator() { kubectl --token "$token" "$@"; }
reconcile() {
    operator get shop corner -o json |
        kubectl patch --local --type merge -p '{"status": {"ready": true}}' -o json -f - |
        operator replace --subresource status -f -
}
! refused="$(reconcile 2>&1)" || exit 1
[[ "$refused" = *'cannot update resource "shops/status"'* ]] || { printf '%s\n' "$refused" >&2; exit 1; }

# With the verb, and nothing more, it works.
kubectl patch role operator --type json -p '[{"op": "add", "path": "/rules/-",
    "value": {"apiGroups": ["example.com"], "resources": ["shops/status"], "verbs": ["update"]}}]'
reconcile
equal "$(kubectl get shop corner -o jsonpath='{.status}')" '{"ready":true}'
as=system:serviceaccount:default:operator
equal "$(kubectl auth can-i update shops --subresource status --as "$as")" yes
equal "$(kubectl auth can-i delete shops --as "$as" || true)" no
