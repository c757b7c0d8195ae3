#!/bin/sh
# Functions of JavaScript have names, files and lines without any flag: interpreted, compiled, and
# closures that are garbage soon.  NODE is the program that runs them.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
NODE=${NODE:-node}
need "$NODE"
js=$CPROF_SOURCE_ROOT/tests/prog/js

record() {
	run "$CPROF" record -e cpu-clock -F 999 --user -v -o n.pb.gz "$@"
}
line() {
	grep -n "$1" "$js/spin.js" | cut -d: -f1
}

spinning() {
	record -- "$NODE" "$js/spin.js" 2000
	is "$status" 0 'a program that is compiled soon: recorded'
	profile 'compiled functions have names' n.pb.gz "leaf('^(loop|round|once)\$') > 0.3" \
		"anywhere('^fib\$') > 0.05" "anywhere(r'^\\[jit\\]') < 0.01"
	profile 'all stacks reach a root' n.pb.gz "roots('^(_start|clone3?|__clone.*)\$') > 0.97"
}
attempts 3 spinning
profile 'interpreted functions are the callers' n.pb.gz "through('^once\$', '^.anonymous spin.js:1.\$') > 0.8" \
	"through('^Module._compile\$|anonymous loader', '^Module._extensions..js\$|anonymous loader') > 0.8"
profile 'a builtin, its caller that is inlined, and the closure that it calls are in one stack' n.pb.gz \
	"through('Sort', '^fill\$', '^once\$') > 0.02" "through('^.anonymous spin.js:35', '(Sort|Merge)') > 0.005"
profile 'files and lines are known' n.pb.gz \
	"any(f.name == 'fib' and f.start_line == $(line 'function fib') and f.file == '$js/spin.js' for f in p.functions.values())" \
	"any(f == '$js/spin.js' and abs(l - $(line 'result ^= once')) <= 1 for f, l in lines('(anonymous spin.js:1)'))"
like err 'code of V8 [0-9.]+ in process [0-9]+: [0-9]+ addresses with names' '-v says so'

record --runtime-names=off -- "$NODE" "$js/spin.js" 500
is "$status" 0 '--runtime-names=off: recorded'
profile 'nothing is read then' n.pb.gz "anywhere(r'^\\[jit\\]') > 0.3" "not anywhere('^fib\$')"

closures() {
	record --labels thread_name -- "$NODE" "$js/closures.js" 800
	is "$status" 0 'closures that live for 2 ms: recorded'
	profile 'no sample has the name of another one' n.pb.gz "anywhere('^work[0-9]') > 0.5" \
		"agree('thread_name', r'(work\\d+)\$') == 1"
	profile 'nearly all have names' n.pb.gz "anywhere(r'^\\[jit\\]') < 0.08"
}
attempts 3 closures

cat >waits.js.keep <<'END'
function waiter() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000); }
function caller() { waiter(); }
caller();
END
"$NODE" waits.js.keep &
program=$!
waiting() {
	run "$CPROF" snapshot -p "$program"
	grep -q 'at caller (.*waits.js.keep:2)' out
}
check 'a snapshot has the functions of a thread that waits' wait_for 20 waiting
like out 'at waiter .*waits.js.keep:1' 'with their lines'
kill "$program"

# A thread that executes compiled JavaScript.
"$NODE" "$js/spin.js" 60000 >/dev/null &
program=$!
let_use "$program" 1000
spins() {
	run "$CPROF" snapshot -p "$program" --json
	"$PYTHON" - <<-'END'
	import json
	main = [e for e in json.load(open("out"))["entries"] if e["tid"] == e["pid"]][0]
	names = [f["function"] for f in main["frames"]]
	print(main["labels"]["snapshot"], *names)
	assert main["labels"]["state"] == "running"
	assert names[-1] == "_start" and "(anonymous spin.js:1)" in names and "Module._compile" in names
	assert set(names) & {"loop", "round", "once", "fib", "fill"} and "[truncated]" not in names
	END
}
# between two rounds the program is in a function of Node
check 'a snapshot of a thread that runs has its functions, up to the root' wait_for 20 spins
kill "$program"

# The program writes its map to a file that cprof does not find.
"$NODE" --perf-basic-prof "$js/spin.js" 60000 >/dev/null &
program=$!
check 'a program writes its map' wait_for 20 test -s "/tmp/perf-$program.map"
hidden=/tmp/cprof-test.$program.map
mv "/tmp/perf-$program.map" "$hidden"
let_use "$program" 1000		# until V8 has compiled all of it
record --duration=2 -p "$program"
kill "$program"
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/tools/jsmap.py" n.pb.gz "$hidden" >equal.txt 2>differ.txt
rm -f "$hidden"
cat equal.txt differ.txt | sed 's/^/# /' | head -n 10
check 'compiled functions have the names and lines that V8 itself writes' \
	awk '{ exit !($2 > 500 && $8 == 0 && $4 >= 0.99 * $2) }' equal.txt

record -- "$NODE" --perf-basic-prof "$js/spin.js" 500
profile 'names of a perf map come first' n.pb.gz "anywhere('^JS:.fib .*spin.js') > 0.02"
finish
