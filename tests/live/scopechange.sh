#!/bin/sh
# Without a filter in the kernel: events of threads, and events of CPUs only while short threads
# matter.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root

# record_phases OPTION... -- PHASE...: records the program phases from its first instruction, as a
# process, or as a thread and what it creates
target_option=-p
record_phases() {
	phases_options=
	while [ "$1" != -- ]; do
		phases_options="$phases_options $1"
		shift
	done
	shift
	# shellcheck disable=SC2016
	sh -c 'kill -STOP $$; exec "$@" >program.keep' sh "$PROG/phases" "$@" &
	target=$!
	tap_pids="$tap_pids $target"
	wait_for 60 grep -q 'State:.T' /proc/$target/status
	# shellcheck disable=SC2086
	start_cprof record --json -v -e cpu-clock -F 1999 $phases_options -o p.pb.gz $target_option $target
	wait_for 60 watches
	kill -CONT $target
	end_cprof
	wait $target 2>/dev/null
	used=$(truth program.keep)
}
watches() {
	ls -l /proc/"$cprof_pid"/fd | grep -q pidfd
}
changes() {
	json '[c["scope"] for c in s["scope_changes"]]'
}

background "$PROG/spin" 7 100000

steady() {
	record_phases --no-bpf -- s600
	is "$status" 0 'steady work: recorded'
	is "$(json 's["scope"], s["scope_changes"], s["other_tasks_samples"]')" "('task', [], 0)" \
		'  with events of threads, which deliver no sample of a neighbour'
	profile '  the CPU time is covered' p.pb.gz "0.93 * $used < total < 1.05 * $used + 30e6"
}
attempts 3 steady

# The first tenths of a second of each storm are missing, so what is missing may all be short work.
# storm NAME PHASE SHARE-OF-TIME SHARE-OF-SHORT-WORK [OPTION]...
storm() {
	storm_options=$5
	# shellcheck disable=SC2086
	record_phases --no-bpf $storm_options -- s200 "$2" s200
	is "$status" 0 "$1: recorded"
	is "$(changes)" "['cpu']" '  cprof changes to events of CPUs'
	check '  and says so' grep -q 'scope cpu instead of task: short threads were not sampled' \
		err
	profile '  so does the profile' p.pb.gz "'scope changed: cpu instead of task from ' in comments"
	short=$(sed -n 's/^short_ns //p' program.keep)
	profile '  from then on the CPU time is covered' p.pb.gz "$3 * $used < total < 1.05 * $used + 30e6" \
		"cum('short_work') > $4" \
		"cum('short_work') * total >= 0.85 * $short - max(0, $used - total)"
}
attempts 3 storm 'short threads' t1500 0.72 0.02 ''
attempts 3 storm 'short threads, 2 readers' t1500 0.72 0.02 '--threads 2'
attempts 3 storm 'short children' f1500 0.6 0.02 ''
attempts 3 storm 'short programs' x1500 0.6 0.01 ''

record_phases --no-bpf --scope task -- t700
is "$(json 's["scope"], s["scope_changes"]')" "('task', [])" '--scope task stays'
record_phases --no-bpf --scope cpu -- t300 s300
is "$(json 's["scope"], s["scope_changes"]')" "('cpu', [])" '--scope cpu stays'

back() {
	record_phases --no-bpf -- t900 s3400
	is "$(changes)" "['cpu', 'task']" 'after a while without short threads: back to events of threads'
	profile '  the CPU time is covered' p.pb.gz "0.85 * $used < total < 1.05 * $used + 30e6"
}
attempts 3 back
target_option=-t
back_thread() {
	record_phases --no-bpf -- t900 s3400
	is "$(changes)" "['cpu', 'task']" '-t: back to events of threads, too'
	profile '  the CPU time is covered' p.pb.gz "0.85 * $used < total < 1.05 * $used + 30e6"
}
attempts 3 back_thread
target_option=-p

# The filter is refused.
run setpriv --bounding-set -sys_admin,-bpf --inh-caps -sys_admin,-bpf "$CPROF" record --json -q \
	-e cpu-clock -o b.pb.gz --duration 0.2 -p "$pid"
is "$(json 's["scope"], "CAP_BPF" in s["scope_reason"]')" "('task', True)" \
	'without CAP_BPF: events of threads, with the reason'
finish
