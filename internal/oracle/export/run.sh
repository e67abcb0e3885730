#!/usr/bin/env bash
# Writes runs over real logs in the official layout and has the official releases
# 5.0.2 and 4.1.0 grade and count them again. Needs Python 3.10 or newer and, the
# first time, a package index.
#
#   HARNESS_ORACLE   where the releases are installed (default: a cache folder)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export HARNESS_ORACLE=${HARNESS_ORACLE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/harness-oracle}

status=0
../venv.sh "$HARNESS_ORACLE" 5.0.2 4.1.0 || status=$?
if [ "$status" = 75 ]; then
	echo "oracle: skipped: the official releases can't be installed here; nothing was compared" >&2
	exit 0
elif [ "$status" != 0 ]; then
	exit "$status"
fi
exec go test -tags oracle -count=1 -timeout 10m -v -run '^TestExport$' .
