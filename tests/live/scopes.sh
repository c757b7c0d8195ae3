#!/bin/sh
# The scope that cprof chooses by itself: a command gets a cgroup of its own.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root

group=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
folder=$mount$group
leave_folder() {
	while read -r process; do
		echo "$process" >"$folder/../cgroup.procs"
	done <"$folder/cgroup.procs"
	rmdir "$folder"
}
# A cgroup for this script, so that it does not see those of other recordings.
if mkdir "$folder/scopes-$$" 2>/dev/null; then
	at_end leave_folder
	folder=$folder/scopes-$$
	group=${group%/}/scopes-$$
	echo 0 >"$folder/cgroup.procs" || folder=$mount$group
fi

run "$CPROF" record --json -q -o c.pb.gz -- "$PROG/spin" 3 100
is "$status" 0 'a command is recorded'
scope=$(json 's["scope"]')
if [ "$scope" != cgroup ]; then
	check 'no cgroup: the reason is reported' test -n "$(json 's["scope_reason"]')"
	skip 'a cgroup for a command' "$(json 's["scope_reason"]')"
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
covers() {
	run "$CPROF" record --json -q -e cpu-clock -F 4999 -o n.pb.gz -- "$@"
	covers_name=$(basename "$1")
	is "$status" 0 "$covers_name: recorded beside a busy neighbour"
	# The child that will be the command has a few samples before its exec.
	check "$covers_name: no sample of the neighbours is read, and none is lost" json_is \
		's["scope"] == "cgroup" and s["other_tasks_samples"] < 6 and e["lost"] == 0'
	check "$covers_name: the CPU time is covered" json_is "$least < e['coverage_percent'] < 106"
}
# Each change of its period costs a clock half a period: 3 % if it ran for a few periods only.
least=98.4
attempts 3 covers "$PROG/spin" 5 600
least=90
attempts 3 covers "$PROG/forks" 100
attempts 3 covers "$PROG/execer" "$PROG/spin" 5 100
least=70		# see coverage.sh
attempts 3 covers "$PROG/shortthreads" 10000 10

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
is "$(json 's["scope"]')" cgroup 'the next run has a cgroup of its own'
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

# ---- running processes: the kernel drops samples of other tasks ------------------------------

# attached ARG... -- PROGRAM...: records it with -p, from its first instruction to its end
attached() {
	attached_options=
	while [ "$1" != -- ]; do
		attached_options="$attached_options $1"
		shift
	done
	shift
	# shellcheck disable=SC2016
	sh -c 'kill -STOP $$; exec "$@" >program.keep' sh "$@" &
	target=$!
	tap_pids="$tap_pids $target"
	wait_for 60 grep -q 'State:.T' /proc/$target/status
	# shellcheck disable=SC2086
	start_cprof record --json -q -e cpu-clock -F 4999 $attached_options -o p.pb.gz -p $target
	wait_for 60 watches
	kill -CONT $target
	end_cprof
	wait $target 2>/dev/null
	used=$(truth program.keep)
}
# Is the side band of all CPUs open, and the target watched?
watches() {
	ls -l /proc/"$cprof_pid"/fd | grep -q pidfd
}

storm() {
	storm_name=$1
	least=$2
	shift 2
	attached -- "$@"
	is "$status" 0 "-p, $storm_name: recorded beside a busy neighbour"
	check "-p, $storm_name: no sample of another task is read, and none is lost" json_is \
		's["other_tasks_samples"] == 0 and e["lost"] == 0 and s["kernel_filter"]'
	profile "-p, $storm_name: the CPU time is covered" p.pb.gz \
		"$least * $used <= total <= 1.05 * $used + 30e6"
}

