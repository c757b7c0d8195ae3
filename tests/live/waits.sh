#!/bin/sh
# Where threads wait, and for how long: compared with what the program measured itself.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# The time that the host gave to others, in seconds, on all CPUs.
stolen() {
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.2f", $9 / hz }' /proc/stat
}

# near SITE PERCENT ...: a term for each, from the program's own figures in the file out: its time
# without that on a CPU; what the host took since $stolen_before may be counted as either.
near() {
	while [ $# -gt 0 ]; do
		awk -v name="$1" -v percent="$2" -v before="$stolen_before" -v now="$(stolen)" '$1 == name {
			printf "abs(cum(\"%s\") * total / 1e9 - %s + %s) < %s * %f + %.2f and ",
				name, $2, $4, $2, percent / 100, now - before
		}' out
		shift 2
	done
	echo True
}

launched() {
	stolen_before=$(stolen)
	run "$CPROF" record -e off-cpu -o w.pb.gz -- "$PROG/waits" 2
	is "$status" 0 "recorded"
	profile "each site has its time" w.pb.gz \
		"$(near nap100ms 0.5 nap10ms 0.5 poll5ms 0.5 nap1ms 2 locked 1)"
	profile "whole stacks, of a thread that never runs again, too" w.pb.gz \
		"roots('^(_start|__libc_start.*|start_thread|.*clone.*|main)$') > 0.99" \
		"abs(cum('forever') * total - p.duration_nanos) < 0.01 * p.duration_nanos" \
		"cum('[no stack]') < 0.01"
	profile "the types are those of switches and of time" w.pb.gz \
		"p.sample_types == [('switches', 'count'), ('off_cpu', 'nanoseconds')]" \
		"{'blocked', 'sleeping'} <= labels('state') <= {'blocked', 'sleeping', 'preempted', 'runnable', 'disk'}" \
		"'thread time: ' in comments and 'rate:' not in comments" \
		"'copies of 6144 bytes' in comments"
	like err 'of off-cpu, [0-9.]+ s of thread time' 'the summary says what the unit is'
	unlike err '% of its time' 'and no share of CPU time'
}

attached() {
	background "$PROG/waits" 60
	sleep 0.3
	run "$CPROF" record -e off-cpu --duration 1 -o a.pb.gz -p "$pid"
	kill "$pid"
	is "$status" 0 "attached"
	profile "threads that wait all the time count for exactly that time" a.pb.gz \
		"abs(cum('forever') * total - p.duration_nanos) < 0.001 * p.duration_nanos" \
		"abs(cum('main') * total - p.duration_nanos) < 0.001 * p.duration_nanos"
	profile "waits that are cut by the start or the end count for their part" a.pb.gz \
		"0.98 * p.duration_nanos < cum('nap100ms') * total <= p.duration_nanos" \
		"roots('^(_start|__libc_start.*|start_thread|.*clone.*|main)$') > 0.99"
}

# All of the time of each thread, in one profile.
all_time() {
	background "$PROG/waits" 60
	sleep 0.3
	run "$CPROF" record -e wall,off-cpu --labels tid --duration 1 -o l.pb.gz -p "$pid"
	kill "$pid"
	is "$status" 0 "all time"
	profile "the sum of each thread is the duration" l.wall.pb.gz \
		"p.sample_types == [('samples', 'count'), ('wall', 'nanoseconds')]" \
		"len(labels('tid')) == 9 and 'running' in labels('state')" \
		"all(abs(label_share('tid', t) * total - p.duration_nanos) < 0.001 * p.duration_nanos for t in labels('tid'))"
	profile "its waits are those of off-cpu" l.off-cpu.pb.gz \
		"abs(total - $("$PYTHON" - <<END
import sys
sys.path.insert(0, "$CPROF_SOURCE_ROOT/tests")
import pprof
p = pprof.Profile("l.wall.pb.gz")
print(sum(v[-1] for _, v, labels in p.samples if labels["state"] != "running"))
END
)) < 1000"
	rm -f l.*.pb.gz
}

