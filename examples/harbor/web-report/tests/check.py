import json
import os

WANT = {"requests": 9, "errors": 2, "slowest": "/search"}

try:
    with open(os.environ["REPORT"]) as f:
        report = json.load(f)
except (OSError, ValueError) as problem:
    print(f"there is no report: {problem}")
    report = {}
right = 0
for key, value in WANT.items():
    good = isinstance(report, dict) and report.get(key) == value
    right += good
    # Lines of this form become rows of the table of tests.
    print("PASSED" if good else "FAILED", f"report::{key}")
with open("/logs/verifier/reward.json", "w") as f:
    json.dump({"reward": right / len(WANT)}, f)
