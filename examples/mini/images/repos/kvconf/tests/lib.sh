# check NAME COMMAND...: runs the command and prints PASS: NAME or FAIL: NAME.
failed=0
check() {
	_name=$1
	shift
	if "$@"; then
		echo "PASS: $_name"
	else
		echo "FAIL: $_name"
		failed=1
	fi
}

# is WANT COMMAND...: the command prints WANT.
is() {
	_want=$1
	shift
	_got=$("$@")
	[ "$_got" = "$_want" ] || {
		echo "want: $_want; got: $_got" >&2
		return 1
	}
}
