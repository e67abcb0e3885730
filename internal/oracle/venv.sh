#!/usr/bin/env bash
# Puts releases of the official harness into a throw-away virtual environment, to
# be compared with and never imported by the product:
#
#   venv.sh DIR RELEASE...
#
# DIR then holds bin/python and, per release, a folder RELEASE with its modules.
# Nothing but hash-pinned archives is installed, without their dependencies: the
# parts that grade logs need the standard library and unidiff only. Exit status 75
# means that this machine can't have them: no Python 3.10, or no package index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
dir=$1
shift
python=${PYTHON:-python3}

if [ ! -x "$dir/bin/python" ]; then
	if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
		echo "oracle: needs Python 3.10 or newer with its venv module, as $python" >&2
		exit 75
	fi
	"$python" -m venv "$dir"
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for release in "$@"; do
	want=$(sha256sum "requirements-$release.txt")
	if [ "$(cat "$dir/$release/.installed" 2>/dev/null)" = "$want" ]; then
		continue
	fi
	rm -rf "${dir:?}/$release"
	if ! "$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		--only-binary :all: --target "$dir/$release" --requirement "requirements-$release.txt" >"$said" 2>&1; then
		cat "$said" >&2
		if grep -q 'DO NOT MATCH THE HASHES' "$said"; then
			echo "oracle: swebench $release is not the archive that it was when its hash was written down" >&2
			exit 1
		fi
		echo "oracle: swebench $release can't be installed from the package index" >&2
		exit 75
	fi
	printf '%s\n' "$want" >"$dir/$release/.installed"
done
