#!/usr/bin/env bash
# Builds kube-apiserver of another release than that of this module, as build.sh does. Known to work: 1.29.15 and 1.34.4.
# usage: build-release.sh VERSION OUTPUT
set -euo pipefail
out=$(realpath -m "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cmd"
cp -r "$here/cmd/kube-apiserver" "$work/cmd/"
cp "$here/build.sh" "$here/go.mod" "$work/"
cd "$work"
# A server refuses names of plugins that it does not have.
IFS=. read -r _ minor _ <<<"${1#v}"
((minor >= 32)) || sed -i 's/"MutatingAdmissionPolicy", //' cmd/kube-apiserver/main.go
"$here/pin.sh" "$1"
./build.sh "$out"