attached -- "$PROG/spin" 5 100
is "$(json 's["scope"]')" cpu '-p: whole CPUs'
if [ "$(json 's["kernel_filter"]')" = True ]; then
	profile '-p: the profile says that the kernel filters' p.pb.gz \
		"'the kernel drops samples of other tasks' in comments"
	attempts 3 storm 'one thread' 0.97 "$PROG/spin" 5 200
	attempts 3 storm 'forks' 0.9 "$PROG/forks" 150
	profile '-p, forks: children and parent have samples' p.pb.gz \
		"cum('child_work') > 0.5" "cum('parent_work') > 0.05" "len(labels('pid')) > 75"
	attempts 3 storm 'short threads' 0.7 "$PROG/shortthreads" 10000 10
	attempts 3 storm 'children that execute programs' 0.93 sh -c \
		'"$0" "$1" 5 100; for i in 1 2 3 4 5 6 7 8; do "$1" 5 20; done >&2; times >&2;
		printf "cpu_ns %s\n" "$(awk "{ sub(/.*\\) /, \"\"); print (\$14 + \$15) * 10000000 }" /proc/$$/stat)"' \
		"$PROG/execer" "$PROG/spin"
	# A child with ids of another pid namespace is followed, too.
	attempts 3 storm 'a child in a pid namespace' 0.93 unshare -pf "$PROG/spin" 5 100
	attempts 3 storm 'a main thread that exits first' 0.93 "$PROG/mainexits" 100
	# One thread of several.
	attached --no-inherit -- "$PROG/spin" 5 100
	check '-p --no-inherit: other tasks are filtered, too' json_is \
		's["other_tasks_samples"] < 4 and s["kernel_filter"]'
	attached --no-bpf --scope cpu -- "$PROG/spin" 5 200
	check '--no-bpf --scope cpu: cprof drops the samples of other tasks' json_is \
		's["other_tasks_samples"] > 50 and not s["kernel_filter"] and "--no-bpf" in s["scope_reason"]'
	# Counters of whole CPUs include the neighbours' events between two samples of the target.
	weighed() {
		background "$PROG/pagefaulter" 100000000 4
		faults=$pid
		run "$CPROF" record --json -q --scope cpu -e page-faults -F 4000 --call-graph none \
			-o w.pb.gz -- "$PROG/pagefaulter" 20000 4
		kill -KILL $faults
		profile 'page faults at a rate, beside another program: their number is right' w.pb.gz \
			"0.6 * 80000 < cum('touch_pages') * total < 1.4 * 80000"
		check '  filtered in the kernel' json_is 's["kernel_filter"]'
	}
	attempts 3 weighed
	run "$CPROF" record --json -q --scope cpu -e sched:sched_switch,cpu-clock -o t.pb.gz -- \
		"$PROG/spin" 5 50
	check 'tracepoints are not filtered in the kernel: others read them, too' json_is \
		'"of 1 of 2 events" in s["scope_reason"]'
	# Without CAP_BPF.
	run setpriv --bounding-set -sys_admin,-bpf --inh-caps -sys_admin,-bpf "$CPROF" record --json -q \
		-e cpu-clock -o b.pb.gz --scope cpu -- "$PROG/spin" 5 100
	is "$status" 0 'without CAP_BPF: recorded'
	check '  without a filter, and the reason is reported' json_is \
		'not s["kernel_filter"] and "CAP_BPF" in s["scope_reason"]'
	# In another pid namespace: the ids differ from those of the kernel.
	run unshare -pf --mount-proc sh -c '"$PROG/spin" 5 100000 & spin=$!
		"$CPROF" record --json -q -e cpu-clock -F 999 --duration 0.5 -o ns.pb.gz -p $spin
		kill -KILL $spin'
	is "$(json 's["other_tasks_samples"], s["kernel_filter"]')" '(0, True)' \
		'in a pid namespace: filtered in the kernel'
	profile '  the target has its samples' ns.pb.gz "cum('spin_leaf') > 0.9"
else
	skip '-p: a filter in the kernel' "$(json 's["scope_reason"]')"
fi

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
is "$(json 's["scope"] != "cgroup" and "may not create" in s["scope_reason"]')" True \
	'  in another scope, with the reason'
chown -R 65534 "$mine"
rm -f u.pb.gz
run sh user.keep "$mine"
is "$status" 0 'in a cgroup of its own: recorded'
is "$(json 's["scope"], s["other_tasks_samples"] < 6')" "('cgroup', True)" '  in a cgroup'
is "$(find "$mine" -mindepth 1 -type d | wc -l)" 0 '  which is removed'
finish
