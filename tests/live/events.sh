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
is "$(echo *.pb.gz)" 'cprof.cpu-clock.pb.gz cprof.minor-faults.pb.gz' 'also with two events'
rm -f ./*.pb.gz

run "$CPROF" record -e page-faults -c 1 -o f.pb.gz -- "$PROG/pagefaulter" 20000
faults=$(sed -n 's/^faults //p' out)
profile 'page-faults, period 1: all are there' f.pb.gz "0.97 * $faults <= total <= 1.1 * $faults + 300" \
	"n == total" "p.period == 1" "cum('touch_pages') > 0.9"
run "$CPROF" record -e page-faults -c 100 -o f.pb.gz -- "$PROG/pagefaulter" 20000
profile 'page-faults, period 100: values are multiplied' f.pb.gz \
	"0.95 * $faults <= total <= 1.1 * $faults + 300" "n * 100 == total" "p.period == 100"
run "$CPROF" record -e page-faults -F 500 -o f.pb.gz -- "$PROG/pagefaulter" 20000 60
faults=$(sed -n 's/^faults //p' out)
profile 'page-faults by frequency: values are true periods' f.pb.gz \
	"0.85 * $faults <= total <= 1.15 * $faults" 'n > 200' "cum('touch_pages') > 0.9"
run "$CPROF" record -e page-faults/period=7/,cpu-clock/freq=250/ -o r.pb.gz -- "$PROG/pagefaulter" 100000
profile 'a period for one event only' "$(ls r.page-faults*)" "p.period == 7"
profile 'a frequency for one event only' "$(ls r.cpu-clock*)" "p.period == 4000000"

run "$CPROF" record -e context-switches -c 1 -o cs.pb.gz -- \
	sh -c 'i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i + 1)); done'
if is_root; then
	is "$status" 0 'context-switches: recorded'
	profile 'context-switches: counted' cs.pb.gz 'total >= 30' \
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

limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
run "$CPROF" record -e cpu-clock -F max -o max.pb.gz -- "$PROG/spin" 1 300
is "$status" 0 '-F max: recorded'
profile '-F max: the highest rate that the kernel allows' max.pb.gz "p.period <= 1e9 / $limit * 1.05" \
	"n > 3000"
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
is "$status" 0 "timer, a name of Go's proposal, works"
finish
