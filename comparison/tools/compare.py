#!/usr/bin/env python3
"""Compares two recordings: that of `fieldmanager serve` and that of a kube-apiserver.

    compare.py RECORDED RECORDED

The requests of each tool, the codes and messages of the answers, and the object at the end with its owners must be the same.
"""

import json
import pathlib
import re
import sys


def common(file):
    """What two servers have in common of a case."""
    case = json.loads(file.read_text())
    case.pop("before")
    after = case["after"]["metadata"]
    entries = [{key: value for key, value in entry.items() if key != "time"} for entry in after["managedFields"]]
    case["owners"] = sorted(entries, key=lambda entry: (entry["manager"], entry["operation"]))
    case["after"] = [after["labels"], after.get("annotations"), case["after"]["spec"]]
    text = json.dumps(case, sort_keys=True)
    text = re.sub(r"20\d\d-\d\d-\d\dT[\d:]+Z", "TIME", text)
    return re.sub(r'("/metadata/resourceVersion", "value": )"\d+"', r'\1"VERSION"', text)


def main():
    ours, real = map(pathlib.Path, sys.argv[1:])
    different = 0
    for file in sorted(ours.glob("*.json")):
        is_same = common(file) == common(real / file.name)
        different += not is_same
        print(f"{file.stem}: {len(json.loads(file.read_text())['requests'])} requests, {'the same' if is_same else 'DIFFERENT'}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
