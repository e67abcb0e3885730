. ./kvconf.sh
. tests/lib.sh

conf=$(mktemp)
trap 'rm -f "$conf"' EXIT
printf '%s\n' '# a comment' 'host=example.org' 'port=80' 'port=8080' '' 'empty=' >"$conf"

missing() { ! kv_get "$conf" nothing; }

check "get value" is example.org kv_get "$conf" host
check "get last one wins" is 8080 kv_get "$conf" port
check "get default" is none kv_get "$conf" nothing none
check "get missing fails" missing
check "keys" is "host
port
port
empty" kv_keys "$conf"
exit $failed
