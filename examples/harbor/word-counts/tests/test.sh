#!/bin/bash
# Runs from the folder that the image names. The reward is all or nothing.
if python3 -m pytest -rA -p no:cacheprovider /tests/test_outputs.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
