#!/bin/sh
# cprof recovers the maps that a full ring loses: here it cannot read its rings while the command
# executes another program.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

start_cprof record -v -e cpu-clock -F 4000 --ring-size 64k -o l.pb.gz -- \
	sh -c "while [ ! -e go ]; do :; done; exec '$PROG/spin' 3 4000"
child=$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)
let_use "$child" 200
kill -STOP "$cprof_pid"
let_use "$child" 500
: >go
wait_for 60 runs "$child" "$PROG/spin"
let_use "$child" 500
kill -CONT "$cprof_pid"
end_cprof
is "$status" 0 'a full ring: recorded'
like err 'samples lost' 'a full ring: the summary reports lost samples'
check 'a full ring: samples of the new program have names and callers' \
	env PYTHONPATH="$CPROF_SOURCE_ROOT/tests" "$PYTHON" - l.pb.gz <<'END'
import sys, pprof
known = unknown = 0
for locations, values, _ in pprof.Profile(sys.argv[1]).samples:
    names = [f.name for l in locations for f, _ in l.lines]
    known += values[0] * ("main" in names)
    unknown += values[0] * ("[unknown]" in names)
assert known > 200 and unknown < known / 10, (known, unknown)
END
finish
