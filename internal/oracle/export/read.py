#!/usr/bin/env python3
"""Reads a folder of runs as one release of the official harness does.

    read.py VENV RELEASE FOLDER RUN DATASET OUT

VENV is what venv.sh filled, DATASET a file with a JSON row a line. What the
release makes of the run goes to the folder OUT: its run report, and for each
instance that has a log to grade <instance>.json, the text of its report.json.
Where grading raises, there is no such file: the release would have written none.
"""

import contextlib
import io
import json
import os
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import official  # noqa: E402

# Opened without running their __init__, as official.py does with others.
official.OPENED += ("swebench.image_builder",)


def spec(row):
    return types.SimpleNamespace(**row)


def main():
    venv, release, folder, run, dataset, out = sys.argv[1:]
    modules = official.load(Path(venv).resolve() / release)
    rows = [json.loads(line) for line in Path(dataset).read_text(encoding="utf-8").split("\n") if line]
    out = Path(out).resolve()
    os.chdir(folder)
    utils = modules("swebench.harness.utils")
    grading = modules("swebench.harness.grading")
    reporting = modules("swebench.harness.reporting")
    predictions = {p["instance_id"]: p for p in utils.get_predictions_from_file("preds.jsonl", dataset, "test")}
    five = release.startswith("5.")
    logs = Path("logs/run_evaluation") / run
    with contextlib.redirect_stdout(io.StringIO()):
        for row in rows:
            p = predictions.get(row["instance_id"])
            if p is None:
                continue
            log = logs / p["model_name_or_path"].replace("/", "__") / row["instance_id"] / "test_output.txt"
            # An instance whose tests were stopped is not graded.
            if not log.exists() or log.read_text(encoding="utf-8").endswith("seconds exceeded."):
                continue
            try:
                report = grading.get_eval_report(spec(row), p, log, include_tests_status=True)
            except Exception:
                continue
            (out / f"{row['instance_id']}.json").write_text(json.dumps(report, indent=4))
        if five:
            reporting.make_run_report(predictions, rows, run, None, str(out))
        else:
            # This release writes its block about containers when there is no client,
            # and its report into the working directory.
            reporting.list_images = lambda client: set()
            reporting.make_test_spec = lambda row, **_: types.SimpleNamespace(instance_image_key="")
            client = types.SimpleNamespace(containers=types.SimpleNamespace(list=lambda all: []))
            reporting.RUN_EVALUATION_LOG_DIR = Path("logs/run_evaluation").resolve()
            os.chdir(out)
            reporting.make_run_report(predictions, rows, run, client)


if __name__ == "__main__":
    main()
