#!/bin/sh
# Python functions in samples of threads that run: stacks that the program can have, and no others.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

start_ready "$PYTHON" "$CPROF_SOURCE_ROOT/tests/prog/pygrammar.py" 400

record_pid a.pb.gz 4
cp "$T/out" a.json
run "$PYTHON" -c 'import json
j = json.load(open("a.json"))
n = j["functions_exact"] + j["functions_remembered"] + j["functions_innermost"]
assert (n > j["functions_unknown"] >= 0 and j["functions_of"].startswith("python 3.") and
        j["functions_refused"] is None and j["functions_ns"] > 0 and j["functions_lag_ns"] > 0 and
        j["functions_step_ns"] > 0)'
is "$status" 0 "the summary has their shares"
check "stacks are possible ones, with their lines" \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pygrammar.py" a.pb.gz \
	'wrong <= 0.005 * samples' 'complete >= 0.5 * samples' 'native <= 0.4 * samples' \
	'set(labels) <= {"exact", "remembered", "innermost", "unknown", None}' \
	'lineless <= 0.005 * samples' \
	'labels["exact"] and labels["remembered"] and labels["exact"] + labels["remembered"] <= complete + innermost' \
	'lines["leaf"] <= {2, 3, 4, 5, 6} and lines["c"] <= {8, 9, 10} and lines["b"] <= {12, 13, 14} and lines["a"] <= {16, 17, 18}'

record_pid only.pb.gz 2 --interpreter=only
profile 'only: and one native function at most' only.pb.gz "label_share('py::stack', 'unknown') < 0.5" \
	"all(len([n for n in r[0] if not n.startswith(('py::', '[callers'))]) <= 1 for r in rows if r[2].get('py::stack') in ('exact', 'remembered'))"
record_pid none.pb.gz 1 --interpreter=none
profile 'none: native stacks' none.pb.gz "not any(n.startswith('py::') for n in names)" \
	"cum('_PyEval_EvalFrameDefault') > 0.9" "labels('py::stack') <= {None}"
record_pid mixed.pb.gz 2 --interpreter=mixed
profile 'mixed: the loop, too' mixed.pb.gz \
	"through('^py::', '^_PyEval_EvalFrameDefault') > 0.5"

profile 'the lock is held in the loop itself' a.pb.gz "label_share('py::gil', 'held') > 0.1" \
	"labels('py::gil') <= {'held', None}" \
	"all(any(n.startswith('py::') for n in r[0]) for r in rows if r[2].get('py::gil') == 'held' and r[2]['py::stack'] != 'unknown')"
cat >lock.py <<'EOF'
import os, threading
def spin():
    while True:
        sum(k * 0.5 for k in range(1000))
def read():
    with open("/dev/zero", "rb", buffering=0) as f:
        while True:
            f.read(4096)
for f in spin, read:
    threading.Thread(target=f, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
EOF
start_ready "$PYTHON" lock.py
run "$CPROF" record -e cs -c 1 --duration 1 -o lock.pb.gz -p "$pid"
profile 'a switch in the function that waits for the lock' lock.pb.gz "label_share('py::gil', 'waiting') > 0.1"
kill -KILL "$pid"

start_ready "$PYTHON" "$CPROF_SOURCE_ROOT/tests/prog/pymixed.py"
record_pid calls.pb.gz 2
profile 'functions that C calls have the right callers' calls.pb.gz \
	"sum(r[1] for r in rows if r[2].get('py::stack') in ('exact', 'remembered') and 'py::work' in r[0] and any(('py::' + a in r[0]) != ('py::' + b in r[0]) for a, b in [('in_sort', 'key'), ('in_re', 'replacement'), ('in_sqlite', 'callback'), ('in_ctypes', 'foreign'), ('in_generator', 'numbers')])) <= 0.005 * sum(r[1] for r in rows)" \
	"label_share('py::stack', 'innermost') < 0.2"

start_ready "$PYTHON" "$CPROF_SOURCE_ROOT/tests/prog/pytree.py"
record_pid tree.pb.gz 4
check "a large program: callers are known, although few stacks come twice" \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pytree.py" tree.pb.gz \
	'known >= 0.1 * samples' 'wrong <= 0.02 * known'

cat >many.sh <<'EOF'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	"$PYTHON" -c 'import time
def spin():
    while time.process_time() < 0.1: sum(range(100))
spin()'
done
EOF
run env PYTHON="$PYTHON" XDG_CACHE_HOME="$T/many" "$CPROF" record -e cpu-clock -o many.pb.gz -- sh many.sh
is "$status" 0 'many short processes'
check 'processes of a file learn together where its interpreter keeps things' \
	sh -c 'ls "$1"/many/cprof/interpreter-*' - "$T"

cat >launch.sh <<'EOF'
#!/bin/sh
i=0
while [ $i -lt 30000 ]; do i=$((i + 1)); done
exec "$PYTHON" -c 'import time
def spin():
    while time.process_time() < 2: pass
spin()'
EOF
run env PYTHON="$PYTHON" "$CPROF" record -e cpu-clock -o launched.pb.gz -- sh launch.sh
is "$status" 0 'a launcher, which executes Python later'
profile 'the program that a launcher executes is searched for an interpreter at once' \
	launched.pb.gz "cum('py::spin') > 0.8"

# Only the memory at the sample says which of four functions has called the one that runs.
callers() {
	run "$CPROF" record -v -e cpu-clock -F 999 -o callers.pb.gz "$@" -- \
		"$PYTHON" "$CPROF_SOURCE_ROOT/tests/prog/pycallers.py" 3
	is "$status" 0 "callers of equal frames $*"
}
copied() {
	callers
	profile 'the kernel copies the memory at each sample: callers are right' callers.pb.gz \
		"part(lambda r: r[2].get('py::stack') in ('exact', 'remembered')) > 0.93" \
		"abs(cum('py::way1') - 0.1) < 0.04" "abs(cum('py::way2') - 0.2) < 0.05" \
		"abs(cum('py::way3') - 0.3) < 0.05" "abs(cum('py::way4') - 0.4) < 0.06"
}
callers --no-bpf
unlike err 'the kernel copies it' '--no-bpf: no memory is copied'
callers
if grep -q 'memory of interpreters: the kernel copies it' err; then
	attempts 3 copied
else
	skip 'the kernel copies the memory at each sample: callers are right' 'bpf(2) is not allowed'
fi

finish
