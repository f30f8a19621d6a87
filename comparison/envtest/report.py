"""Collects and compares the results of suites; see `run`."""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent


def specs(report):
    """The names of the specs of a report of Ginkgo, and how each ended."""
    for suite in json.loads(report.read_text()):
        for spec in suite["SpecReports"] or []:
            if spec["State"] not in ("pending", "skipped"):
                words = (spec.get("ContainerHierarchyTexts") or []) + [spec["LeafNodeText"]]
                yield " ".join(word for word in words if word) or spec["LeafNodeType"], spec["State"]


def tests(log):
    """The names of the tests of Go, which may run specs, and how each ended."""
    for state, name in re.findall(r"^\s*--- (PASS|FAIL): (\S+)", log.read_text(errors="replace"), re.M):
        yield name, "passed" if state == "PASS" else "failed"


def collect(reports, result):
    """Writes what the specs of each package did, by name."""
    reports, packages = pathlib.Path(reports), {}
    for line in (reports / "times").read_text().splitlines():
        package, began, ended = line.split()
        name = package.replace("/", "-")
        report = reports / f"{name}.json"
        found = list(specs(report) if report.exists() else []) + list(tests(reports / f"{name}.log"))
        passed = [spec for spec, state in found if state == "passed"]
        failed = sorted(spec for spec, state in found if state != "passed")
        packages[package] = {
            "passed": len(passed),
            "failed": failed,
            "seconds": round(float(ended) - float(began), 1),
        }
    total = {
        "passed": sum(one["passed"] for one in packages.values()),
        "failed": sum(len(one["failed"]) for one in packages.values()),
        "seconds": round(sum(one["seconds"] for one in packages.values()), 1),
    }
    text = json.dumps({"total": total, "packages": packages}, indent=1, ensure_ascii=False)
    pathlib.Path(result).write_text(text + "\n")
    print(json.dumps(total))


def compare(real, result):
    """Lists the specs that fail in the second result alone, and that no line of differences.txt has."""
    real, result = (json.loads(pathlib.Path(path).read_text())["packages"] for path in (real, result))
    lines = (HERE / "differences.txt").read_text().splitlines()
    known = {line for line in lines if line and not line.startswith("#")}
    bad = 0
    for package, found in result.items():
        there = real.get(package, {"failed": [], "passed": 0, "seconds": 0})
        print(f"{package}: {found['passed']} of {there['passed']}, {found['seconds']} s, there {there['seconds']} s")
        for name in found["failed"]:
            if name not in there["failed"] and f"{package}: {name}" not in known:
                bad += 1
                print(f"  fails here alone: {name}")
        if found["passed"] + len(found["failed"]) < there["passed"] + len(there["failed"]):
            bad += 1
            print("  fewer specs ran here")
    sys.exit(1 if bad else 0)


def flags(program):
    """Compares the names of flags, and which of them are boolean."""
    import subprocess

    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    pattern = re.compile(r"^ {2,6}(?:-\w, )?--([\w-]+)(?:\[=[^\]]*\])?(?: (\S+))?(?:  |$)", re.M)
    real = {name: (kind or "bool") == "bool" for name, kind in pattern.findall(text)}
    path = HERE / "../../tools/cli/src/envtest/flags.txt"
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    ours = {name: kind == "bool" for name, kind, _ in lines}
    for name in sorted(real.keys() | ours.keys()):
        if real.get(name) != ours.get(name):
            print(f"{name}: boolean there {real.get(name)}, here {ours.get(name)}")
    sys.exit(0 if real == ours else 1)


{"collect": collect, "compare": compare, "flags": flags}[sys.argv[1]](*sys.argv[2:])
