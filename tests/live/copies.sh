#!/bin/sh
# Stack copies fit into each ring: as large as needed where the reader is in time, even if only a
# few of them fit; smaller for a while after it was late.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# value KEY: of the first object in the file out
value() {
	sed -n "s/.*\"$1\": \\([0-9]*\\).*/\\1/p" out | head -n 1
}

# Stacks of 40 KiB in rings of a machine with 256 CPUs.  The reader may be late on a busy machine.
for attempt in 1 2 3; do
	run "$CPROF" record --json -e cpu-clock --ring-size 256k -o a.pb.gz -- \
		"$PROG/spin" 2500 2500
	echo "# $attempt: copies of $(value stack_bytes), $(value lost_all) lost"
	[ "$(value stack_bytes)" -gt 65000 ] && break
done
is "$(value stack_bytes)" 65528 'copies as large as the stacks need, four to a ring'

run "$CPROF" record --json --scope task -e cpu-clock -o t.pb.gz -- \
	sh -c '"$1" 2500 1500 & "$1" 2500 1500; wait' sh "$PROG/spin"
is "$(value stack_bytes)" 65528 'likewise in the scope task'
profile 'whose processes are sampled before and after the change' t.pb.gz \
	"cum('recurse') > 0.9" 'n > 1000'

start_cprof record --json -v -e cpu-clock --ring-size 512k -o b.pb.gz -- "$PROG/spin" 2500 9000
child=$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)
let_use "$child" 800
kill -STOP "$cprof_pid"
let_use "$child" 300
kill -CONT "$cprof_pid"
end_cprof
check 'a reader that was stopped: samples are lost' test "$(value lost_records)" -gt 0
check 'and the copies halve' test "$(value stack_cuts)" -gt 0
like err 'stack copies on CPU .* 32768 bytes instead of 65528' 'as -v says'
is "$(value stack_bytes)" 65528 'but not for the rest of the recording'
finish
