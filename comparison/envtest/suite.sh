# What `run` and `others` share; they source it. $work has the programs of tests and the reports.

# Readies the reports, and the variables that tell suites where the programs are: prepare ASSETS
prepare() {
    KUBEBUILDER_ASSETS="$(realpath "$1")"
    export KUBEBUILDER_ASSETS
    # Suites that use a cluster that exists are to start their own.
    unset KUBECONFIG USE_EXISTING_CLUSTER
    rm -rf "$work/reports"
    mkdir -p "$work/programs" "$work/reports"
}

# Runs the suite of a package of a module, and reports it under a name: run_suite MODULE PACKAGE NAME
run_suite() {
    local module="$1" package="$2" name="${3//\//-}" began flags=()
    local program="$work/programs/$name"
    [ -x "$program" ] || (cd "$module" && go test -c -o "$program" "./$package")
    printf '%s\n' "$3"
    if grep -q onsi/ginkgo "$module/$package"/*_test.go; then
        flags=(--ginkgo.no-color --ginkgo.json-report "$work/reports/$name.json")
    fi
    began="$(date +%s.%N)"
    (cd "$module/$package" && "$program" -test.v -test.timeout 20m "${flags[@]}") </dev/null \
        >"$work/reports/$name.log" 2>&1 || true
    printf '%s %s %s\n' "$3" "$began" "$(date +%s.%N)" >>"$work/reports/times"
}
