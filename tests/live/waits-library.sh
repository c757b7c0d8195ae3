#!/bin/sh
# Programs that record their own waits with libcprof, as long as they measure themselves.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
run "$PROG/waitrecorders" thread
grep -q 'a thread records itself: yes' out || skip_all "$(head -n 1 out)"

promises() {
	run "$PROG/waitrecorders" "$1"
	is "$status" 0 "$1"
	unlike out ': no ' "$1: no promise is broken"
}

by_thread() {
	promises thread
	profile 'only its own waits' thread.pb.gz "cum('other') == 0" \
		"p.sample_types == [('switches', 'count'), ('off_cpu', 'nanoseconds')]"
	# Nobody else is there who could read where the thread waits.
	if may_sample_kernel; then
		profile 'with their stacks' thread.pb.gz "cum('nap') > 0.99"
	else
		skip 'with their stacks' "$not_kernel"
	fi
}

# near NAME PERCENT: the profile has the delays that the program measured, without the time in which
# another task had the CPU.  A wait ends when the kernel has switched all recorders to the thread,
# which the program's clocks count as CPU time: so the delay is between what they say with and
# without it.
near() {
	awk -v name="$1" -v percent="$2" '$1 == "truth" {
		printf "%s * 1e9 * %f < cum(\"%s\") * total", $2, 1 - percent / 100, name
		printf " + unblocked(\"wall.pb.gz\", \"contend\") < %s * 1e9 * %f", $3, 1 + percent / 100 }' out
}

at_once() {
	promises kinds
	profile 'each contention' block.pb.gz "$(near contend 1)" \
		"p.sample_types == [('contentions', 'count'), ('delay', 'nanoseconds')]" \
		"{r[2].get('lock') for r in rows if 'contend' in r[0]} == {'lock'}"
	profile 'no label of locks, which was not requested' all.pb.gz "not labels('lock')"
	profile 'one per ms of delay' time.pb.gz "$(near contend 1.25)"
	# These threads begin and end while all recorders run.  A wait with a sample begins with it,
	# others when the samples of all recorders have been taken: 600 times up to 20 us.
	profile 'one of 3 has the whole time of each thread' some.pb.gz \
		"same_sums('all.pb.gz', ['wait_for_it', 'hold'], 3)"
	# which waits are sampled is random
	profile 'one of 3' some.pb.gz "$(near contend 25)" "cum('[no stack]') < 0.5"
	[ ! -s mutex.pb.gz ] || profile 'and who made others wait' mutex.pb.gz \
		"$(near release 1)" "cum('nap') == 0"
	profile 'and all of their time' wall.pb.gz "cum('contend') > 0" "'running' in labels('state')" \
		"cum('hold') * total > 0.95 * $(awk '$1 == "truth" { print $2 * 1e9 }' out)"
	rm -f ./*.pb.gz
}

example() {
	run "$CPROF_BUILD_ROOT/tests/examples/example-waits" .
	is "$status" 0 'example-waits: three recorders at the same time'
	profile 'its profile of waits for locks, and of main for the threads' block.pb.gz \
		"cum('store') > 0.3" "cum('store') + cum('main') > 0.99" 'total % 1000000 == 0'
	profile 'its profile of all time' wall.pb.gz "cum('store') > 0.3" "cum('main') > 0.3"
	rm -f ./*.pb.gz
}

attempts 3 by_thread
if is_root; then
	attempts 3 at_once
	attempts 3 example
else
	skip 'several at once' 'needs root'
fi
attempts 3 promises snapshot
promises refusals
rm -f ./*.pb.gz
finish
