#!/bin/sh
# Files written during a recording: snapshots, rotation, the flight recorder.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# sum EXPRESSION FILE...: what a View of tests/pprof.py has, in all files
cat >sum.py.keep <<'END'
import os, sys
sys.path.insert(0, os.path.join(os.environ["CPROF_SOURCE_ROOT"], "tests"))
import pprof
print(round(sum(eval(sys.argv[1], {"v": pprof.View(pprof.Profile(path))}) for path in sys.argv[2:])))
END
sum() {
	"$PYTHON" sum.py.keep "$@"
}

# Each page fault is one sample, and the ring has room for all of them: the sum reveals losses and
# double counts.
faults() {
	when=$1
	rm -f r.*.pb.gz
	run "$CPROF" record -e page-faults -c 1 --call-graph fp --ring-size 32M \
		--switch-output="$when" -o r.pb.gz -- "$PROG/pagefaulter" 20000 10
	is "$status" 0 "--switch-output=$when: status 0"
	set -- r.*.pb.gz
	check "--switch-output=$when: several files" test $# -ge 2
	check "--switch-output=$when: all file names have time stamps" test ! -e r.pb.gz
	for file in "$@"; do
		profile "--switch-output=$when: $file is complete" "$file" 'n >= 1'
	done
	is "$(sum 'v.cum("touch_pages") * v.total' "$@")" 200000 \
		"--switch-output=$when: the files have each sample once"
}
if is_root; then
	attempts 3 faults 2M
	attempts 3 faults 20ms
else
	skip 'no sample is lost or counted twice' 'so large a ring needs root'
fi
rm -f r.*.pb.gz

# SIGKILL, as of the kernel when memory is short
"$CPROF" record -q -e cpu-clock --switch-output=50ms -o k.pb.gz -- "$PROG/spin" 20 100000 >out.keep 2>&1 &
killed=$!
check 'SIGKILL: parts are written' wait_for 10 sh -c 'set -- k.*.pb.gz; test $# -ge 3'
target=$(pgrep -P $killed spin)
kill -KILL $killed
wait $killed 2>/dev/null
[ -z "$target" ] || kill -KILL "$target"
for file in k.*; do
	check "SIGKILL: $file is complete" "$CPROF" check "$file"
done
rm -f k.*

# Many short parts, on a machine with any load: each has a line of JSON on stdout, even without
# samples and therefore without a file, and nothing is counted twice.
cat >lines.py.keep <<'END'
import glob, json, sys
events = [e for line in open(sys.argv[1]) for e in json.loads(line)["events"]]
assert sorted(e["file"] for e in events if e["file"]) == sorted(glob.glob(sys.argv[2])), events
assert all((e["samples"] > 0) == bool(e["file"]) for e in events)
print(len(events))
END
run "$CPROF" record --json -e page-faults -c 1 --call-graph fp --ring-size 4M --switch-output=200ms \
	-o r.pb.gz -- sh -c "'$PROG/pagefaulter' 20000 50 >&2"
is "$status" 0 'rotation with --json: status 0'
check 'rotation with --json: a line for each file' "$PYTHON" lines.py.keep out 'r.*.pb.gz'
check 'rotation with --json: no sample is counted twice' \
	test "$(sum 'v.cum("touch_pages") * v.total' r.*.pb.gz)" -le 1000000
rm -f r.*.pb.gz

# Names that one part looked up are known to the next ones, although each is written by a process of
# its own.
run "$CPROF" record -vv -e page-faults -c 100 --call-graph fp --switch-output=20ms -o n.pb.gz -- \
	sh -c "'$PROG/pagefaulter' 20000 20 >&2"
is "$status" 0 'names of earlier parts: status 0'
set -- n.*.pb.gz
check 'names of earlier parts: several files' test $# -ge 4
for file in "$2" "$3"; do
	profile "names of earlier parts: $file has names" "$file" 'cum("touch_pages") > 0.5'
done
check 'names of earlier parts: they are looked up once' \
	test "$(grep -c "symbols of '.*/pagefaulter'" err)" -le 2
rm -f n.*.pb.gz

# By signal, keeping a number of files.
background "$PROG/spin" 4 1000000
target=$pid
start_cprof record -e cpu-clock --switch-output --switch-max-files 2 -o s.pb.gz -p "$target"
n_parts() {
	[ "$(grep -c 'samples of' err)" -ge "$1" ]
}
for n in 1 2 3; do
	let_use "$target" 60
	kill -USR2 "$cprof_pid"
	wait_for 60 n_parts $n
done
let_use "$target" 60
kill -INT "$cprof_pid"
end_cprof
is "$status" 0 '--switch-output by signal: status 0'
set -- s.*.pb.gz
is $# 2 '--switch-max-files 2: two files are left'
for file in "$@"; do
	check '--switch-output by signal: the time stamp has 16 digits' \
		sh -c "expr $file : 's\.[0-9]\{16\}\.pb\.gz$'"
	profile "--switch-output by signal: $file is complete" "$file" \
		'n > 5' "cum('recurse') > 0.98"
done

# A snapshot contains everything since the start, and the final file everything.
start_cprof record -e cpu-clock --snapshot-signal=USR1 -o t.pb.gz -p "$target"
for n in 1 2; do
	let_use "$target" 60
	kill -USR1 "$cprof_pid"
	wait_for 60 n_parts $n
done
kill -INT "$cprof_pid"
end_cprof
is "$status" 0 '--snapshot-signal: status 0'
set -- t.2*.pb.gz
is $# 2 '--snapshot-signal: two snapshots'
check '--snapshot-signal: the second snapshot has more samples' \
	test "$(sum v.n "$2")" -gt "$(sum v.n "$1")"
check '--snapshot-signal: the final file has the most samples' \
	test "$(sum v.n t.pb.gz)" -ge "$(sum v.n "$2")"

# The flight recorder discards old samples: of a long A before a shorter B, only B remains.
flight() {
	background "$PROG/alternate" 1 1500
	run "$CPROF" record -e cpu-clock --last 300ms -o l.pb.gz -p "$pid"
	is "$status" 0 '--last: status 0'
	profile '--last: the profile has only the end of the recording' l.pb.gz \
		'n > 5' "cum('A') == 0" "cum('B') > 0.9" \
		'total < 1e9' 'p.duration_nanos < 0.8e9'
}
attempts 3 flight

# A condition that any running process meets, and an impossible one.
rm -f c.*.pb.gz
start_cprof record -e cpu-clock --last 300ms --trigger 'cpu > 1%' -o c.pb.gz -p "$target"
wait_for 60 n_parts 1
kill -INT "$cprof_pid"
end_cprof
set -- c.2*.pb.gz
is $# 1 '--trigger writes once while the condition holds'
like err '^--trigger cpu > 1%: it is [0-9]+ %$' \
	'--trigger: cprof reports the value that met the condition'
profile '--trigger: the file has samples' "$1" 'n > 1'
start_cprof record -e cpu-clock --trigger 'rss>100G' -o d.pb.gz -p "$target"
sleep 0.7
kill -INT "$cprof_pid"
end_cprof
check '--trigger: no file while the condition does not hold' sh -c '! ls d.2*.pb.gz'
finish
