#!/usr/bin/env bash
# Builds kube-apiserver of another release than that of this module, as build.sh does. Known to work: 1.29.15 and 1.34.4.
# usage: build-release.sh VERSION OUTPUT
set -euo pipefail
version="v${1#v}"
out=$(realpath -m "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cmd"
cp -r "$here/cmd/kube-apiserver" "$work/cmd/"
cp "$here/build.sh" "$work/"
cd "$work"
go mod init fieldmanager.dev/conformance/server 2>/dev/null
manifest=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
# The staging modules of v1.MINOR.PATCH are v0.MINOR.PATCH.
sed -n 's,^\t\(k8s.io/[a-z-]*\) v0[.]0[.]0\( .*\)*$,\1,p' "$manifest" | while read -r module; do
    go mod edit -replace "$module=$module@v0${version#v1}"
done
etcd=$(sed -n 's,^\tgo.etcd.io/etcd/server/v3 \(v[0-9.]*\).*,\1,p' "$manifest")
go mod edit -require "k8s.io/kubernetes@$version" -require "go.etcd.io/etcd/server/v3@$etcd"
# A server refuses names of plugins that it does not have.
IFS=. read -r _ minor _ <<<"$version"
((minor >= 32)) || sed -i 's/"MutatingAdmissionPolicy", //' cmd/kube-apiserver/main.go
go mod tidy
./build.sh "$out"
