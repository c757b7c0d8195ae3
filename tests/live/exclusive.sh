#!/bin/sh
# --exclusive: one recording after the other, and the state of the machine in the file.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

start_cprof record -q -e cpu-clock --exclusive -o one.pb.gz -- "$PROG/spin" 4 1000000
first=$cprof_pid
"$CPROF" record -e cpu-clock --exclusive -o two.pb.gz -- "$PROG/spin" 4 100 >/dev/null 2>second.keep &
second=$!
waits() {
	grep -q "waiting for the exclusive recording of process $first (.*record.*--exclusive" second.keep
}
check 'the second recording says which process it waits for' wait_for 60 waits
check 'the second recording has no file while it waits' test ! -e two.pb.gz
kill -INT "$first"
wait "$first"
status=0
wait "$second" || status=$?
is "$status" 0 'the second recording runs after the first'
for file in one two; do
	profile "$file: the comments have governor, turbo and SMT state" $file.pb.gz \
		"'exclusive: governor ' in comments and ', turbo ' in comments and ', SMT ' in comments"
done
finish
