#!/bin/sh
# list shows every event, and whether this user can sample it on this machine.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

run "$CPROF" list
is "$status" 0 'list succeeds'
is "$(cat err)" '' 'list prints nothing to stderr'
for event in cpu-clock task-clock page-faults minor-faults major-faults context-switches \
	cpu-migrations alignment-faults emulation-faults cycles instructions cache-references \
	cache-misses branches branch-misses ref-cycles bus-cycles stalled-cycles-frontend \
	stalled-cycles-backend L1-dcache-load-misses LLC-loads dTLB-load-misses; do
	like out "(^|[ ,])$event([ ,]|\$)" "$event is listed"
done
if [ ! -e /sys/bus/event_source/devices/cpu ] && ! ls -d /sys/bus/event_source/devices/armv8* >/dev/null 2>&1; then
	like out '^ *cycles.*(no |not |PMU)' 'cycles without a PMU: list gives the reason'
else
	skip 'cycles without a PMU: list gives the reason' 'the machine has a PMU'
fi
if "$PROG/canperf" >/dev/null; then
	unlike out '^ *cpu-clock.*(denied|not supported)' \
		'cpu-clock is not listed as denied or unsupported'
fi
run sh -c "'$CPROF' list >/dev/full"
check 'list to a full device fails' test "$status" -ne 0
refused 64 'pony' 'an argument that is not an event' list --pony
finish
