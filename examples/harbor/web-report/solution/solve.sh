#!/bin/bash
set -e
python3 /solution/report.py access.log > report.json
