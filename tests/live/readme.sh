#!/bin/sh
# The commands of README.md work as they are, pasted one after the other, as root and as an ordinary
# user.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gzip sqlite3

mkdir bin.keep
ln -s "$CPROF" bin.keep/cprof
PATH=$T/bin.keep:$PATH
sed -n 's/^\([$#] cprof .*\)$/\1/p' "$CPROF_SOURCE_ROOT/README.md" >list.keep
check 'README.md has commands to try' test "$(wc -l <list.keep)" -ge 15

# paste HOW [WRAPPER...]: in a folder of its own
paste_all() {
	how=$1
	shift
	while read -r prompt command; do
		case $prompt$command in
		'$cprof report --http') command='timeout 2 cprof report --http --no-browser' ;;
		'#'*) is_root && [ $# -eq 0 ] || continue ;;
		esac
		run "$@" sh -c "$command" </dev/null
		case $command in
		timeout*) is "$status" 124 "$how: $command" ;;
		*--fail-if*)
			# On a busy machine two recordings may well differ.
			check "$how: $command" test "$status" -eq 0 -o "$status" -eq 3
			;;
		*) is "$status" 0 "$how: $command" ;;
		esac
	done <"$T/list.keep"
}

mkdir own.keep other.keep
cd own.keep || exit 99
paste_all 'this user'
if is_root; then
	chown 65534:65534 "$T/other.keep"
	cd "$T/other.keep" || exit 99
	HOME=$T/other.keep
	export HOME
	paste_all 'an ordinary user' as_nobody
fi
cd "$T" || exit 99
picture=$(sed -n 's/^!\[.*\](\(.*\))$/\1/p' "$CPROF_SOURCE_ROOT/README.md")
like "$CPROF_SOURCE_ROOT/$picture" '<svg' 'the picture is there'
finish
