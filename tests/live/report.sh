#!/bin/sh
# Comparing recordings, and the end of a recording on a terminal.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# Different rates are not a difference of the program. Its functions do a known part of the work in
# user code, so all differences are chance.
rates() {
	for hz in 100 1000; do
		run "$CPROF" record -q --user -e cpu-clock -F $hz -o $hz.pb.gz -- "$PROG/serial" 400
		is "$status" 0 "$hz Hz: recorded"
	done
	run "$CPROF" report --diff 100.pb.gz --focus '^[A-J]$' --json 1000.pb.gz
	is "$status" 0 '100 against 1000 Hz: compared'
	check '100 against 1000 Hz: no difference is significant' "$PYTHON" - out <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(rows)
assert len(rows) >= 10 and not any(r["flat"]["significant"] for r in rows)
END
}
attempts 3 rates

# Instructions beside the source
for with in --disasm --no-source; do
	run "$CPROF" report --html page.html $with 1000.pb.gz
	is "$status" 0 "a page $with"
	check "a page $with: it has instructions if they are requested" "$PYTHON" - page.html $with <<'END'
import base64, gzip, re, sys
data = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', open(sys.argv[1]).read()).group(1)))
assert bool(re.search(rb'(ret|b\.\w+|j\w+) ', data) and re.search(rb'(%[re][a-z]|\[sp)', data)) == (sys.argv[2] == '--disasm')
END
done
rm -f page.html

# A program without symbols: instructions are decoded from the begin of each function, although the
# address of a caller is within its call.
if command -v objdump >/dev/null && command -v strip >/dev/null; then
	strip -o stripped.keep "$PROG/spin"
	objdump -d --no-show-raw-insn "$PROG/spin" | sed -nE 's/^ *([0-9a-f]+):\t([^ ]+).*/\1 \2/p' |
		sort >real.keep
	run "$CPROF" record -q --user -e cpu-clock -o stripped.pb.gz -- ./stripped.keep 5 200
	run "$CPROF" report --list 'stripped' --disasm stripped.pb.gz
	like out '[0-9]ms  *[0-9a-f]+  (call|bl) ' '--disasm without symbols: callers have their cost at the call'
	sed -nE 's/^ +[.0-9ms]+ +[.0-9ms]+ +([0-9a-f]+)  ([^ ]+).*/\1 \2/p' out | sort -u >shown
	check '--disasm without symbols: instructions are shown' test -s shown
	comm -13 real.keep shown >wrong
	is "$(cat wrong)" '' '--disasm without symbols: and all are those of the program'
	rm -f shown wrong stripped.pb.gz
else
	skip '--disasm without symbols' 'needs binutils'
fi

# The same recording with an additional function that takes a tenth of the time.
run "$CPROF" report --diff 1000.pb.gz --fail-if 'flat(A) > +2%' 1000.pb.gz
is "$status" 0 '--fail-if: a recording against itself passes'
run "$CPROF" record -q --user -e cpu-clock -o spin.pb.gz -- "$PROG/spin" 5 400
run "$CPROF" report --diff 1000.pb.gz --fail-if 'flat(spin_leaf) > +50%' spin.pb.gz
is "$status" 3 '--fail-if: another program fails with status 3'

if command -v script >/dev/null; then
	script -qec "'$CPROF' record -e cpu-clock -o tty.pb.gz -- '$PROG/serial' 200" /dev/null \
		</dev/null >out 2>&1
	like out '%.* J.?$' 'on a terminal: the hottest functions'
	like out 'cprof report.* tty\.pb\.gz' 'on a terminal: the command that shows more'
else
	skip 'on a terminal: the hottest functions' 'needs script'
fi
finish