locks() {
	stolen_before=$(stolen)
	run "$CPROF" record -e block,mutex -o l.pb.gz -- "$PROG/waits" 2
	is "$status" 0 "locks"
	if grep -q "tracefs" err; then
		skip "who made others wait" "$(head -n 1 err)"
		run "$CPROF" record -e block -o l.block.pb.gz -- "$PROG/waits" 2
	else
		profile "who made others wait, and whom" l.mutex.pb.gz \
			"p.sample_types == [('contentions', 'count'), ('delay', 'nanoseconds')]" \
			"$(near locked 2 | sed 's/cum("locked")/cum("hold")/')" \
			"cum('hold') > 0.99 and labels('waiter') == {'waits'}"
	fi
	profile "waits for a lock have their time, and waits for nobody are left out" l.block.pb.gz \
		"p.sample_types == [('contentions', 'count'), ('delay', 'nanoseconds')]" \
		"$(near locked 2)" "cum('nap10ms') == 0 == cum('poll5ms') == cum('forever')" \
		"labels('state') == {'blocked'}"
	rm -f l.*
}

# Parts of a long wait: each file has the time of its own window.
parts() {
	background "$PROG/waits" 60
	run "$CPROF" record -e off-cpu --duration 1 --switch-output=400ms -o s.pb.gz -p "$pid"
	kill "$pid"
	is "$status" 0 "several files"
	for file in s.*.pb.gz; do
		profile "the part of a wait in one file" "$file" \
			"abs(cum('forever') * total - p.duration_nanos) < 0.02 * p.duration_nanos"
	done
	rm -f s.*.pb.gz
}

by_nobody() {
	stolen_before=$(stolen)
	run as_nobody "$CPROF_HERE" record -e off-cpu -o user.keep/u.pb.gz -- ./waits.keep 2
	is "$status" 0 "without privileges"
	like err 'exact times by records of switches, stacks .* from /proc' 'a message explains how'
	profile "long waits have their stacks" user.keep/u.pb.gz \
		"$(near nap100ms 5 nap10ms 5 poll5ms 5)" "abs(cum('forever') * total - p.duration_nanos) < 0.05 * p.duration_nanos" \
		"roots('^(_start|__libc_start.*|start_thread|.*clone.*|main|.no stack.)$') > 0.99"
	profile "all times are exact" user.keep/u.pb.gz \
		"total > 8 * 0.9 * p.duration_nanos"
	profile "short ones have the places where their thread was read" user.keep/u.pb.gz \
		"$(near nap1ms 10)" "cum('nap50us') * total > 0.5e9" "cum('[no stack]') < 0.05" \
		"'among the places where their thread was read' in comments"
	like err 'have the stacks of others: they were too short' 'and the summary says how many'
}

attempts 3 launched
if is_root; then
	attempts 3 attached
	attempts 3 all_time
	attempts 3 locks
	attempts 3 parts
	paranoid 2
	mkdir -m 777 user.keep
	cp "$PROG/waits" waits.keep
	CPROF_HERE=$T/cprof.keep
	cp "$CPROF" "$CPROF_HERE"
	attempts 3 by_nobody
else
	skip 'attached, in parts and without privileges' 'needs root'
fi

run "$CPROF" record -e cpu-clock,off-cpu -F 10000 -o both.pb.gz -- "$PROG/waits" 0.3
is "$status" 0 'together with a clock'
check 'two files' test -s both.cpu-clock.pb.gz -a -s both.off-cpu.pb.gz
run "$CPROF" report both.off-cpu.pb.gz
like out 'Total: .*threads on average' 'report shows the mean number of waiting threads'
rm -f ./*.pb.gz

mkfifo ctl.keep
run "$CPROF" record -e block -o none.pb.gz -- sleep 0.1
like err "'block' never happened: no thread waited for a lock" 'no contention is no error'
is "$status" 0 'with a status of success'
refused 64 'cannot be in a group' 'so is a group' record -e '{off-cpu,cpu-clock}' -- true
refused 64 'happens inside the kernel' 'so is user code only' record -e off-cpu:u -- true
refused 64 'cannot be paused' 'so are pauses' record -e off-cpu --control fifo:ctl.keep -- true
run "$CPROF" record --user -e off-cpu -- true
like err 'happens inside the kernel' 'so is --user, which would never sample'
finish
