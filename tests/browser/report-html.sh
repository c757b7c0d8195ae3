#!/bin/sh
# The page of report --html in a real browser.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need chromium node objdump
here=$CPROF_SOURCE_ROOT/tests/browser
"$PYTHON" "$here/profiles.py" small "$T" || exit 99
"$PYTHON" "$here/profiles.py" waits "$T" || exit 99
"$PYTHON" "$here/profiles.py" times "$T" || exit 99
"$PYTHON" "$here/profiles.py" deep "$T/deep.pb.gz" || exit 99
"$PYTHON" "$here/profiles.py" tall "$T/tall.pb.gz" || exit 99
"$PYTHON" "$here/profiles.py" narrow "$T/narrow.pb.gz" || exit 99
{ "$CPROF" report --html main.html cpu.pb.gz faults.pb.gz &&
	"$CPROF" report --html diff.html --svg diff.svg --diff base.pb.gz cpu.pb.gz &&
	"$CPROF" report --html waits.html wall.pb.gz cpu.pb.gz &&
	"$CPROF" report --html later.html --diff wall.pb.gz later.pb.gz &&
	"$CPROF" report --html deep.html deep.pb.gz &&
	"$CPROF" report --html tall.html tall.pb.gz &&
	"$CPROF" report --html narrow.html narrow.pb.gz &&
	"$CPROF" report --html times.html times.pb.gz &&
	"$CPROF" report --html hostile.html hostile.pb.gz; } 2>err || {
	cat err
	exit 99
}
if "$PROG/canperf" >/dev/null; then
	"$CPROF" record -q --user -e cpu-clock -o code.pb.gz -- "$PROG/spin" 1 300 &&
		"$CPROF" report --html code.html --disasm code.pb.gz || exit 99
fi
export tap_done=1   # page.js prints the plan
node "$here/page.js" "$T"
