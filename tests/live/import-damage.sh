#!/bin/sh
# Damaged perf.data: cprof imports the readable part, prints a clear error, and exits with status 1.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need perf
perf record -q -N --no-bpf-event -o small.keep -e cpu-clock -F 499 -g -- "$PROG/serial" 5 >perf.keep 2>&1 ||
	skip_all 'perf record does not work here'
check 'cut off at each record and section, bits flipped in each field of the header' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/damage.py" "$CPROF" small.keep "$T"
rm -f damaged.*

# the same with two events, whose records have ids
perf record -q -N --no-bpf-event -o two.keep -e cpu-clock,task-clock -F 299 -- "$PROG/serial" 5 >perf.keep 2>&1
check 'two events: cut off at each record and section, bits flipped in the header' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/damage.py" "$CPROF" two.keep "$T"
rm -f damaged.*
finish
