#!/bin/sh
# What cprof reports about a recording: in the terminal, as JSON, in the file, by its exit status.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record -e cpu-clock -o s.pb.gz -- "$PROG/spin" 3 600
is "$status" 0 'the summary: recorded'
like err 's\.pb\.gz' 'the summary names the file'
like err '[0-9]+ samples' 'the summary says how many samples'
unlike out 'sample' 'stdout belongs to the command'

run "$CPROF" record -q -e cpu-clock -o s.pb.gz -- "$PROG/spin" 3 300
is "$(cat err)" '' '-q: no message'
run "$CPROF" record -v -e cpu-clock -o s.pb.gz -- "$PROG/spin" 3 300
like err 'attr|sample_period|sample_type|period' '-v shows the attr that was opened'
like err 'scope|per cpu|cpu' '-v shows the scope'
like err 'symtab|dwarf|symbol' '-v shows the symbol source that was used'

run "$CPROF" record --json -e cpu-clock,page-faults -o j.pb.gz -- \
	sh -c "'$PROG/pagefaulter' 20000 20 >/dev/null"
is "$status" 0 '--json: recorded'
check '--json: one object, valid' "$PYTHON" -m json.tool out
check '--json: the object has files, samples and losses' "$PYTHON" - out <<'END'
import json, sys
text = open(sys.argv[1]).read()
j = json.loads(text)
assert isinstance(j, dict), j
assert "j.cpu-clock.pb.gz" in text and "j.page-faults.pb.gz" in text, text
assert "samples" in text and "lost" in text, text
END
run "$CPROF" record --json -e cpu-clock -o 'we"ird.pb.gz' -- sh -c "'$PROG/spin' 3 300 >/dev/null"
check '--json: odd names are escaped' "$PYTHON" -m json.tool out
rm -f ./*.pb.gz

run "$CPROF" record --strict -e cpu-clock -o ok.pb.gz -- "$PROG/spin" 3 600
is "$status" 0 '--strict: 0 when nothing was lost'

# cprof cannot read its rings for a while: samples are lost, counted and shown. The test measures
# this time in CPU time of the target, so that it works on a busy machine. lose_some ARG...: records
# the target with these options, with a gap in the middle
lose_some() {
	before=$(cpu_ms "$pid")
	start_cprof record -e cpu-clock -F 20000 --ring-size 64k -o lost.pb.gz -p $pid "$@"
	begun=$(cpu_ms "$pid")
	let_use "$pid" 300
	kill -STOP "$cprof_pid"
	let_use "$pid" 1000
	kill -CONT "$cprof_pid"
	let_use "$pid" 300
	ended=$(cpu_ms "$pid")
	kill -INT "$cprof_pid"
	end_cprof
	after=$(cpu_ms "$pid")
}
background "$PROG/spin" 5 1000000
lose_some --strict
is "$status" 2 '--strict: 2 when samples were lost'
like err 'lost' 'lost samples: the summary says so'
profile 'lost samples: the file says so, and they are a visible frame' lost.pb.gz \
	"re.search('(?i)lost', comments)" "anywhere(r'(?i)^\\[.*lost.*\\]$') > 0.2" \
	"0.7 * ($ended - $begun) < total / 1e6 < 1.15 * ($after - $before)"
lose_some
is "$status" 0 'without --strict lost samples are reported, and the status is 0'
kill $pid

# Missing names: reading the debug information took too long, or it belongs to another file.
run "$CPROF" record -e cpu-clock --symbol-timeout 1ns -o late.pb.gz -- "$PROG/inlines" 60
is "$status" 0 '--symbol-timeout: recorded'
like err '[1-9][0-9]* files? whose debug information took too long' '--symbol-timeout: the summary reports it'
profile '--symbol-timeout: functions of the symbol table without lines' late.pb.gz \
	"path('outermost', 'main') > 0.8" "not any(l > 0 for f, l in lines('main') | lines('outermost'))"
# losses WORD MIN: as in --json
losses() {
	"$PYTHON" -c 'import json, sys
found = []
def walk(x):
    if isinstance(x, dict):
        found.extend(v for k, v in x.items() if k == sys.argv[2])
        for v in x.values():
            walk(v)
walk(json.load(open(sys.argv[1])))
assert len(found) == 1 and found[0] >= int(sys.argv[3]), found' out "$1" "$2"
}
run "$CPROF" record --json -e cpu-clock --symbol-timeout 1ns -o late.pb.gz -- \
	sh -c "'$PROG/inlines' 60 >/dev/null"
check '--symbol-timeout: --json reports it' losses symbol_timeouts 1

cp "$PROG/inlines" linked.keep
objcopy --only-keep-debug linked.keep linked.debug.keep
strip --add-gnu-debuglink=linked.debug.keep -R .note.gnu.build-id linked.keep 2>/dev/null || {
	objcopy --add-gnu-debuglink=linked.debug.keep linked.keep
	strip -R .note.gnu.build-id linked.keep
}
run "$CPROF" record -e cpu-clock -o right.pb.gz -- ./linked.keep 60
unlike err 'debug file belongs to another' 'a matching debug file: no message'
profile 'a matching debug file: inlined calls' right.pb.gz \
	"path('innermost', 'middle', 'outermost', 'main') > 0.8"
echo changed >>linked.debug.keep
run "$CPROF" record -e cpu-clock -o misfit.pb.gz -- ./linked.keep 60
is "$status" 0 'a debug file with another CRC: recorded'
like err '[1-9][0-9]* files? whose debug file belongs to another' 'a debug file with another CRC: the summary reports it'
run "$CPROF" record -v -e cpu-clock -o misfit.pb.gz -- ./linked.keep 60
like err "linked.debug.keep' was not used: its CRC differs" \
	'a debug file with another CRC: -v shows the file and the reason'
profile 'a debug file with another CRC: not used' misfit.pb.gz "not any(lines('main'))" \
	"not anywhere('^innermost\$')"
run "$CPROF" record --json -e cpu-clock -o misfit.pb.gz -- sh -c './linked.keep 60 >/dev/null'
check 'a debug file with another CRC: --json reports it' losses debug_misfits 1
if command -v perf >/dev/null && perf record -q -e cpu-clock -F 999 -o perf.data.keep -- ./linked.keep 60 \
	>/dev/null 2>&1; then
	run "$CPROF" import --symbol-timeout 1ns --json -o misfit.pb.gz perf.data.keep
	check 'import --json reports debug_misfits' losses debug_misfits 1
else
	skip 'import --json reports debug_misfits' 'needs perf'
fi

# a small budget: the totals stay right
limited() {
	run "$CPROF" record -e cpu-clock -F 20000 --max-memory $size -o mem.pb.gz -- "$PROG/manystacks"
	is "$status" 0 "--max-memory $size: recorded"
	used=$(truth)
	profile "--max-memory $size: the total is the CPU time used" mem.pb.gz \
		"0.96 * $used < total < 1.05 * $used"
}
for size in 256M 1M; do
	attempts 3 limited
	if [ $size = 256M ]; then
		unlike err 'dropped|shortened|memory' "--max-memory $size: nothing is dropped"
	else
		like err 'memory' "--max-memory $size: the summary says what was dropped"
		profile "--max-memory $size: the comments of the file say so" mem.pb.gz \
			"re.search('losses:.*memory', comments)"
		check "--max-memory $size: the file is small" test "$(wc -c <mem.pb.gz)" -lt 1000000
	fi
done
run "$CPROF" record --strict -e cpu-clock -F 20000 --max-memory 1M -o mem.pb.gz -- "$PROG/manystacks" 1000
is "$status" 2 '--strict: 2 when stacks were dropped for lack of memory'
finish
