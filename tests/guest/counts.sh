#!/bin/sh
# Hardware events are counted and sampled exactly: the guest's PMU is emulated, and every
# instruction takes one cycle, so all numbers are known in advance.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest counts <<'END'
record plain --scope task -e cycles:u -c 100003 -- ./work 100
record raw --scope task -e r11:u -c 100003 -- ./work 100
record prime --scope task -e cycles:u -c 10007 -- ./work 20
record copies --scope task --call-graph dwarf -e cycles:u -c 100003 -- ./work 100
record fp --scope task --call-graph fp -e cycles:u -c 100003 -- ./work 100
./work 100 0 0 500 >/dev/null &
record attach --scope task -e cycles:u -c 100003 -p $!
record sides --scope task -e cycles -c 20011 -- ./work 100

# 43,000 stacks of 16 KiB per second: the default rings last for 23 ms.
record threads --scope task --ring-size 64M -e cycles:u -c 10007 -- ./work 40 3
record children --scope task --ring-size 64M -e cycles:u -c 10007 -- ./work 40 0 3
./work 40 3 0 500 >/dev/null &
record attach-threads --scope task --ring-size 64M -e cycles:u -c 10007 -p $!

record cpu --scope cpu --no-bpf -e cycles:u -c 10007 -- ./work 100
record rate --scope task -e cycles:u -F 997 -- ./work 100
record default -- ./work 50

