#!/bin/sh
# Shares are right: each program does a known part of its work in each function.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

serial_truth=
i=1
for name in A B C D E F G H I J; do
	serial_truth="$serial_truth, $name=$i/55"
	i=$((i + 1))
done
serial_truth=${serial_truth#, }

parallel_truth=
for i in 1 2 3 4 5 6 7 8 9 10; do
	parallel_truth="$parallel_truth, f$i=0.1"
done
parallel_truth=${parallel_truth#, }

# About as many samples as the CPU time that the program has measured has at the default rate: not
# fewer than by the kernel's accounts, and not more than by a clock, which includes interrupts.
expected() {
	clock=$(sed -n 's/^clock_ns //p' out)
	echo "999e-9 * $(truth) - 0.03 * n < n < 999e-9 * max($(truth), ${clock:-0}) + 0.03 * n"
}

serial() {
	run "$CPROF" record -e cpu-clock -o serial.pb.gz -- "$PROG/serial"
	is "$status" 0 "serial, run $n: recorded"
	profile "serial, run $n: each function has its share" serial.pb.gz \
		"$(expected)" "near($serial_truth)"
	profile "serial, run $n: the shares are in the right order" serial.pb.gz \
		"ranked($serial_truth)"
	profile "serial, run $n: the callchain is complete" serial.pb.gz \
		"path('J', 'I', 'H', 'G', 'F', 'E', 'D', 'C', 'B', 'A', 'main') >= 0.99 * share('J')" \
		"cum('A') > 0.98" "cum('main') > 0.98" \
		"roots('^(_start|__libc_start.*|main)$') > 0.98"
}

parallel() {
	run "$CPROF" record -e cpu-clock -o parallel.pb.gz -- "$PROG/parallel"
	is "$status" 0 "parallel, run $n: recorded"
	profile "parallel, run $n: each thread has a tenth" parallel.pb.gz \
		"$(expected)" "near($parallel_truth)"
	profile "parallel, run $n: stacks reach the start of their thread" parallel.pb.gz \
		"roots('^(_start|__libc_start.*|start_thread|.*clone.*)$') > 0.97"
	profile "parallel, run $n: labels distinguish the threads" parallel.pb.gz \
		"all(abs(label_share('thread_name', 'f%d' % i) - cum('f%d' % i)) < 0.01 for i in range(1, 11))"
}

for n in 1 2 3; do
	attempts 3 serial
	attempts 3 parallel
done

# The values estimate the CPU time used at any rate. (A period that divides the scheduler's tick,
# such as 2 ms, would not: where another task preempts, samples and switches coincide.)
sums() {
	args=$1
	# shellcheck disable=SC2086 # words
	run "$CPROF" record -e cpu-clock $args -o rate.pb.gz -- "$PROG/spin" 10 3000
	used=$(truth)
	profile "$args: the sum of the values is the CPU time used" rate.pb.gz \
		"abs(total - $used) < 4 * $used / n ** 0.5" "cum('spin_leaf') > 0.9"
}
for args in '-F 100' '-F 5000' '-c 1999993'; do
	attempts 3 sums "$args"
done
finish
