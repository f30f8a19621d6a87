#!/usr/bin/env bash
# Makes the go.mod of the module in the working directory again, for a release of Kubernetes and what it requires.
# usage: pin.sh VERSION
set -euo pipefail
version="v${1#v}"
head=$(grep -E '^(module|go|godebug) ' go.mod)
printf '%s\n' "$head" >go.mod
rm -f go.sum
manifest=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
# The staging modules of v1.MINOR.PATCH are v0.MINOR.PATCH.
sed -n 's,^\t\(k8s.io/[a-z-]*\) v0[.]0[.]0\( .*\)*$,\1,p' "$manifest" | while read -r staging; do
    go mod edit -replace "$staging=$staging@v0${version#v1}"
done
etcd=$(sed -n 's,^\tgo.etcd.io/etcd/server/v3 \(v[0-9.]*\).*,\1,p' "$manifest")
# Without the replacement, a package that the release does not have selects a newer release.
go mod edit -replace "k8s.io/kubernetes=k8s.io/kubernetes@$version" \
    -require "k8s.io/kubernetes@$version" -require "go.etcd.io/etcd/server/v3@$etcd"
# Tests of Kubernetes can import what its modules do not have.
go mod tidy -e
go mod edit -dropreplace k8s.io/kubernetes -require "k8s.io/kubernetes@$version"
