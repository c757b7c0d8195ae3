#!/bin/sh
# The scope that cprof chooses by itself: a command gets a cgroup of its own.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root

# json EXPRESSION: j is the summary, e its first event
json() {
	"$PYTHON" -c 'import json, sys
j = [json.loads(line) for line in open("out") if line.startswith("{")][-1]; e = j["events"][0]
print(eval(sys.argv[1]))' "$1"
}

group=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
folder=$mount$group

run "$CPROF" record --json -q -o c.pb.gz -- "$PROG/spin" 3 100
is "$status" 0 'a command is recorded'
scope=$(json 'j["scope"]')
if [ "$scope" != cgroup ]; then
	check 'no cgroup: the reason is reported' test -n "$(json 'j["scope_reason"]')"
	skip 'a cgroup for a command' "$(json 'j["scope_reason"]')"
	finish
fi
profile 'the profile names the scope and the reason' c.pb.gz \
	"'scope: cgroup' in comments" "'scope chosen: created for the command' in comments"
run "$CPROF" record -v -o c.pb.gz -- "$PROG/spin" 3 50
like err 'scope cgroup \(created for the command\)' '-v shows both'

groups() {
	find "$folder" -maxdepth 1 -name 'cprof-*' | wc -l
}
is "$(groups)" 0 'the cgroup is removed'

# Neighbours: their samples never reach the reader, and the kernel's account is the measure.
background "$PROG/spin" 7 100000
background "$PROG/spin" 7 100000
covers() {
	run "$CPROF" record --json -q -e cpu-clock -F 4999 -o n.pb.gz -- "$@"
	covers_name=$(basename "$1")
	is "$status" 0 "$covers_name: recorded beside two busy neighbours"
	# The child that will be the command has a few samples before its exec.
	check "$covers_name: no sample of the neighbours is read, and none is lost" json_is \
		'j["scope"] == "cgroup" and j["other_tasks_samples"] < 6 and e["lost"] == 0'
	check "$covers_name: the CPU time is covered" json_is "$least < e['coverage_percent'] < 106"
}
json_is() {
	test "$(json "$1")" = True
}
least=94
attempts 3 covers "$PROG/spin" 5 400
least=90
attempts 3 covers "$PROG/forks" 200
attempts 3 covers "$PROG/execer" "$PROG/spin" 5 300
least=70		# see coverage.sh
attempts 3 covers "$PROG/shortthreads" 20000 10

# A child that outlives the command moves back, and continues.
run "$CPROF" record -q -o left.pb.gz -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $! >left.keep; exec "$0" 3 50' \
	"$PROG/spin"
is "$status" 0 'a command whose child outlives it: recorded'
left=$(cat left.keep)
tap_pids="$tap_pids $left"
is "$(groups)" 0 '  the cgroup is removed'
check '  the child continues' kill -0 "$left"
is "$(sed -n 's/^0:://p' /proc/"$left"/cgroup)" "$group" '  where cprof was started'
kill "$left"

# A killed cprof leaves its cgroup; the next run removes it and moves the processes back.
"$CPROF" record -q -o killed.pb.gz -- sleep 60 &
cprof=$!
tap_pids="$tap_pids $cprof"
started() {
	sleeper=$(cat "$folder"/cprof-"$cprof"-*/cgroup.procs 2>/dev/null) && test -n "$sleeper" &&
		grep -q sleep "/proc/$sleeper/comm"
}
wait_for 60 started
tap_pids="$tap_pids $sleeper"
kill -KILL $cprof
wait $cprof 2>/dev/null
is "$(groups)" 1 'a killed cprof leaves its cgroup'
check '  and its command continues' kill -0 "$sleeper"
# Others are not touched: a name of another form, and a creator that lives.
other=$folder/cprof-other
alive=$folder/cprof-$$-$(awk '{ print $22 }' /proc/$$/stat)-1
at_end 'rmdir "$other" "$alive" 2>/dev/null'
mkdir "$other" "$alive"
run "$CPROF" record --json -q -o next.pb.gz -- "$PROG/spin" 3 50
is "$(json 'j["scope"]')" cgroup 'the next run has a cgroup of its own'
is "$(groups)" 2 '  and removes the one that was left'
check '  but no others' test -d "$other" -a -d "$alive"
is "$(sed -n 's/^0:://p' /proc/"$sleeper"/cgroup)" "$group" '  its process moves back'
check '  and continues' kill -0 "$sleeper"
kill "$sleeper"
rmdir "$other" "$alive"

# Two at the same time, and one within another.
"$CPROF" record -q -o two.pb.gz -- "$PROG/spin" 3 400 &
two=$!
run "$CPROF" record -q --labels cgroup -o one.pb.gz -- "$CPROF" record -q -o inner.pb.gz -- "$PROG/spin" 3 200
is "$status" 0 'cprof within cprof, beside another: recorded'
wait $two
is $? 0 '  and so is the other one'
profile '  the inner one has all samples' inner.pb.gz "cum('spin_leaf') > 0.9"
profile '  the label shows the cgroup without those of cprof' one.pb.gz \
	"labels('cgroup') == {'$group'}"
is "$(groups)" 0 '  all cgroups are removed'

# A descendant that moves to another cgroup is missing, and the account shows it.
elsewhere=$folder/elsewhere
at_end 'rmdir "$elsewhere" 2>/dev/null'
mkdir "$elsewhere"
run "$CPROF" record --json -q -e cpu-clock -o moved.pb.gz -- sh -c \
	"\"\$0\" 3 150; echo \$\$ >$elsewhere/cgroup.procs; \"\$0\" 3 300" "$PROG/spin"
check 'a command that moves to another cgroup: the gap is reported' json_is \
	"e['coverage_percent'] < 75"
rmdir "$elsewhere"

# An ordinary user may record whole CPUs in a cgroup of this user, and nowhere else.
mine=$folder/mine
at_end 'rmdir "$mine" 2>/dev/null'
paranoid -1
mkdir "$mine"
chmod 777 .
cat >user.keep <<'END'
echo 0 2>/dev/null >"$1/cgroup.procs" || exit 9
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$CPROF" record --json -q -e cpu-clock -o u.pb.gz \
	-- "$PROG/spin" 3 150
END
run sh user.keep "$mine"
is "$status" 0 "an ordinary user in a cgroup of root: recorded"
is "$(json 'j["scope"] != "cgroup" and "may not create" in j["scope_reason"]')" True \
	'  in another scope, with the reason'
chown -R 65534 "$mine"
rm -f u.pb.gz
run sh user.keep "$mine"
is "$status" 0 'in a cgroup of its own: recorded'
is "$(json 'j["scope"], j["other_tasks_samples"] < 6')" "('cgroup', True)" '  in a cgroup'
is "$(find "$mine" -mindepth 1 -type d | wc -l)" 0 '  which is removed'
finish
