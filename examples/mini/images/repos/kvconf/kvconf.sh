# kvconf: reads key=value files in POSIX sh. Source it, then:
#
#   kv_get FILE KEY [DEFAULT]   print the value of KEY; 1 if there is none
#   kv_keys FILE                print the keys, one a line
#   kv_set FILE KEY VALUE       change or add a key
#
# Lines that are empty or start with # are skipped.

kv_get() {
	_kv_line=$(grep "^$2=" "$1" | tail -n 1)
	if [ -z "$_kv_line" ]; then
		[ $# -ge 3 ] || return 1
		printf '%s\n' "$3"
		return 0
	fi
	printf '%s\n' "$_kv_line" | cut -d= -f2
}

kv_keys() {
	sed -n 's/^\([^#=][^=]*\)=.*/\1/p' "$1"
}

kv_set() {
	if kv_get "$1" "$2" >/dev/null; then
		sed "s/^$2=.*/$2=$3/" "$1" >"$1.tmp" && mv "$1.tmp" "$1"
	else
		printf '%s=%s\n' "$2" "$3" >>"$1"
	fi
}
