#!/usr/bin/env bash
# Compares our graders with the official ones (releases 5.0.2, 4.1.0 and 2.1.7)
# on mutated logs and on worked verdicts, and shows the time that both take. Needs
# Python 3.10 or newer and, the first time, a package index. Differences on mutated
# logs are kept as small cases.
#
#   HARNESS_ORACLE        where the releases are installed (default: a cache folder)
#   HARNESS_ORACLE_LOGS   how many logs (default 2000)
#   HARNESS_ORACLE_SEED   another seed, other logs (default 1)
#   HARNESS_ORACLE_KEEP   where differences are kept (default: a new temporary folder)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export HARNESS_ORACLE=${HARNESS_ORACLE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/harness-oracle}
export HARNESS_ORACLE_KEEP=${HARNESS_ORACLE_KEEP:-$(mktemp -d -t harness-oracle-XXXXXX)}

status=0
./venv.sh "$HARNESS_ORACLE" 5.0.2 4.1.0 2.1.7 || status=$?
if [ "$status" = 75 ]; then
	echo "oracle: skipped: the official releases can't be installed here; nothing was compared" >&2
	rmdir "$HARNESS_ORACLE_KEEP" 2>/dev/null || true
	exit 0
elif [ "$status" != 0 ]; then
	exit "$status"
fi
go test -tags oracle -count=1 -timeout 30m -v -run '^Test(Oracle|WorkedVerdicts)$' . || status=$?
rmdir "$HARNESS_ORACLE_KEEP" 2>/dev/null || true
exit "$status"
