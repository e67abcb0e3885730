#!/bin/bash
set -x
export A='1 2'
cd /app
git config --global --add safe.directory /app
git checkout y -- t/a.go
bash /workspace/run_script.sh 't/a.go,t/b c.go' > /workspace/stdout.log 2> /workspace/stderr.log
python /workspace/parser.py /workspace/stdout.log /workspace/stderr.log /workspace/output.json > /workspace/parser.log 2>&1
: '>>>>> Start Test Output'
cat /workspace/output.json
: '>>>>> End Test Output'
cat /workspace/parser.log /workspace/stdout.log /workspace/stderr.log
