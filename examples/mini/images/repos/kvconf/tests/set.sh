. ./kvconf.sh
. tests/lib.sh

conf=$(mktemp)
trap 'rm -f "$conf" "$conf.tmp"' EXIT
echo 'host=a' >"$conf"

change() { kv_set "$conf" host b && is b kv_get "$conf" host; }
add() { kv_set "$conf" port 80 && is 80 kv_get "$conf" port; }

check "set changes" change
check "set adds" add
exit $failed