record pair --scope task -e cycles:u,instructions:u -c 50021 -- ./work 100
kick='./kick 20000'
record kicked --scope task -e instructions:u -c 50021 -- ./work 100
# Counters change hands so often that each event has had its turn dozens of times.
for interval in /sys/bus/event_source/devices/*/perf_event_mux_interval_ms; do
	echo 1 >$interval
done
record eight --scope task -c 100003 \
	-e cycles:u,cycles:k,r11:u,r11:k,r08:u,r08:k,instructions:u,instructions:k -- ./work 100
record twelve --scope task -c 100003 -e cycles:u,cycles:k,cycles,r11:u,r11:k,r11 \
	-e r08:u,r08:k,r08,instructions:u,instructions:k,instructions -- ./work 100
END

# quarters WHAT [OF_ALL [BOUND]]: of the work of the two functions, one did 25 % and the other 75 %,
# and both together did at least OF_ALL of all work. The bound does not depend on chance: one
# function runs for the first quarter, then the other. Samples are equally spaced, so at most one
# sample falls on the wrong side, which is less than 0.05 points.
quarters() {
	profile "$1: the shares are 25 % and 75 %" "$pb" \
		"abs(share('work_one') / leaf('^work_(one|three)$') - 0.25) <= ${3:-0.001}" \
		"leaf('^work_(one|three)$') > ${2:-0.99}" "n > 1900"
}

# exact WHAT PERIOD: there is one sample for each whole period that was counted
exact() {
	profile "$1: exactly floor(count / period) samples" "$pb" "n == $counted // $2" "n > 1000"
	profile "$1: the sum of the values is less than one period below the count" "$pb" \
		"0 <= $counted - total < $2" "total == n * $2" "p.period == $2"
}

for case in plain raw prime copies fp attach; do
	period=100003
	case $case in
	plain) what='cycles:u' ;;
	raw) what='r11:u' ;;
	prime) what='cycles:u, a period of 10007'; period=10007 ;;
	copies) what='cycles:u, stacks by CFI' ;;
	fp) what='cycles:u, stacks by frame pointers' ;;
	attach) what='cycles:u, -p' ;;
	esac
	recorded counts $case "$what"
	exact "$what" $period
	quarters "$what"
	[ $case != plain ] || alone=$counted
done

# In the kernel an overflow waits until interrupts are allowed, and may meet the next one. So each
# of the dozen ticks in a quarter can move a sample or two into the other function or away.
recorded counts sides 'cycles of user and kernel'
profile 'cycles of user and kernel: the values add up to the count, except a few periods' "$pb" \
	"0 <= $counted - total < 0.02 * $counted" 'total == n * 20011'
profile 'cycles of user and kernel: the kernel is there' "$pb" "$counted > 1.003 * $alone" \
	"anywhere('el0t_64_sync') > 0"
quarters 'cycles of user and kernel' 0.95 0.01

for case in copies fp; do
	recorded counts $case "stacks, $case"
	profile "stacks, $case: complete from the leaf to the root" "$pb" \
		"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
		"path('work_one', 'drive', 'main') >= 0.99 * share('work_one')" \
		"roots('_start') > 0.99"
done

# Each thread begins with a whole period and ends with an incomplete one. At a context switch the
# kernel may keep the rest of a period for the thread or carry it over: one sample more or less for
# each of about 25 switches, out of 8000 samples.
for case in threads children attach-threads; do
	case $case in
	threads) what='four threads' ;;
	children) what='four processes' ;;
	attach-threads) what='four threads, -p' ;;
	esac
	recorded counts $case "$what"
	profile "$what: floor(count / period) samples, at most four fewer" "$pb" \
		"$counted // 10007 - 4 <= n <= $counted // 10007" 'n > 30000' 'total == n * 10007'
	quarters "$what"
done
recorded counts threads 'four threads'
profile 'four threads: each has a quarter' "$pb" "len(labels('tid')) == 4" \
	"all(abs(label_share('tid', tid) - 0.25) < 0.004 for tid in labels('tid'))"
recorded counts children 'four processes'
profile 'four processes: each has a quarter' "$pb" "len(labels('pid')) == 4" \
	"all(abs(label_share('pid', pid) - 0.25) < 0.004 for pid in labels('pid'))"

# A counter of a CPU also counts other tasks; cprof leaves out their samples.
recorded counts cpu 'the whole CPU'
others=$(summary 's["other_tasks_samples"]')
profile 'the whole CPU: with other tasks, exactly floor(count / period) samples' "$pb" \
	"n + $others == $counted // 10007" "$others > 0"
# At each switch to another task, one sample can go to either task.
profile 'the whole CPU: the total of the target is within 5 % of its count alone' "$pb" \
	"abs(total / $alone - 1) <= 0.05"
quarters 'the whole CPU' 0.99 0.01

recorded counts rate '-F 997'
# The kernel begins with small periods and approaches the right one by an eighth of the difference
# at each sample, which costs a few dozen extra samples. Then it corrects the period at each tick by
# a few percent, depending on the events since the last tick or sample.
profile '-F 997: 997 samples per second, plus the first ones' "$pb" \
	"0.9 <= n / (997e-9 * $(summary 'e["time_running_ns"]')) <= 1.4"
profile '-F 997: the sum of the values is less than three mean periods below the count' "$pb" \
	"0 <= $counted - total < 3 * $counted / n"

recorded counts default 'without -e'
profile 'without -e: records cycles' "$pb" "p.sample_types[1] == ('cycles', 'count')"
unlike err 'cpu-clock' 'without -e: no remark about cpu-clock'

recorded counts kicked 'instructions:u'
# An overflow is noticed at the next interrupt of kick, less than half a period later.
exact 'instructions:u' 50021
quarters 'instructions:u'
for event in cycles instructions; do
	result counts pair
	pb=${pb%.pb.gz}.$event-u.pb.gz
	counted=$(summary "[e['counted'] for e in s['events'] if e['event'] == '$event:u'][0]")
	exact "$event:u of two events" 50021
	quarters "$event:u of two events"
done
is "$(summary 's["events"][1]["counted"]')" "$(summary 'e["counted"]')" \
	'each instruction takes one cycle'

# More events than counters: seven counters are shared in turns of 1 ms, or of 4 ms when only the
# tick notices the end of a turn. So an event may get a few turns more or fewer than its share: two
# of 80 are 2.5 % of the time. The bounds allow about ten turns, and five in computed values.
for n in 8 12; do
	case=twelve
	[ $n = 12 ] || case=eight
	result counts $case
	is "$status" 0 "$n events: recorded"
	is "$(summary 'len(s["events"])')" $n "$n events: all have a profile"
	check "$n events: the profiles are valid" "$guest_check" "${pb%.pb.gz}".*.pb.gz
	is "$(summary "all(abs(e['time_running_ns'] / e['time_enabled_ns'] - 7 / $n) < 0.12
		for e in s['events'])")" True \
		"$n events: each one counts for about 7/$n of the time"
	is "$(summary "6.9 < sum(e['time_running_ns'] / e['time_enabled_ns']
		for e in s['events']) < 7.001")" True "$n events: seven of them count at any time"
	is "$(summary "all(abs(e['counted'] / $alone * e['time_enabled_ns'] / e['time_running_ns']
		- 1) < 0.06 for e in s['events'] if e['event'].endswith(':u'))")" True \
		"$n events: each count, scaled by its time, is within 6 % of the truth"
	is "$(summary "all(0 <= e['counted'] - e['value'] < 100003
		for e in s['events'] if e['event'].endswith(':u'))")" True \
		"$n events: in user code, values are less than one period below the count"
	# In the kernel an overflow waits until interrupts are enabled, and may merge with the next
	# one.
	is "$(summary "all(0 <= e['counted'] - e['value'] < 20 * 100003
		for e in s['events'])")" True \
		"$n events: in all code, values are less than 20 periods below the count"
	like err 'counting [0-9]+ % of the time' "$n events: the summary has the share of the time"
	profile "$n events: the comments of the file have the share of the time" \
		"${pb%.pb.gz}.cycles-u.pb.gz" \
		"bool(re.search(r'event time: enabled .* running .*\([4-9][0-9]\.', comments))"
done
finish
