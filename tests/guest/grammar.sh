#!/bin/sh
# The event grammar on a PMU: fields, named events, groups, precision, several events.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest grammar <<'END'
pmu=$(basename "$(dirname "$(ls /sys/bus/event_source/devices/*/cpus | head -n 1)")")
echo "$pmu" >"$OUT/pmu"
ls "/sys/bus/event_source/devices/$pmu/events" >"$OUT/events"
record field --scope task -e "$pmu/event=0x11,name=by_field/u" -c 100003 -- ./work 20
record wildcard --scope task -e "cpu/event=0x11/u" -c 100003 -- ./work 20
record config --scope task -e "$pmu/config=0x11,period=10007/u" -- ./work 20
record named --scope task -e "$pmu/cpu_cycles/u" -c 100003 -- ./work 20
record alone --scope task -e "cpu_cycles:u" -c 100003 -- ./work 20
record raw-term --scope task -e "$pmu/r11/u" -c 100003 -- ./work 20
record twice --scope task -e cycles/name=fine,period=10007/u,cycles:u -c 100003 -- ./work 20
record group --scope task -e '{cycles/period=100003/,instructions/period=100003/}:u' -- ./work 20
record leader --scope task --no-inherit -e '{cycles/period=100003/,instructions}:uS' -- ./work 20
record leader-inherits --scope task -e '{cycles/period=100003/,instructions}:uS' -- ./work 20
record leader-attach --scope cpu -e '{cycles/period=100003/,instructions}:uS' -- ./work 20
record pinned --scope task -e cycles:uD -c 100003 -- ./work 20
record call-graphs --scope task -e cycles/call-graph=dwarf,period=100003/u \
	-e r11/call-graph=no,name=bare,period=100003/u -- ./work 20
record precise --scope task -e cycles:uppp -c 100003 -- ./work 20
record highest --scope task -e cycles:uP -c 100003 -- ./work 20
record tracepoint -e sched:sched_switch -- sh -c 'i=0; while [ $i -lt 20 ]; do usleep 10000; i=$((i + 1)); done'
record too-large -e "$pmu/event=0x123456/" -- ./work 1
record no-field -e "$pmu/colour=1/" -- ./work 1
record no-pmu -e "gpu/event=1/" -- ./work 1
./cprof list --pmu >"$OUT/list.out" 2>"$OUT/list.err"
echo $? >"$OUT/list.status"
./cprof list --pmu="$pmu" >"$OUT/events-of.out" 2>"$OUT/events-of.err"
echo $? >"$OUT/events-of.status"
END

guest_pmu=$(cat "$T/grammar.keep/out/pmu")

# cycles WHAT CASE PERIOD TYPE: one sample for each period of the count, divided 1 to 3 between the
# functions
cycles() {
	recorded grammar "$2" "$1"
	profile "$1: exactly floor(count / period) samples, of type $4" "$pb" \
		"n == $counted // $3" 'n > 300' "p.sample_types[1] == ('$4', 'count')"
	profile "$1: the shares are 25 % and 75 %" "$pb" \
		"abs(share('work_one') / leaf('^work_(one|three)$') - 0.25) <= 0.01"
}
type_of=$(echo "$guest_pmu" | tr -c 'a-z0-9\n' _)
cycles 'a field of the PMU' field 100003 by_field
cycles 'cpu stands for the cores' wildcard 100003 cpu_event_0x11
cycles 'the term config' config 10007 "${type_of}_config_0x11"
cycles 'the raw code as a term' raw-term 100003 "${type_of}_r11"
if grep -q '^cpu_cycles$' "$T/grammar.keep/out/events"; then
	cycles 'an event that the kernel names' named 100003 "${type_of}_cpu_cycles"
	cycles 'its name alone' alone 100003 cpu_cycles
else
	skip 'an event that the kernel names' 'this kernel does not name cpu_cycles'
fi
cycles 'a pinned event' pinned 100003 cycles

result grammar twice
base=${pb%.pb.gz}
is "$status" 0 'one event twice: recorded'
# Only the first event gets the cycle counter, which is exact here.
profile 'one event twice: the first has its period' "$base.fine-u.pb.gz" 'p.period == 10007' \
	'n > 3000' 'near(work_three=0.75)'
profile 'one event twice: the second has its period' "$base.cycles-u.pb.gz" 'p.period == 100003' \
	'n > 10'

# An instruction takes one cycle here, so both counters have the same value.
result grammar group
base=${pb%.pb.gz}
is "$status" 0 'a group: recorded'
is "$(summary 's["events"][0]["counted"]')" "$(summary 's["events"][1]["counted"]')" \
	'a group: its events count at the same time'
for case in leader leader-attach; do
	result grammar $case
	base=${pb%.pb.gz}
	is "$status" 0 "$case: recorded"
	check "$case: the profiles are valid" "$guest_check" "$base.cycles-u.pb.gz" \
		"$base.instructions-u.pb.gz"
	n=$(summary 'e["samples"]')
	profile "$case: each sample of the leader has the value of its period" \
		"$base.cycles-u.pb.gz" \
		'n * 100003 == total' 'n > 300'
	is "$([ "$case" = leader ] && summary "e['samples'] == e['counted'] // 100003" || echo True)" \
		True "$case: one sample for each period"
	# There are 400 samples; with a counter of the whole CPU, other tasks take some of them.
	profile "$case: the member's values are its counts at the leader's stacks" \
		"$base.instructions-u.pb.gz" "n == $n" 'abs(total / (n * 100003) - 1) < 0.01' \
		"abs(share('work_one') / leaf('^work_(one|three)$') - 0.25) <= 0.03"
done

result grammar leader-inherits
if [ "$status" = 0 ]; then
	profile 'leader-inherits: the member has values' "${pb%.pb.gz}.instructions-u.pb.gz" \
		'n > 300'
else
	like err 'requires Linux 6.13' 'leader-inherits: the message names the required kernel'
	like err '--scope cpu.*--no-inherit' 'leader-inherits: the message gives two remedies'
fi

result grammar call-graphs
base=${pb%.pb.gz}
is "$status" 0 'call graphs by event: recorded'
profile 'call graphs by event: the first has whole stacks' "$base.cycles-u.pb.gz" \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')"
profile 'call graphs by event: the second has only leaves' "$base.bare-u.pb.gz" \
	'all(len(s[0]) == 1 for s in p.samples)' 'near(work_three=0.75)'

for case in precise highest; do
	recorded grammar $case "$case"
	profile "$case: the shares are those of cycles" "$pb" 'n > 100' 'near(work_three=0.75)'
done
result grammar highest
like err "precise level [0-3], the highest" 'P: the summary says which precision it got'

recorded grammar tracepoint 'a tracepoint'
profile 'a tracepoint: each hit is a sample' "$pb" 'total >= 20' 'n == total' \
	"p.sample_types[1] == ('sched_sched_switch', 'count')"

result grammar too-large
is "$status" 64 'a number that does not fit: status 64'
like err "too large: 'event' of PMU" 'a number that does not fit: the message names the field'
result grammar no-field
is "$status" 1 'a field that the PMU does not have: status 1'
like err "no event or field 'colour=1'" 'a field that the PMU does not have: it is named'
like err 'its fields are: .*event' 'a field that the PMU does not have: its real fields are listed'
result grammar no-pmu
like err "no event or PMU 'gpu'" 'a PMU that does not exist is named'
result grammar list
is "$status" 0 'list --pmu'
like out "^  $guest_pmu +type [0-9]+, the CPU's cores, CPUs 0" \
	'list --pmu: lists the PMU of the cores'
result grammar events-of
like out "^  $guest_pmu/[a-z0-9_]+/ +(yes|no)" 'list --pmu=NAME: lists its events'
finish
