#!/bin/sh
# Hardware events are counted and sampled exactly: the guest's PMU is emulated, and every instruction
# takes one cycle, so each number is known.
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

record threads --scope task -e cycles:u -c 10007 -- ./work 40 3
record children --scope task -e cycles:u -c 10007 -- ./work 40 0 3
./work 40 3 0 500 >/dev/null &
record attach-threads --scope task -e cycles:u -c 10007 -p $!

record cpu --scope cpu -e cycles:u -c 10007 -- ./work 100
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

# quarters WHAT [OF_ALL [BOUND]]: one function did 25 %, the other 75 % of what both did, and that
# was most of it. No chance is in the bound: one runs a quarter of the way and then the other, so
# wherever the samples fall, at equal distances, there is at most one too many on one side, which
# is less than half of 0.1 points.
quarters() {
	profile "$1: the shares are 25 % and 75 %" "$pb" \
		"abs(share('work_one') / leaf('^work_(one|three)$') - 0.25) <= ${3:-0.001}" \
		"leaf('^work_(one|three)$') > ${2:-0.99}" "n > 1900"
}

# exact WHAT PERIOD: one sample for each whole period that was counted
exact() {
	profile "$1: exactly floor(count / period) samples" "$pb" "n == $counted // $2" "n > 1000"
	profile "$1: the values add up to the count, less than one period off" "$pb" \
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
	profile "stacks, $case: whole from the leaf to the root" "$pb" \
		"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
		"path('work_one', 'drive', 'main') >= 0.99 * share('work_one')" \
		"roots('_start') > 0.99"
done

# Each thread begins with a whole period, and its last one is not full. When another thread gets
# the CPU, what is left of a period is carried over or kept, as the kernel likes: one sample more
# or less for each of some 25 times that a thread is switched to, out of 8000 samples.
for case in threads children attach-threads; do
	case $case in
	threads) what='four threads' ;;
	children) what='four processes' ;;
	attach-threads) what='four threads, -p' ;;
	esac
	recorded counts $case "$what"
	profile "$what: the samples are those of the count, less a part of a period each" "$pb" \
		"$counted // 10007 - 4 <= n <= $counted // 10007" 'n > 30000' 'total == n * 10007'
	quarters "$what"
done
recorded counts threads 'four threads'
profile 'four threads: each has a quarter' "$pb" "len(labels('tid')) == 4" \
	"all(abs(label_share('tid', tid) - 0.25) < 0.004 for tid in labels('tid'))"
recorded counts children 'four processes'
profile 'four processes: each has a quarter' "$pb" "len(labels('pid')) == 4" \
	"all(abs(label_share('pid', pid) - 0.25) < 0.004 for pid in labels('pid'))"

# A counter of the CPU counts other tasks as well, whose samples are left out.
recorded counts cpu 'the whole CPU'
others=$(summary 's["other_tasks_samples"]')
profile 'the whole CPU: with other tasks, exactly floor(count / period) samples' "$pb" \
	"n + $others == $counted // 10007" "$others > 0"
# Each time another task runs in between, a sample can be the one's or the other's.
profile 'the whole CPU: the target has what it has when it is counted alone, within 5 %' "$pb" \
	"abs(total / $alone - 1) <= 0.05"
quarters 'the whole CPU' 0.99 0.01

recorded counts rate '-F 997'
# The kernel begins with small periods and comes near the right one by an eighth of what is
# missing with each sample: some dozen samples more. Then it corrects it at each tick, by what it
# sees between two ticks or samples, a few percent.
profile '-F 997: 997 samples per second, and some at the beginning' "$pb" \
	"0.9 <= n / (997e-9 * $(summary 'e["time_running_ns"]')) <= 1.4"
profile '-F 997: the values add up to the count, except the last period' "$pb" \
	"0 <= $counted - total < 3 * $counted / n"

recorded counts default 'without -e'
profile 'without -e: cycles' "$pb" "p.sample_types[1] == ('cycles', 'count')"
unlike err 'cpu-clock' 'without -e: nothing to explain'

recorded counts kicked 'instructions:u'
# The overflow is noticed at the next kick, less than half a period later.
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

# More events than counters: there are seven, shared in turns of a ms or, where only the tick sees
# that a turn is over, of 4 ms. So an event may have had some turns more or less than its part of
# them: two of 80 are 2.5 % of the time. The bounds leave it ten, and five in what is computed.
for n in 8 12; do
	case=twelve
	[ $n = 12 ] || case=eight
	result counts $case
	is "$status" 0 "$n events: recorded"
	is "$(summary 'len(s["events"])')" $n "$n events: all have a profile"
	check "$n events: the profiles are right" "$guest_check" "${pb%.pb.gz}".*.pb.gz
	is "$(summary "all(abs(e['time_running_ns'] / e['time_enabled_ns'] - 7 / $n) < 0.12
		for e in s['events'])")" True "$n events: each counts for about 7/$n of the time"
	is "$(summary "6.9 < sum(e['time_running_ns'] / e['time_enabled_ns']
		for e in s['events']) < 7.001")" True "$n events: seven count at any time"
	is "$(summary "all(abs(e['counted'] / $alone * e['time_enabled_ns'] / e['time_running_ns']
		- 1) < 0.06 for e in s['events'] if e['event'].endswith(':u'))")" True \
		"$n events: scaled by that time each count is right within 6 %"
	is "$(summary "all(0 <= e['counted'] - e['value'] < 100003
		for e in s['events'] if e['event'].endswith(':u'))")" True \
		"$n events: the values of each in user code add up to its count"
	# In the kernel an overflow waits until interrupts are allowed, and may meet the next one.
	is "$(summary "all(0 <= e['counted'] - e['value'] < 20 * 100003
		for e in s['events'])")" True \
		"$n events: the others, too, except overflows while interrupts are off"
	like err 'counting [0-9]+ % of the time' "$n events: the share of the time is said"
	profile "$n events: the file shows it" "${pb%.pb.gz}.cycles-u.pb.gz" \
		"bool(re.search(r'event time: enabled .* running .*\([4-9][0-9]\.', comments))"
done
finish
