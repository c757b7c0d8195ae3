#!/bin/sh
# Several events, their sides, rates and files.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record -e cpu-clock,page-faults -e task-clock -o m.pb.gz -- "$PROG/pagefaulter" 100000
is "$status" 0 'three events: recorded'
is "$(ls -1 ./*.pb.gz | sort | tr '\n' ' ')" './m.cpu-clock.pb.gz ./m.page-faults.pb.gz ./m.task-clock.pb.gz ' \
	'three events: one file each, named after them'
profile 'three events: each file has its own type' m.page-faults.pb.gz \
	"p.sample_types == [('samples', 'count'), ('page_faults', 'count')]" "cum('touch_pages') > 0.8"
profile 'three events: clocks are nanoseconds' m.task-clock.pb.gz \
	"p.sample_types[1] == ('cpu', 'nanoseconds') or p.sample_types[1][1] == 'nanoseconds'"
rm -f ./*.pb.gz

run "$CPROF" record -e cpu-clock -- "$PROG/spin" 1 200
is "$(echo *.pb.gz)" cprof.cpu-clock.pb.gz 'without -o the file is called cprof.<event>.pb.gz'
rm -f ./*.pb.gz
run "$CPROF" record -e cpu-clock,minor-faults -- "$PROG/pagefaulter" 50000
is "$(echo *.pb.gz)" 'cprof.cpu-clock.pb.gz cprof.minor-faults.pb.gz' \
	'without -o two events have two files, named after them'
rm -f ./*.pb.gz

run "$CPROF" record -e page-faults -c 1 --ring-size 8M -o f.pb.gz -- "$PROG/pagefaulter" 20000
faults=$(sed -n 's/^faults //p' out)
profile 'page-faults, period 1: each fault is a sample' f.pb.gz \
	"0.97 * $faults <= total <= 1.1 * $faults + 300" \
	"n == total" "p.period == 1" "cum('touch_pages') > 0.9"
run "$CPROF" record -e page-faults -c 100 -o f.pb.gz -- "$PROG/pagefaulter" 20000
profile 'page-faults, period 100: values are multiplied' f.pb.gz \
	"0.95 * $faults <= total <= 1.1 * $faults + 300" "n * 100 == total" "p.period == 100"
by_frequency() {
	run "$CPROF" record -e page-faults -F 500 -o f.pb.gz -- "$PROG/pagefaulter" 20000 60
	faults=$(sed -n 's/^faults //p' out)
	profile 'page-faults by frequency: values are true periods' f.pb.gz \
		"0.85 * $faults <= total <= 1.15 * $faults" 'n > 50' "cum('touch_pages') > 0.9"
}
attempts 3 by_frequency
run "$CPROF" record -e page-faults -o f.pb.gz -- "$PROG/pagefaulter" 2000 1
faults=$(sed -n 's/^faults //p' out)
profile 'page-faults without a rate: the period is 11, even in a short burst' f.pb.gz \
	'p.period == 11' 'n * 11 == total' "0.95 * $faults <= total <= 1.1 * $faults + 300"
run "$CPROF" record -e page-faults/period=7/,cpu-clock/freq=250/ -o r.pb.gz -- "$PROG/pagefaulter" 100000
profile 'a period for one event only' "$(ls r.page-faults*)" "p.period == 7"
profile 'a frequency for one event only' "$(ls r.cpu-clock*)" "p.period == 4000000"

run "$CPROF" record -e context-switches -c 1 -o cs.pb.gz -- \
	sh -c 'i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i + 1)); done'
if is_root; then
	is "$status" 0 'context-switches: recorded'
	profile 'context-switches: at least as many as sleeps' cs.pb.gz 'total >= 30' \
		"p.sample_types[1] == ('context_switches', 'count')"
fi

for side in user kernel; do
	short=$(echo $side | cut -c1)
	for form in "-e cpu-clock:$short" "-e cpu-clock --$side"; do
		is_root || [ $side = user ] || continue
		# shellcheck disable=SC2086 # words
		run "$CPROF" record $form -F 2000 -o side.pb.gz -- dd if=/dev/zero of=/dev/null bs=4k count=400000
		[ -e side.pb.gz ] || mv side.*.pb.gz side.pb.gz
		is "$status" 0 "$form: recorded"
		if [ $side = user ]; then
			profile "$form: no kernel frame" side.pb.gz "user_frames('^.kernel') == 0" 'n > 10'
		else
			profile "$form: every sample was in the kernel" side.pb.gz \
				"all(s[0][0].mapping and s[0][0].mapping.file.startswith('[kernel') or 'kernel' in str(s[0][0].mapping and s[0][0].mapping.file) for s in p.samples)" 'n > 10'
		fi
		rm -f side.pb.gz
	done
done

# The kernel lowers its limit when samples take long.
run "$CPROF" record -e cpu-clock -F max -o max.pb.gz -- "$PROG/spin" 1 300
limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
is "$status" 0 '-F max: recorded'
unlike err 'may take most' '-F max: without a warning'
profile '-F max: the highest rate that leaves the target time' max.pb.gz \
	"p.period <= 1e9 / min($limit, 20000) * 1.05" "n > 100"
if [ "$limit" -ge 25000 ]; then
	run "$CPROF" record -e cpu-clock -F 25000 -o fast.pb.gz -- "$PROG/spin" 1 50
	is "$status" 0 '-F 25000: recorded'
	like err 'copies of the stack at 25000 Hz may take most' '-F 25000: with a warning'
	run "$CPROF" record -e cpu-clock -F 25000 --call-graph none -o fast.pb.gz -- "$PROG/spin" 1 50
	unlike err 'may take most' '-F 25000 without stacks: without a warning'
else
	skip '-F 25000: a warning' "the kernel's limit is $limit Hz"
fi
refused 1 "$limit" 'a rate above the limit: names the limit' \
	record -e cpu-clock -F $((limit * 10)) -o none.pb.gz -- true 
rm -f ./*.pb.gz

# The default event, and why
run "$CPROF" record -o default.pb.gz -- "$PROG/spin" 1 400
is "$status" 0 'without -e: recorded'
[ -e default.pb.gz ] || mv default.*.pb.gz default.pb.gz
if [ -e /sys/bus/event_source/devices/cpu ] || ls -d /sys/bus/event_source/devices/armv8* >/dev/null 2>&1; then
	skip 'without -e and without a PMU: cpu-clock, and the reason' 'the machine has a PMU'
	skip 'cycles without a PMU' 'the machine has a PMU'
else
	profile 'without -e and without a PMU: cpu-clock' default.pb.gz "p.sample_types[1] == ('cpu', 'nanoseconds')"
	like err 'cpu-clock' 'without -e: says which event it took'
	like err 'PMU|hardware' 'without -e: says why'
	rm -f ./*.pb.gz
	for event in cycles cache-misses L1-dcache-load-misses r01c2 branchMisses; do
		refused 1 "$event|PMU" "$event without a PMU" record -e $event -o c.pb.gz -- "$PROG/spin" 1 10
	done
	like err 'PMU|hardware|virtual' 'a hardware event without a PMU: names the cause'
	like err 'cpu-clock' 'a hardware event without a PMU: names the remedy'
fi
rm -f ./*.pb.gz
run "$CPROF" record -e timer -o t.pb.gz -- "$PROG/spin" 1 200
is "$status" 0 "'timer', the name in Go's proposal, is accepted"
rm -f ./*.pb.gz

# Tracepoints
if is_root && [ -r /sys/kernel/tracing/events/sched/sched_process_exec/id ]; then
	run "$CPROF" record -e sched:sched_switch -o sw.pb.gz -- \
		sh -c 'i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i + 1)); done'
	is "$status" 0 'a tracepoint: recorded'
	profile 'a tracepoint: each hit is a sample' sw.pb.gz 'total >= 30' 'n == total' \
		"p.sample_types[1] == ('sched_sched_switch', 'count')" "p.period == 1"
	run "$CPROF" record -e 'sched:sched_process_e*' -o t.pb.gz -- sh -c '/bin/true; /bin/true; :'
	is "$status" 0 'a pattern of tracepoints: recorded'
	profile 'a pattern of tracepoints: the first one has a file' \
		t.sched-sched_process_exec.pb.gz 'total >= 2'
	profile 'a pattern of tracepoints: the second one has a file' \
		t.sched-sched_process_exit.pb.gz 'total >= 2'
	run "$CPROF" record -e 'syscalls:sys_enter_openat/period=10,name=opens/' -o o.pb.gz -- \
		sh -c 'i=0; while [ $i -lt 300 ]; do : </dev/null; i=$((i + 1)); done'
	is "$status" 0 'a tracepoint with terms: recorded'
	profile 'a tracepoint with terms: the period is applied' o.pb.gz \
		'p.period == 10' 'n * 10 == total' 'n >= 10'
	run "$CPROF" list --search sched:sched_switch
	like out '^  sched:sched_switch +yes' 'list --search finds a tracepoint, which can be sampled'
	run "$CPROF" list --search 'sched:sched_*'
	like out "^Tracepoints: 'sched:[a-z_]+' was tested, and represents [0-9]+ others" \
		'list --search says which tracepoint was tested'
	run "$CPROF" list --json --search 'sched:sched_*'
	check 'list --json --search marks the tested tracepoint' "$PYTHON" -c '
import json
e = json.load(open("out"))["events"]
tested = [x["name"] for x in e if x["tested_as"] is None]
assert len(tested) == 1 and all(x["tested_as"] == tested[0] for x in e if x["name"] != tested[0])'
	run "$CPROF" list --search 'ftrace:*'
	unlike out '^Tracepoints:' 'list --search: tracepoints of ftrace are tested one by one'
else
	for what in 'a tracepoint' 'a pattern of tracepoints' 'a tracepoint with terms'; do
		skip "$what" 'tracefs cannot be read here'
	done
fi
refused 1 "(no tracepoint|tracefs).*'no:such_thing'|'no:such_thing'.*tracefs" \
	'a tracepoint that does not exist' record -e no:such_thing -- true

# Probes
if is_root && [ -r /sys/bus/event_source/devices/uprobe/type ]; then
	run "$CPROF" record -e "uprobe:$PROG/serial:A,uprobe:$PROG/serial:main%return/name=back/" \
		-o u.pb.gz -- "$PROG/serial" 1
	is "$status" 0 'a probe: recorded'
	profile 'a probe: each call is a sample of the function' u.uprobe-serial-A.pb.gz \
		"p.sample_types[1] == ('uprobe_serial_a', 'count')" "leaf('^A$') == 1" 'n >= 1'
	profile 'a return probe: main returns once' u.back.pb.gz \
		'n == 1' "p.sample_types[1][0] == 'back'"
else
	skip 'a probe' 'no uprobes here'
fi
refused 1 "no function 'nothing'" 'a probe in a function that does not exist' \
	record -e "uprobe:$PROG/spin:nothing" -- true

# A breakpoint at a function of a program without address randomization
cat >fixed.c.keep <<'END'
#include <stdio.h>
#include <stdlib.h>
volatile long counter;
__attribute__((noinline)) void step(void) { counter++; }
int main(int argc, char **argv)
{
	for (long i = argc > 1 ? atol(argv[1]) : 20; i; i--)
		step();
	return counter == 0;
}
END
if cc -x c -g -O1 -static -no-pie -o fixed.keep fixed.c.keep 2>/dev/null; then
	step=0x$(nm fixed.keep | awk '$3 == "step" { print $1 }')
	counter=0x$(nm fixed.keep | awk '$3 == "counter" { print $1 }')
	run "$CPROF" record --scope task -e "mem:$step:x:u,mem:$counter/8:w:u/name=x/" -o b.pb.gz -- ./fixed.keep
	is "$status" 64 'terms of a breakpoint precede its modifiers'
	# few, because the small ring of an ordinary user must hold all of them
	run "$CPROF" record --scope task -e "mem:$step:x:u,mem:$counter/8:w/name=written/u" -o b.pb.gz -- ./fixed.keep 20
	if grep -Eq 'No space|not support|Invalid|ENOSPC|No such' err; then
		skip 'breakpoints' 'no debug registers here'
	else
		is "$status" 0 'breakpoints: recorded'
		profile 'a breakpoint on execution: each execution is a sample' "$(ls \
			b.mem*)" 'n == 20' \
			"leaf('^step$') == 1" "path('step', 'main') > 0.9"
		profile 'a breakpoint on writing: each write is a sample' b.written-u.pb.gz \
			'n == 20' \
			"share('step') > 0.99"
	fi
else
	skip 'breakpoints' 'no static C library'
fi
rm -f ./*.pb.gz

# Groups
run "$CPROF" record --scope task -e '{minor-faults/period=50/,page-faults}:S' -o g.pb.gz -- \
	"$PROG/pagefaulter" 20000
if grep -Eq 'Invalid argument|6\.13' err; then
	skip 'a group with S' 'the kernel cannot read inherited groups'
else
	faults=$(sed -n 's/^faults //p' out)
	is "$status" 0 'a group with S: recorded'
	profile 'a group with S: the leader samples' g.minor-faults.pb.gz 'n * 50 == total' \
		"0.97 * $faults <= total <= 1.1 * $faults + 300" "cum('touch_pages') > 0.9"
	profile 'a group with S: the member has its own counts' g.page-faults.pb.gz \
		"0.97 * $faults <= total <= 1.1 * $faults + 300" "cum('touch_pages') > 0.9"
fi
rm -f ./*.pb.gz
run "$CPROF" record -e '{cpu-clock/period=1000003/,minor-faults/period=100/}:u,page-faults/period=100/' \
	-o g.pb.gz -- "$PROG/pagefaulter" 100000
is "$status" 0 'a group beside an event: recorded'
is "$(echo g.*)" 'g.cpu-clock-u.pb.gz g.minor-faults-u.pb.gz g.page-faults.pb.gz' \
	'a group: each event has a file'
profile 'a group without S: each event samples by itself' g.minor-faults-u.pb.gz \
	'n * 100 == total' \
	"cum('touch_pages') > 0.9"
rm -f ./*.pb.gz

# Stacks by event
run "$CPROF" record -e 'cpu-clock/call-graph=no/,page-faults/stack-size=32K,call-graph=dwarf/' \
	-e 'minor-faults/call-graph=fp/' --call-graph fp --ring-size 16M -o c.pb.gz -- "$PROG/pagefaulter" 100000
is "$status" 0 'call graphs by event: recorded'
profile 'call-graph=no: the sampled address only' c.cpu-clock.pb.gz 'all(len(s[0]) == 1 for s in p.samples)'
profile 'call-graph=dwarf for one event: its stacks are complete' c.page-faults.pb.gz \
	"path('touch_pages', 'main') > 0.9"
profile 'call-graph=fp for one event: its stacks have callers' c.minor-faults.pb.gz \
	"cum('touch_pages') > 0.9"
rm -f ./*.pb.gz

# Events of PMUs outside of the cores count in a group
if is_root && [ -r /sys/bus/event_source/devices/msr/events/tsc ]; then
	run "$CPROF" record -e '{cpu-clock,msr/tsc/}:S' -o m.pb.gz -- "$PROG/spin" 1 300
	is "$status" 0 'an event of the PMU msr in a group: recorded'
	profile 'an event of the PMU msr in a group: it has values' m.msr-tsc.pb.gz \
		"p.sample_types[1] == ('msr_tsc', 'count')" 'total > 1e6'
	run "$CPROF" list --pmu=msr
	like out '^  msr/tsc/ +no .*counts, but cannot sample' \
		'list --pmu=msr says that its events cannot sample'
else
	skip 'an event of the PMU msr in a group' 'no such PMU here'
fi
run "$CPROF" list --pmu
is "$status" 0 'list --pmu'
like out '^  software +type 1' 'list --pmu lists the PMUs of the kernel'
refused 1 "no event has 'xyzzy'" 'list --search of nothing' list --search xyzzy
refused 1 "no PMU 'xyzzy'" 'list --pmu of nothing' list --pmu=xyzzy
refused 64 'page-faultz' 'an unknown event is marked' record -e 'cycles,page-faultz' -- true
like err '^  {7} *\^' 'an unknown event: a mark is below it'
run env LIBPFM_ENCODE_INACTIVE=1 "$CPROF" list skl::MEM_LOAD_RETIRED:L1_HIT
if grep -q 'without libpfm4' err; then
	skip 'names of libpfm4' 'built without it'
else
	like out '^  skl::MEM_LOAD_RETIRED:L1_HIT +' 'list finds a name of libpfm4'
	run "$CPROF" list --pmu=skl --search L1_HIT
	like out '^  skl::MEM_LOAD_RETIRED:L1_HIT .*[Rr]etired' \
		'list --search finds a name of libpfm4 by its description'
fi
finish
