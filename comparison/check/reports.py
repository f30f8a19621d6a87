#!/usr/bin/env python3
"""Validates the reports of `check` against their schemas.

    reports.py FIELDMANAGER SARIF_SCHEMA JUNIT_SCHEMA SOURCE..

SARIF_SCHEMA is sarif-2.1/schema/sarif-schema-2.1.0.json of github.com/oasis-tcs/sarif-spec, JUNIT_SCHEMA is junit-10.xsd of
github.com/jenkinsci/xunit-plugin; the schema of the JSON report is ../../docs/schemas/check.json. Annotations are read as
`ActionCommand.TryParseV2` of github.com/actions/runner does. All reports must have the same faults.

It needs the packages jsonschema and xmlschema.
"""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import jsonschema
import xmlschema

HERE = pathlib.Path(__file__).resolve().parent


def check(form, fieldmanager, sources):
    done = subprocess.run([fieldmanager, "check", "-o", form, *sources], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{form}: {done.stderr}")
    return done.stdout


def annotation(line):
    """The properties and the message of a workflow command."""
    if not line.startswith("::"):
        sys.exit(f"not a workflow command: {line}")
    head, separator, data = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    if not separator or name not in ("error", "warning", "notice"):
        sys.exit(f"not an annotation: {line}")
    found = dict(part.split("=", 1) for part in properties.split(",") if part)
    if not set(found) <= {"file", "line", "endLine", "title", "col", "endColumn"}:
        sys.exit(f"unknown properties: {line}")
    unescaped = {key: unescape(value, {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}) for key, value in found.items()}
    return name, unescaped, unescape(data, {"%0D": "\r", "%0A": "\n"})


def unescape(text, escapes):
    for escape, meaning in escapes.items():
        text = text.replace(escape, meaning)
    return text.replace("%25", "%")


def main():
    fieldmanager, sarif_schema, junit_schema, *sources = sys.argv[1:]
    report = json.loads(check("json", fieldmanager, sources))
    jsonschema.Draft202012Validator(json.loads((HERE / "../../docs/schemas/check.json").read_text())).validate(report)
    refused = [verdict for verdict in report["verdicts"] if verdict["verdict"] in ("refused", "unreadable")]
    faults = sum(max(1, len(verdict["faults"])) for verdict in refused)
    warnings = sum(len(verdict["warnings"]) for verdict in report["verdicts"])
    print(f"json: valid, {report['objects']} objects, {len(refused)} refused, {faults} faults, {warnings} warnings")

    sarif = json.loads(check("sarif", fieldmanager, sources))
    jsonschema.validators.validator_for(schema := json.loads(pathlib.Path(sarif_schema).read_text()))(
        schema, format_checker=jsonschema.FormatChecker()).validate(sarif)
    results = sarif["runs"][0]["results"]
    errors = sum(result["level"] == "error" for result in results)
    print(f"sarif: valid, {errors} errors, {len(results) - errors} others")

    text = check("junit", fieldmanager, sources)
    xmlschema.XMLSchema11(junit_schema).validate(text)
    root = xml.fromstring(text)
    cases, failures = (len(root.findall(f".//{name}")) for name in ("testcase", "failure"))
    print(f"junit: valid, {cases} cases, {failures} failures")

    annotations = [annotation(line) for line in check("github", fieldmanager, sources).splitlines()]
    shown = sum(name == "error" for name, _, _ in annotations)
    lines = sum(properties["line"].isdigit() and bool(properties["file"]) for _, properties, _ in annotations)
    print(f"github: valid, {shown} errors, {len(annotations) - shown} warnings")

    expected = (faults, faults, len(refused), report["objects"], len(annotations), warnings)
    if (errors, shown, failures, cases, lines, len(annotations) - shown) != expected:
        sys.exit("the reports have different numbers of faults")


if __name__ == "__main__":
    main()
