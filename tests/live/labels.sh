#!/bin/sh
# Samples have the requested labels, as strings.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record -e cpu-clock --label team=core --label 'note=a b=c' -o l.pb.gz -- "$PROG/serial" 30
is "$status" 0 '--label: recorded'
profile '--label: every sample has both labels' l.pb.gz \
	"label_share('team', 'core') == 1" "label_share('note', 'a b=c') == 1"

run "$CPROF" record -e cpu-clock --labels pid,tid,thread_name,process_name,cpu,cgroup -o all.pb.gz -- \
	"$PROG/parallel" 30
is "$status" 0 'all built-in labels: recorded'
profile 'all built-in labels: each sample has the right values' all.pb.gz \
	"all({'pid', 'tid', 'thread_name', 'process_name', 'cpu'} <= set(s[2]) for s in p.samples)" \
	"labels('process_name') <= {'parallel'}" "labels('thread_name') >= {'f1', 'f10'}" \
	"labels('cpu') <= {str(i) for i in range($(nproc --all))}" "len(labels('pid')) == 1" \
	"len(labels('tid')) >= 10" "len(labels('cgroup')) <= 1"
profile 'all built-in labels: a tid has one name' all.pb.gz \
	"len({(s[2]['tid'], s[2]['thread_name']) for s in p.samples if s[2]['thread_name'].startswith('f')}) >= 10"
run "$CPROF" record -e cpu-clock --labels cpu -o cpu.pb.gz -- "$PROG/parallel" 30
profile '--labels cpu: samples have only that label' cpu.pb.gz \
	"all(set(s[2]) == {'cpu'} for s in p.samples)"
run "$CPROF" record -e cpu-clock --labels none -o none.pb.gz -- "$PROG/parallel" 20
if [ "$status" -eq 0 ]; then
	profile '--labels none: samples have no labels' none.pb.gz \
		"all(not s[2] for s in p.samples)"
else
	is "$status" 64 '--labels none: an unknown label is a usage error'
	rm -f none.pb.gz
fi
# A server writes what it is doing over its arguments.
cat >title.py.keep <<'END'
import ctypes, sys, time
argc, argv = ctypes.c_int(), ctypes.POINTER(ctypes.POINTER(ctypes.c_char))()
ctypes.pythonapi.Py_GetArgcArgv(ctypes.byref(argc), ctypes.byref(argv))
with open("/proc/self/stat") as f:
    start, end = [int(x) for x in f.read().rsplit(")", 1)[1].split()[45:47]]
def title(text):
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, min(len(text), end - start - 1))
for text in b"server: me SELECT", b"server: me UPDATE":
    title(text)
    until = time.process_time() + 0.5
    while time.process_time() < until:
        pass
END
titles() {
	run "$CPROF" record -e cpu-clock --labels pid,process_title -o title.pb.gz -- \
		"$PYTHON" title.py.keep a-long-argument-that-makes-room
	is "$status" 0 'process_title: recorded'
	profile 'process_title: what the process said that it was doing' title.pb.gz \
		"label_share('process_title', 'server: me SELECT') > 0.25" \
		"label_share('process_title', 'server: me UPDATE') > 0.25" \
		"len(labels('pid')) == 1"
}
attempts 3 titles
run "$CPROF" record -e cpu-clock --labels process_title -o title.pb.gz -- "$PROG/serial" 30
profile 'process_title: the arguments of other programs' title.pb.gz \
	"label_share('process_title', '$PROG/serial 30') > 0.9"

refused 64 'nosuch' 'an unknown built-in label' record -e cpu-clock --labels pid,nosuch -o n.pb.gz -- true

run "$CPROF" record -e cpu-clock -o odd.pb.gz -- /usr/bin/python3 -c '
import ctypes, threading
libc = ctypes.CDLL(None)
def work():
    libc.prctl(15, b"bad\xff\xfename", 0, 0, 0)
    sum(i * i for i in range(4000000))
t = threading.Thread(target=work); t.start(); t.join()'
is "$status" 0 'a thread name that is not UTF-8: recorded'
profile 'a thread name that is not UTF-8 becomes valid text' odd.pb.gz \
	"any(x.startswith('bad') and x.endswith('name') for x in labels('thread_name'))"
finish
