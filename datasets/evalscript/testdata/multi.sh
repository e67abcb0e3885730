#!/bin/bash
set -uxo pipefail
cd /home/calc
git config --global --add safe.directory /home/calc
rm -f /home/fix.patch
if [ ! -s /tmp/patch.diff ] || git -C /home/calc apply --check --reverse /tmp/patch.diff; then
  run=/home/test-run.sh
else
  cp /tmp/patch.diff /home/fix.patch
  run=/home/fix-run.sh
fi
: '>>>>> Start Test Output'
bash "$run"
: '>>>>> End Test Output'
