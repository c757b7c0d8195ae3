#!/bin/sh
# Recordings of perf say how long threads waited: as long as the program measured itself.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need perf
perf record -q -o probe.data -e context-switches -c 1 --switch-events -- true >/dev/null 2>&1 ||
	skip_all 'perf record does not work here'
perf evlist -i probe.data | grep -q ':u$' && skip_all 'perf may record user code only'
HOME=$T
export HOME

# recorded NAME OPTION...: NAME.data of the program, and its own figures in NAME.truth
recorded() {
	recorded_name=$1
	shift
	perf record -q -N --no-bpf-event -m 2M -o "$recorded_name.data" "$@" -- "$PROG/waits" 1 \
		>"$recorded_name.truth" 2>perf.log || {
		sed 's/^/# perf: /' perf.log
		return 1
	}
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/perfwaits.py" "$recorded_name.data" waits >"$recorded_name.threads"
}

# near NAME SITE PERCENT ...: a term for each, from the program's own figures.  Waits whose end is missing
# in the file may be missing
near() {
	near_name=$1
	shift
	while [ $# -gt 0 ]; do
		awk -v name="$1" -v percent="$2" -v threads="$near_name.threads" '$1 == name {
			printf "abs(cum(\"%s\") * total / 1e9 - %s) < %s * %f + torn(\"%s\") / 1e9 and ",
				name, $2, $2, percent / 100, threads
		}' "$near_name.truth"
		shift 2
	done
	echo True
}

sites='nap100ms 0.5 nap10ms 0.5 poll5ms 0.5 nap1ms 2 locked 1'

# The part of the thread in forever() that blocks.
blocked="part(lambda r: r[2]['state'] == 'blocked' and
	r[2]['tid'] in {q[2]['tid'] for q in rows if 'forever' in q[0]})"

by_switches() {
	recorded switches -e context-switches -c 1 --switch-events --call-graph dwarf,8192
	run "$CPROF" import --labels tid -o switches.pb.gz switches.data
	is "$status" 0 'samples of switches and records of switches'
	profile 'each thread has what perf has recorded' switches.pb.gz 'differ("switches.threads", 2) == []'
	# shellcheck disable=SC2086
	profile 'each site has its time' switches.pb.gz "$(near switches $sites)"
	profile 'whole stacks, of a thread that never runs again, too' switches.pb.gz \
		"roots('^(_start|start_thread|.*clone.*|main)$') > 0.98" \
		"cum('forever') > 0.999 * $blocked > 0" \
		"p.sample_types == [('switches', 'count'), ('off_cpu', 'nanoseconds')]"
}

# wall: each thread's sum is its life
by_wall() {
	recorded wall -e context-switches/period=1/ -e cpu-clock/period=1000000/ \
		--switch-events --call-graph dwarf,2048
	run "$CPROF" import --waits wall,off-cpu --labels tid -o wall.pb.gz wall.data
	is "$status" 0 'with a clock'
	profile 'running and waiting' wall.wall.pb.gz \
		"p.sample_types == [('samples', 'count'), ('wall', 'nanoseconds')]" \
		"'running' in labels('state')" "len(labels('tid')) == 9"
	profile "each thread's sum is its life" wall.wall.pb.gz 'differ("wall.threads", 4) == []'
	profile 'and its waits are those that perf has recorded' wall.off-cpu.pb.gz \
		'differ("wall.threads", 2) == []'
	profile 'short sleeps are whole in it' wall.wall.pb.gz "$(near wall nap50us 1 nap1ms 1)"
	check 'the clock keeps its own profile' test -s wall.cpu-clock-period-1000000.pb.gz
	check 'the switches do not' test ! -e wall.context-switches-period-1.pb.gz
	rm -f wall.*.pb.gz
}

# All CPUs: swapper and the rest of the machine are in it, too.  A kernel may hide the switches of some
# tasks, so that an arrival after one of them is missing.
by_points() {
	recorded points -m 16M -a -e sched:sched_switch -e sched:sched_waking --call-graph dwarf,1024
	run "$CPROF" import --waits off-cpu,block,mutex --labels tid,process_name \
		-o points.pb.gz points.data
	is "$status" 0 'samples of the tracepoint sched_switch'
	profile 'each thread has what perf has recorded' points.off-cpu.pb.gz \
		'differ("points.threads", 2, ["thread"]) == []' "'scope: ' not in comments"
	profile 'each site has its time' points.off-cpu.pb.gz \
		"$(near points nap100ms 0.5 nap10ms 2 poll5ms 2 nap1ms 4 locked 2)" "'swapper' not in labels('process_name')" \
		"{'blocked', 'sleeping'} <= labels('state') <= {'blocked', 'sleeping', 'preempted', 'runnable', 'disk'}"
	profile 'waits for a lock' points.block.pb.gz "$(near points locked 2)" "cum('nap10ms') == 0"
	profile 'and who made others wait' points.mutex.pb.gz \
		"$(near points locked 2 | sed 's/cum("locked")/cum("hold")/')" "cum('nap10ms') == 0"
	check 'no profile of wake-ups' test ! -e points.sched-sched_waking.pb.gz
	rm -f points.*
}

# Which lock it was is in the registers.
by_locks() {
	recorded locks -e context-switches -c 1 --switch-events --call-graph dwarf,4096
	run "$CPROF" import --waits block --locks -o locks.pb.gz locks.data
	if grep -q 'cannot recognize waits for locks' err; then
		skip 'locks' "$(head -n 1 err)"
		return 0
	fi
	is "$status" 0 'labels of locks'
	profile 'the variable that contains the lock' locks.pb.gz \
		"{r[2]['lock'] for r in rows if 'locked' in r[0]} == {'lock'}" "cum('locked') > 0"
	rm -f locks.pb.gz
	recorded plain -e context-switches -c 1 --switch-events -g
	refused 1 'has no registers' 'without registers' \
		import --waits block --locks -o locks.pb.gz plain.data
}

single_task() {
	recorded task -e sched:sched_switch -g
	run "$CPROF" import -o task.pb.gz task.data
	is "$status" 0 'switches of one task, without records'
	like err 'no profile of waits: .*not when they got one again' 'the reason is reported'
	profile 'they are counted' task.pb.gz "p.sample_types[0] == ('samples', 'count')" \
		"p.sample_types[1][0] == 'sched_sched_switch'"
	refused 1 'does not say how long threads waited' 'and cannot be asked for' \
		import --waits off-cpu task.data
	refused 1 'has no samples of running threads' 'nor without a clock' \
		import --waits wall task.data
	rm -f task.*
}

attempts 3 by_switches
attempts 3 by_wall
attempts 3 by_locks
run "$CPROF" import --waits none -o none.pb.gz switches.data
profile '--waits none counts switches' none.pb.gz "p.sample_types[1] == ('context_switches', 'count')"
mv switches.data kept.keep
if is_root && perf record -q -o probe.data -e sched:sched_switch -- true >/dev/null 2>&1; then
	attempts 3 by_points
	single_task
else
	skip 'tracepoints' 'perf cannot record sched:sched_switch'
fi
rm -f ./*.data ./*.truth ./*.threads ./*.pb.gz perf.log
refused 1 'no profile of waits for locks' 'locks of no waits' import --locks kept.keep
refused 64 'off-cpu' 'an unknown profile' import --waits nosuch kept.keep
refused 1 'has no samples of wake-ups' 'who made others wait is not in each file' \
	import --waits mutex kept.keep
finish
