#!/bin/sh
# rotate.sh [-n KEEP] [-s BYTES] FILE...
#
# Renames FILE to FILE.1, FILE.1 to FILE.2 and so on, keeps at most KEEP of
# them (5 by default), and leaves an empty FILE. With -s only files of at least
# BYTES are rotated. A FILE that does not exist is an error, but the others are
# rotated all the same.

usage() {
	echo "usage: rotate.sh [-n KEEP] [-s BYTES] FILE..." >&2
	exit 2
}

keep=5
size=0
while getopts n:s: opt; do
	case $opt in
	n) keep=$OPTARG ;;
	s) size=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage

rotate() {
	i=1
	while [ $i -lt $keep ]; do
		[ -e $1.$i ] && mv $1.$i $1.$((i + 1))
		i=$((i + 1))
	done
	mv $1 $1.1
	: >$1
}

for file in $*; do
	if [ ! -e $file ]; then
		echo "rotate.sh: $file does not exist" >&2
		exit 1
	fi
	[ $(wc -c <$file) -ge $size ] && rotate $file
done
exit 0
