# Runs all tests, each in a folder of its own: prints PASS: NAME or FAIL: NAME.
rotate=$PWD/rotate.sh
failed=0

t() {
	dir=$(mktemp -d)
	if (cd "$dir" && "$2"); then
		echo "PASS: $1"
	else
		echo "FAIL: $1"
		failed=1
	fi
	rm -rf "$dir"
}

has() { [ "$(cat "$1")" = "$2" ]; }

first() { echo a >log && sh "$rotate" log && has log.1 a && has log ''; }
size_small() { echo a >log && sh "$rotate" -s 100 log && has log a && [ ! -e log.1 ]; }
size_large() { echo abc >log && sh "$rotate" -s 2 log && has log.1 abc; }
usage() { sh "$rotate" 2>/dev/null; [ $? -eq 2 ]; }
missing() { ! sh "$rotate" nothing 2>/dev/null; }

t "first rotation" first
t "too small" size_small
t "large enough" size_large
t "usage" usage
t "missing file" missing
for more in tests/*.test; do
	[ -e "$more" ] && . "./$more"
done
exit $failed
