#!/bin/sh
# The maximum depth of stacks, deeper stacks, and the reported ends of stacks.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

set -- "$PROG"/truth/truth-*-O2
[ -x "$1" ] || skip_all 'needs a compiler'
program=$1

run "$CPROF" record -q --json -e cpu-clock -F 1000 --max-depth=100 -o d.pb.gz -- "$program" deep 200
is "$status" 0 '--max-depth: recorded'
check '--max-depth: deeper stacks begin with [truncated] and keep their innermost frames' \
	env PYTHONPATH="$CPROF_SOURCE_ROOT/tests" "$PYTHON" - d.pb.gz <<'END'
import sys, pprof
n_cut = 0
for locations, values, _ in pprof.Profile(sys.argv[1]).samples:
    user = [l for l in locations if not (l.mapping and l.mapping.file.startswith("[kernel"))]
    assert len(user) <= 101, len(user)
    if user and user[-1].lines and user[-1].lines[0][0].name == "[truncated]":
        n_cut += values[0]
        name = user[0].lines[0][0].name
        assert len(user) != 101 or name == "leaf" or name.startswith("deep"), name
assert n_cut > 50, n_cut
END
check '--max-depth: --json has the number of truncated stacks and their file' \
	"$PYTHON" - out <<'END'
import json, sys
j = json.loads(open(sys.argv[1]).read().splitlines()[-1])
assert j["stack_ends"]["depth limit"] > 50, j["stack_ends"]
at = [f for f in j["stack_ends_by_file"] if f.get("depth limit", 0) > 50]
assert at and "/truth/truth-" in at[0]["file"], j["stack_ends_by_file"]
END
run "$CPROF" record -v -e cpu-clock -F 1000 --max-depth=100 -o d.pb.gz -- "$program" deep 200
like err '[0-9]+ depth limit' '--max-depth: -v shows the number'
like err 'stacks truncated' '--max-depth: the summary reports truncated stacks'

run "$CPROF" record -q --json -e cpu-clock -F 1000 -o d.pb.gz -- "$program" deep 400
check 'without --max-depth a recursion of 10 000 frames is complete' \
	env PYTHONPATH="$CPROF_SOURCE_ROOT/tests" "$PYTHON" - d.pb.gz <<'END'
import sys, pprof
longest = 0
for locations, values, _ in pprof.Profile(sys.argv[1]).samples:
    if locations[-1].lines and locations[-1].lines[0][0].name != "[truncated]":
        longest = max(longest, len(locations))
assert longest > 10000, longest
END
for bad in 0 -1 x 1000001; do
	run "$CPROF" record "--max-depth=$bad" -- true
	is "$status" 64 "--max-depth=$bad is refused"
done

# A function that touches a page of its stack for the first time has nothing to be copied: no copy
# would be long enough.
run "$CPROF" record -v -e page-faults -c 1 -o d.pb.gz -- "$PROG/grows"
like err 'ends:.* [0-9]{3} no stack' 'a growing stack: the end is reported as what it is'
unlike err '[0-9]{2} stacks truncated' 'and not as longer than the copy'

# where the size of copies does not change
run "$PYTHON" "$CPROF_SOURCE_ROOT/tests/truth.py" -s task \
	"$program:deep,bigs,allocas,alarms-alt"
is "$status" 0 'scope task: the same stacks are complete'
finish
