#!/bin/bash
# The reward is the share of what is right.
exec python3 /tests/check.py
