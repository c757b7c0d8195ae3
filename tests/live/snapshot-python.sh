#!/bin/sh
# Python functions of threads that wait are what Python says of itself.  Other interpreters than the installed one are
# those in CPROF_PYTHONS, separated by spaces.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

P=$CPROF_SOURCE_ROOT/tests/prog/pywaits.py
mkfifo in.keep
exec 9<>in.keep

# waits WAITING MOVING SPINNING COMMAND...: starts pywaits.py with the interpreter COMMAND. Its main
# thread then waits for input. Before that, it waits for its turn among the spinning threads.
waits() {
	waits_args="$1 $2 $3"
	shift 3
	rm -f own.json ready.keep
	# shellcheck disable=SC2086
	"$@" "$P" own.json $waits_args <in.keep >ready.keep 9>&- &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep && wait_for 60 waits_for_input "$pid" ||
		echo "# $* is not ready"
}

waits_for_input() {
	# unshare(1) waits for its child instead
	grep -Eq 'pipe_read|do_wait' "/proc/$1/wchan"
}

# compare NAME EXPRESSION...: the snapshot on stdout with own.json
compare() {
	compare_name=$1
	shift
	check "$compare_name" "$CPROF_SOURCE_ROOT/tests/pywaits.py" own.json out "$@"
}

for python in "$PYTHON" ${CPROF_PYTHONS:-}; do
	version=$("$python" -c 'import platform; print(platform.python_version())')
	waits 40 0 0 "$python"
	run "$CPROF" snapshot -p "$pid" --json
	is "$status" 0 "$version: a snapshot"
	compare "$version: all frames of all waiting threads, with files and lines" 'equal == waiting == 40' \
		'python["threads"] == 41 and not python["unknown"]' "'python $version'.startswith(python['text'])" \
		'labels == {"exact"}' '"_PyEval_EvalFrameDefault" not in native'
	kill -KILL "$pid"
done

waits 5 0 0 "$PYTHON"
run "$CPROF" snapshot -p "$pid" --json --interpreter=mixed
compare 'mixed: with the native frames of the loop' 'equal == 5' '"_PyEval_EvalFrameDefault" in native'
run "$CPROF" snapshot -p "$pid" --json --interpreter=only
compare 'only: with no native frame but the innermost one' 'equal == 5' 'not any(n.startswith("Py") for n in native)'
run "$CPROF" snapshot -p "$pid" --json --interpreter=none
compare 'none: native frames' 'equal == 0' '"_PyEval_EvalFrameDefault" in native' 'labels == {None}' \
	'python == {"threads": 0, "unknown": 0, "text": ""}'
run "$CPROF" snapshot -p "$pid" -o s.pb.gz
like err '^# functions of 6 threads \(python 3\.' 'the terminal says it'
profile 'functions, files and lines are in the file' s.pb.gz "labels('py::stack') == {'exact'}" \
	"{'py::recurse', 'py::wait', 'py::generator'} <= names" \
	"{line for file, line in lines('py::recurse')} == {25}" \
	"'snapshot: functions of 6 threads' in comments"
run "$CPROF" check s.pb.gz
like out '0 errors' 'all tools can read it'
run as_nobody "$CPROF" snapshot -p "$pid" --json
unlike out 'py::recurse' 'others may not see them'
kill -KILL "$pid"

# A child that was forked: its only thread has the parent's id in Python's own list.
"$PYTHON" -c 'import os, sys, time
def in_child(): time.sleep(1000)
pid = os.fork()
if not pid: in_child()
print(pid, flush=True)
sys.stdin.read()' <in.keep >child.keep 9>&- &
tap_pids="$tap_pids $!"
wait_for 60 grep -q . child.keep
child=$(cat child.keep)
tap_pids="$tap_pids $child"
run "$CPROF" snapshot -p "$child"
like out 'at py::in_child' 'a forked child'
kill -KILL "$child"

# Threads that move all the time, and spin: what is shown is possible.
waits 0 6 0 "$PYTHON"
run "$CPROF" snapshot -p "$pid" --json
compare 'moving threads have right stacks' 'not wrong' 'movers + unknown == 6' 'movers > 0'
kill -KILL "$pid"
waits 0 0 2 "$PYTHON"
run "$CPROF" snapshot -p "$pid" --json
compare 'of running threads they are unknown' 'not wrong' 'unknown > 0' 'labels == {"exact", "unknown"}'
run "$CPROF" snapshot -p "$pid" --json --stop=running
compare 'stopped threads have Python functions, too' 'not wrong' 'spinners > 0'
kill -KILL "$pid"

# Another pid namespace: Python knows its threads by other ids.
if [ "$(id -u)" = 0 ] && unshare --pid --fork true 2>/dev/null; then
	waits 5 0 0 unshare --pid --fork --kill-child "$PYTHON"
	child=$(cat "/proc/$pid/task/$pid/children")
	run "$CPROF" snapshot -p "${child% }"
	like out 'functions of 6 threads' 'in another pid namespace'
	like out 'at py::recurse' 'with their functions'
	kill -KILL "$pid"
else
	skip 'in another pid namespace' 'it needs root'
	skip 'with their functions' 'it needs root'
fi

finish
