#!/bin/sh
# Python functions in waits: read while the thread waits, and only then.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

"$PYTHON" "$CPROF_SOURCE_ROOT/tests/prog/pysleeps.py" >ready.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q ready ready.keep

run "$CPROF" record -e off-cpu --duration 2 -o o.pb.gz -p "$pid"
is "$status" 0 'recorded'
profile 'waits have Python functions' o.pb.gz "label_share('py::stack', 'exact') > 0.5" \
	"{'py::sleep_300', 'py::sleep_60', 'py::outer', 'py::callback', 'py::one_of_two'} <= names" \
	"cum('py::sleep_300') > 0.3" "cum('py::<module>') > 0.2"
profile 'with files and lines, called by whom they are' o.pb.gz \
	"all(f.endswith('/pysleeps.py') and n == 7 for f, n in lines('py::sleep_300'))" \
	"not path('_PyEval_EvalFrameDefault', 'py::sleep_300')" \
	"{r[0][r[0].index('py::sleep_300') + 1] for r in rows if 'py::sleep_300' in r[0]} == {'py::outer', 'py::one_of_two'}"
run "$CPROF" record -e off-cpu --duration 1 -o n.pb.gz --interpreter=none -p "$pid"
profile 'none: native stacks' n.pb.gz "not any(n.startswith('py::') for n in names)" "cum('_PyEval_EvalFrameDefault') > 0.9" \
	"labels('py::stack') <= {None}"
run "$CPROF" record -e off-cpu --duration 1 -o only.pb.gz --interpreter=only -p "$pid"
profile 'only: nothing else, but where the thread waits' only.pb.gz "label_share('py::stack', 'exact') > 0.5" \
	"all(len([n for n in r[0] if not n.startswith('py::')]) == 1 for r in rows if 'py::stack' in r[2])"
run "$CPROF" record -e wall --duration 1 -o w.pb.gz -p "$pid"
profile 'wall: the same' w.pb.gz "label_share('py::stack', 'exact') > 0.5" "cum('py::sleep_300') > 0.2"

# A worker with an empty queue is idle; one that waits for a condition of its own is not known to be.
background "$PYTHON" -c '
import queue, threading
def wait(): c = threading.Condition(); c.acquire(); c.wait()
threading.Thread(target=queue.Queue().get, name="worker").start()
threading.Thread(target=wait, name="own").start()'
wait_for 60 test -d "/proc/$pid"
sleep 0.5
run "$CPROF" record -e off-cpu --duration 1 -o q.pb.gz -p "$pid"
profile 'a worker that waits for its queue is idle' q.pb.gz \
	"all(r[2].get('idle') == ('pool' if 'py::Queue.get' in r[0] else None) for r in rows)" \
	"cum('py::Queue.get') > 0.3" "cum('py::wait') > 0.3"

# Shorter waits end before they are read.
background "$PYTHON" -c '
import time
def short():
    while True:
        time.sleep(0.001)
short()'
wait_for 60 runs "$pid" "$(readlink -f "$(command -v "$PYTHON")")"
sleep 0.3
run "$CPROF" record -e off-cpu --duration 0.5 -o short.pb.gz -p "$pid"
like err "without Python functions: 'cprof snapshot --repeat' shows" 'short waits: the summary says what helps'
short_waits() {
	run "$CPROF" snapshot --repeat 50 --every 10ms -o snap.pb.gz -p "$pid"
	profile 'it does' snap.pb.gz "cum('py::short') > 0.25"
}
attempts 3 short_waits
finish
