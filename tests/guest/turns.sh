#!/bin/sh
# More events than counters: each event reports for how long it counted; --scale extrapolates the
# values and says so; and an event that never got a counter fails without affecting the others.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest turns <<'END'
eight=cycles:u,cycles:k,r11:u,r11:k,r08:u,r08:k,instructions:u,instructions:k
twelve=$eight,cycles,r11,r08,instructions
kick='./kick 20000'
for interval in /sys/bus/event_source/devices/*/perf_event_mux_interval_ms; do
	echo 1 >$interval
done
record alone --scope task -e cycles:u -c 100003 -- ./work 100
record eight --scope task -c 100003 --scale -e $eight -- ./work 100
record twelve --scope task -c 100003 --scale -e $twelve -- ./work 100
record plain --scope task -c 100003 -e $twelve -- ./work 100
kick=
./cprof doctor >$OUT/doctor.out 2>$OUT/doctor.err
echo $? >$OUT/doctor.status
record seldom --strict --scope task -e cycles:u,r00 -c 100003 -- ./work 20
for interval in /sys/bus/event_source/devices/*/perf_event_mux_interval_ms; do
	echo 1000000 >$interval
done
record starved --scope task -c 100003 -e $twelve -- ./work 20
END

# A turn takes 1 ms, at most 4. Of about a hundred turns, an event gets a few more or fewer than its
# share.
result turns alone
alone=$(summary 'e["counted"]')
for n in 8 12; do
	case=twelve
	[ $n = 12 ] || case=eight
	result turns $case
	is "$status" 0 "$n events, --scale: recorded"
	is "$(summary "all(1.01 < e['scale'] < $n / 7 * 1.3 for e in s['events'])")" True \
		"$n events, --scale: values are multiplied by about $n/7"
	is "$(summary "all(abs(e['scale'] - e['time_enabled_ns'] / e['time_running_ns']) < 1e-5
		for e in s['events'])")" True \
		"$n events, --scale: the factor is time enabled / time counted"
	is "$(summary "all(abs(e['value'] * e['scale'] / $alone - 1) < 0.1
		for e in s['events'] if e['event'] in ('cycles:u', 'r11:u'))")" True \
		"$n events, --scale: values are within 10 % of those of the event alone"
	scale=$(summary 'e["scale"]')
	value=$(summary 'e["value"]')
	samples=$(summary 'e["samples"]')
	profile "$n events, --scale: the file has scaled values and unscaled sample counts" \
		"${pb%.pb.gz}.cycles-u.pb.gz" "n == $samples" "abs(total / ($value * $scale) - 1) < 1e-4" \
		"re.search(r'scaled \(--scale\): values are multiplied by [12]\.', comments)"
	like err 'cycles:u, .*counting [0-9]+ % of the time and scaled' \
		"$n events, --scale: the summary says so"
done

result turns plain
is "$(summary 'all(e["scale"] == 1 for e in s["events"])')" True 'without --scale: each factor is 1'
value=$(summary 'e["value"]')
profile 'without --scale: the file has the sampled values' "${pb%.pb.gz}.cycles-u.pb.gz" \
	"total == $value" "'scaled' not in comments"
is "$(grep -c 'counting [0-9]* % of the time ->' err)" 12 \
	'without --scale: the summary says for how long each event counted'

result turns doctor
like out '^  ok +PMU: counts and interrupts' 'cprof doctor finds the PMU'
like out '^  ok +Hardware events: [0-9]+ of [0-9]+ can be sampled; not.* branches' \
	'cprof doctor names the hardware events that are missing'
like out '^  ok +Precise samples: not reported by this PMU' 'cprof doctor reports that no event is precise'

result turns seldom
is "$status" 2 'one of two events never counts, --strict: status 2'
check 'one of two events never counts, --strict: the other has its profile' \
	test -e "$guest_out/seldom.cycles-u.pb.gz"

result turns starved
is "$status" 0 'events without a counter: the status is that of the command'
starved=$(grep -c "^cprof record: event '.*' never got a counter: all were in use" err)
check 'events without a counter: three to six of twelve are named' \
	test "$starved" -ge 3 -a "$starved" -le 6
like err 'perf_event_mux_interval_ms|fewer events' 'events without a counter: a remedy is given'
is "$(find "$guest_out" -name 'starved.*.pb.gz' | wc -l)" $((12 - starved)) \
	'events without a counter: the others have their profiles'
is "$(grep -c ' samples\{0,1\} of ' err)" $((12 - starved)) \
	'events without a counter: the others are in the summary'
is "$(summary 'sum("never got a counter" in (e["problem"] or "") for e in s["events"])')" "$starved" \
	'events without a counter: the JSON summary names them, too'
finish
