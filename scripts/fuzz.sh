#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while, one after the other:
#
#   scripts/fuzz.sh 60s [REGEXP]     the targets whose package or name matches
#
# Inputs that only show new paths are hardly minimised, since targets on large
# files would spend all of their time with it. An input that breaks a target is
# written to its package's testdata/fuzz, where plain `go test` runs it from then
# on: mend the code and commit both.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:?give a time for each target, such as 60s}
only=${2:-.}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

passed=0 failed=0
while IFS=: read -r file name; do
	[[ "$file $name" =~ $only ]] || continue
	for try in 1 2 3; do
		if go test -run '^$' -fuzz "^$name\$" -fuzztime "$each" -fuzzminimizetime 5x -timeout 30m "./$(dirname "$file")" >"$out" 2>&1; then
			execs=$(grep -o 'execs: [0-9]*' "$out" | tail -1) || execs='inputs kept from before only'
			printf 'fuzz: %s %s: %s\n' "$(dirname "$file")" "$name" "$execs"
			passed=$((passed + 1))
			break
		fi
		# The end of the time can reach a worker as an error of its own, without an
		# input that caused it (go.dev/issue/75804, mended in Go 1.27); that is not a finding.
		if [ "$try" -lt 3 ] && grep -q 'context deadline exceeded' "$out" && ! grep -q 'Failing input written' "$out"; then
			continue
		fi
		printf 'fuzz: %s %s FAILED\n' "$(dirname "$file")" "$name"
		cat "$out"
		failed=$((failed + 1))
		break
	done
done < <(grep -rnoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | sed -E 's|^\./||; s|:[0-9]+:func |:|' | sort)

printf 'fuzz: %d targets passed, %d failed\n' "$passed" "$failed"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ]
