#!/usr/bin/env python3
"""Grades logs as one release of the official harness does.

    worker.py DIR RELEASE

DIR is what venv.sh filled. Every request is a line of JSON followed by as many
bytes of log as its "size" says; a "task" in it stays in force until the next
one. Every answer is a line of JSON: what the release makes of the log.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import types
from pathlib import Path

import official

SECONDS = 20  # for one log: some of the release's expressions can take hours


class TooSlow(BaseException):
    pass


def too_slow(*_):
    raise TooSlow()


class Grader:
    def __init__(self, base, release):
        modules = official.load(base / release)
        self.major = int(release.split(".")[0])
        self.grading = modules("swebench.harness.grading")
        self.folder = Path(tempfile.mkdtemp(prefix="harness-oracle-", dir=shared_memory()))
        self.seen = None
        inner = self.grading.get_logs_eval

        def remember(*args):
            self.seen = inner(*args)
            return self.seen

        self.grading.get_logs_eval = remember

    def task(self, row):
        self.row = types.SimpleNamespace(**row)
        # Release 2 takes the repository from the name of the log's folder.
        parent = self.folder / row["instance_id"]
        parent.mkdir(exist_ok=True)
        self.log = parent / "test_output.txt"

    def write(self, log):
        if self.major >= 5:
            # Newer releases decode what the container says before they write it.
            log = log.decode("utf-8", errors="replace").encode()
        self.log.write_bytes(log)

    def grade(self, log):
        self.write(log)
        self.seen = None
        prediction = {"instance_id": self.row.instance_id, "model_name_or_path": "m", "model_patch": "p"}
        args = [self.row, prediction, self.log if self.major >= 3 else str(self.log)]
        answer = {}
        start = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            report = self.grading.get_eval_report(*args, include_tests_status=True)
            signal.alarm(0)
            answer["report"] = report[self.row.instance_id]
            status_map, answer["found"] = self.seen
            answer["status_map"] = list(status_map.items())
        except TooSlow:
            answer["too_slow"] = True
        except Exception as e:  # the harness ends the instance as an error
            answer["error"] = f"{type(e).__name__}: {e}"[:300]
        finally:
            signal.alarm(0)
        answer["seconds"] = time.perf_counter() - start
        return answer


def shared_memory():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main():
    grader = Grader(Path(sys.argv[1]), sys.argv[2])
    signal.signal(signal.SIGALRM, too_slow)
    # What the release prints must not mix with the answers.
    answers, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            if "task" in request:
                grader.task(request["task"])
            log = sys.stdin.buffer.read(request["size"])
            json.dump(grader.grade(log), answers)
            answers.write("\n")
            answers.flush()
    finally:
        shutil.rmtree(grader.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
