#!/bin/sh
# In every scope, and with 1, 2 and 4 readers, while threads and children are born, execute programs
# and end: counts and CPU time are the kernel's.  CPROF_TEST_SECONDS: how long each recording takes.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root

ms=$((${CPROF_TEST_SECONDS:-1} * 100))
phases="s$ms t$ms f$ms x$ms s$ms"

# It stops before its first instruction, so that it is recorded from there.
start_target() {
	# shellcheck disable=SC2016,SC2086
	sh -c 'kill -STOP $$; exec "$@" >program.keep' sh "$PROG/phases" $phases &
	target=$!
	tap_pids="$tap_pids $target"
	wait_for 60 grep -q 'State:.T' /proc/$target/status
}
watches() {
	ls -l /proc/"$cprof_pid"/fd | grep -q pidfd
}

# running NAME LEAST OPTION...: a running process; at least LEAST of its CPU time is sampled
running() {
	running_name=$1
	running_least=$2
	shift 2
	start_target
	start_cprof record --json -q -e cpu-clock/freq=1999/,page-faults/period=1/ --call-graph none \
		--ring-size 8M "$@" -o p.pb.gz -p $target
	wait_for 60 watches
	kill -CONT $target
	end_cprof
	wait $target 2>/dev/null
	check_run "$running_name" "$running_least"
}

# command_run NAME LEAST OPTION...: the same as a command
command_run() {
	command_name=$1
	command_least=$2
	shift 2
	# shellcheck disable=SC2086
	run "$CPROF" record --json -q -e cpu-clock/freq=1999/,page-faults/period=1/ --call-graph none \
		--ring-size 8M "$@" -o p.pb.gz -- sh -c 'exec "$@" >program.keep' sh "$PROG/phases" $phases
	check_run "$command_name" "$command_least"
}

check_run() {
	is "$status" 0 "$1: recorded"
	used=$(truth program.keep)
	faults=$(sed -n 's/^faults //p' program.keep)
	execs=$(sed -n 's/^execs //p' program.keep)
	event="s['events'][1]"
	# An exec has one or two faults that only getrusage(2) counts.
	check "$1: no page fault is missing" json_is \
		"${event}['samples'] + ${event}['lost'] >= $faults - 2 * $execs - 8"
	check "$1: and none is counted twice" json_is "${event}['samples'] <= 1.002 * $faults + 600"
	check "$1: the CPU time is covered" json_is \
		"$2 * $used <= e['value'] <= 1.05 * $used + 30e6"
}

for n in 1 2 4; do
	# Short threads and children are a third of the CPU time at least.
	running "task, $n readers" 0.2 --scope task --threads $n
	running "cpu, $n readers" 0.85 --scope cpu --no-bpf --threads $n
	running "cpu with a filter, $n readers" 0.85 --scope cpu --threads $n
	running "changing, $n readers" 0.2 --no-bpf --threads $n
	command_run "a command, $n readers" 0.8 --threads $n
done
finish
