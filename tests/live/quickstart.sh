#!/bin/sh
# The commands of cprof-quickstart(7) and cprof-containers(7) work as they are.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gzip

# commands PAGE: the examples that begin with a prompt, without mdoc's escapes
commands() {
	sed -n 's/^\.Dl \([$#] .*\)$/\1/p' "$CPROF_SOURCE_ROOT/man/$1" | sed 's/\\&//g'
}

mkdir bin.keep
ln -s "$CPROF" bin.keep/cprof
PATH=$T/bin.keep:$PATH
cprof record -q -e cpu-clock -o before.pb.gz -- "$PROG/spin" 2 200 >/dev/null
cp before.pb.gz after.pb.gz
background "$PROG/spin" 2 1000000 >/dev/null
commands cprof-quickstart.7 >list.keep
check 'there are commands to try' test "$(wc -l <list.keep)" -ge 9
while read -r prompt command; do
	case $command in
	'cprof doctor')
		run sh -c "$command"
		check "$command" test "$status" -le 2
		continue
		;;
	*--against*) command=$(echo "$command" | sed 's/repeat 20/repeat 4/') ;;
	'cprof report --http') command='timeout 2 cprof report --http --no-browser' ;;
	*'-p NAME'*) command=$(echo "$command" | sed 's/NAME/spin/; s/duration 5/duration 0.3/') ;;
	*) command=$(echo "$command" | sed 's/duration 5/duration 0.3/') ;;
	esac
	[ "$prompt" = '$' ] || is_root || continue
	run sh -c "$command" </dev/null
	case $command in
	timeout*) is "$status" 124 "$prompt $command" ;;
	# so few runs may differ
	*--fail-if*) check "$prompt $command" test "$status" -eq 0 -o "$status" -eq 3 ;;
	*) is "$status" 0 "$prompt $command" ;;
	esac
done <list.keep
check 'the picture is for sending' sh -c 'cprof report --html profile.html before.pb.gz && test -s profile.html'

commands cprof-containers.7 >list.keep
check 'containers have commands, too' grep -q 'cprof record -a --labels' list.keep
if is_root; then
	run sh -c 'cprof record -a --labels process_name,pid,cgroup --duration 0.3 -o all.pb.gz'
	is "$status" 0 'all containers, by cgroup'
	run sh -c 'cprof report --by cgroup all.pb.gz'
	is "$status" 0 'and their report'
fi
rm -f ./*.pb.gz profile.html
finish
