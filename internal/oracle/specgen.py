#!/usr/bin/env python3
"""Writes the spec table of datasets/evalscript from the tables of swebench 4.1.0.

    venv.sh DIR 4.1.0 5.0.2 && DIR/bin/python specgen.py DIR ../../datasets/evalscript/specs

Only what a test run needs is taken: how images are built is left out. Versions
with equal commands share an entry. The files may be edited by hand afterwards;
a test compares what they give with published rows.
"""

import ast
import json
import sys
from pathlib import Path

import official

MULTIMODAL = {
    "Automattic/wp-calypso",
    "chartjs/Chart.js",
    "diegomura/react-pdf",
    "markedjs/marked",
    "processing/p5.js",
}

# What single tasks got since the tables were written, as published rows show.
BEFORE_TEST = {
    "astropy/astropy": {
        "astropy__astropy-8707": ["python -m pip install -q 'pytest<7.2'"],
        "astropy__astropy-8872": ["export SETUPTOOLS_USE_DISTUTILS=stdlib"],
    },
}


def parser_names(folder):
    """The parser of each repository, by the name that rows use: an alias and
    its function are the same object, so the source is read instead."""
    names = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id.startswith("MAP_REPO_TO_PARSER_")
                and isinstance(node.value, ast.Dict)
            ):
                for key, value in zip(node.value.keys, node.value.values):
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Name):
                        names[key.value] = value.id
    return names


def as_list(value):
    return [value] if isinstance(value, str) else list(value)


def entry(spec, style):
    """The commands of one version, as the table has them."""
    out = {}
    if style == "python":
        if spec.get("eval_commands"):
            out["eval"] = as_list(spec["eval_commands"])
        if spec.get("install"):
            out["install"] = as_list(spec["install"])
    elif spec.get("build"):
        out["build"] = as_list(spec["build"])
    out["test"] = as_list(spec["test_cmd"])
    return out


def version_key(version):
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in version.split(".")]


def main():
    base, target = Path(sys.argv[1]), Path(sys.argv[2])
    parsers = parser_names(base / "5.0.2" / "swebench" / "harness" / "log_parsers")
    constants = official.load(base / "4.1.0")("swebench.harness.constants")

    tables = {"python": {}, "multilingual": {}, "multimodal": {}}
    for repo, versions in constants.MAP_REPO_VERSION_TO_SPECS.items():
        if repo not in parsers:
            print(f"left out {repo}: it has no parser", file=sys.stderr)
            continue
        style = "multilingual"
        if constants.MAP_REPO_TO_EXT[repo] == "py":
            style = "python"
        elif repo in MULTIMODAL:
            style = "multimodal"
        groups = {}
        for version, spec in versions.items():
            commands = entry(spec, style)
            key = json.dumps(commands, sort_keys=True)
            groups.setdefault(key, (commands, []))[1].append(version)
        row = {"parser": parsers[repo]}
        if repo in constants.FAIL_ONLY_REPOS:
            row["eval_type"] = "fail_only"
        specs = [
            {"versions": sorted(versions, key=version_key), **commands}
            for commands, versions in groups.values()
        ]
        row["specs"] = sorted(specs, key=lambda s: version_key(s["versions"][0]))
        if repo in BEFORE_TEST:
            row["before_test"] = BEFORE_TEST[repo]
        tables[style][repo] = row
    for style, repos in tables.items():
        text = json.dumps({"style": style, "repos": dict(sorted(repos.items()))}, indent=1, ensure_ascii=False)
        (target / f"{style}.json").write_text(compact(text) + "\n", encoding="utf-8")


def compact(text):
    """Lists of short strings on one line: versions are read at a glance."""
    out, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        if lines[i].endswith("["):
            j = i + 1
            while lines[j].strip().startswith('"') and not lines[j].endswith(": ["):
                j += 1
            items = [line.strip() for line in lines[i + 1 : j]]
            joined = lines[i] + " ".join(items) + lines[j].strip()
            if items and lines[j].strip() in ("]", "],") and len(joined) <= 140:
                out.append(joined)
                i = j + 1
                continue
        out.append(lines[i])
        i += 1
    return "\n".join(out)


if __name__ == "__main__":
    main()
