#!/bin/sh
# record --timeline: the label time says when each sample was taken, to other tools, too.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# times.py FILE EXPRESSION: t is the sum of values by time in ms
cat >times.py.keep <<'END'
import os, sys
sys.path.insert(0, os.path.join(os.environ["CPROF_SOURCE_ROOT"], "tests"))
import pprof
p = pprof.Profile(sys.argv[1])
t = {}
for _, values, labels in p.samples:
    ms = labels["time"] / 1e6
    t[ms] = t.get(ms, 0) + values[-1]
seconds = p.duration_nanos / 1e9
print(eval(sys.argv[2]))
END
moments() {
	"$PYTHON" times.py.keep "$@" 2>&1 | tail -n 1
}

# Work, a pause of 400 ms, work.
run "$CPROF" record --timeline=10ms -e cpu-clock -o t.pb.gz -- \
	sh -c "'$PROG/phases' s300; sleep 0.4; '$PROG/phases' s300"
is "$status" 0 'a recording with times'
is "$(moments t.pb.gz 'all(ms % 10 == 0 for ms in t) and min(t) < 100')" True 'times are multiples of the step'
is "$(moments t.pb.gz 'max(b - a for a, b in zip(sorted(t), sorted(t)[1:])) >= 300')" True \
	'the pause is a gap between them'
is "$(moments t.pb.gz 'max(t) <= seconds * 1000 and max(t) > 650')" True 'the last one is at the end'
is "$(moments t.pb.gz 'len(p.samples) == len({(tuple(l.id for l in s[0]), tuple(s[2].items())) for s in p.samples})')" \
	True 'no two samples have the same stack and labels'
run "$CPROF" check t.pb.gz
like out "^0 errors, 1 warning" 'the profile is valid, but one reader drops times'
run "$CPROF" report --info t.pb.gz
like out 'timeline: the label time has steps of 10\.0 ms' 'the file names the step'
sum_of() {
	"$CPROF" report --json --limit 0 "$@" t.pb.gz | sed -n 's/.*"flat": \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
check 'report --tag takes a range of time' test "$(sum_of --tag 'time=0:500ms')" -gt 0
check 'which is a part of the whole' test "$(sum_of --tag 'time=0:500ms')" -lt "$(sum_of)"
if command -v go >/dev/null; then
	go tool pprof -top -tagfocus 'time=0s:500ms' t.pb.gz >out 2>err
	shown=$(sed -n 's/.*Showing nodes accounting for [^,]*, \([0-9.]*\)% of .*/\1/p' out)
	like out 'steady_work' 'go tool pprof -tagfocus takes a range of time'
	check 'which is a part of the whole' test "${shown%.*}" -gt 5 -a "${shown%.*}" -lt 95
fi

# More than 600 steps of 1 ms become wider.
run "$CPROF" record --timeline=1ms -e cpu-clock -F 2000 -o w.pb.gz -- "$PROG/phases" s1300
is "$(moments w.pb.gz 'len(t) <= 600 and all(ms % 4 == 0 for ms in t)')" True 'there are at most 600 steps'
is "$(moments w.pb.gz 'any(ms % 8 for ms in t)')" True 'and they are no wider than necessary'

# Each file of a rotation begins at 0; --last keeps the end.
run "$CPROF" record --timeline --switch-output=300ms -e cpu-clock -o r.pb.gz -- "$PROG/phases" s800
n=0
for file in r.*.pb.gz; do
	[ "$(moments "$file" 'max(t) <= seconds * 1000 + 20 and min(t) < 200')" = True ] || n=$((n + 1))
done
is "$n" 0 'the times of each file of a rotation are its own'
run "$CPROF" record --timeline --last 300ms -e cpu-clock -o l.pb.gz -- "$PROG/phases" s1000
is "$(moments l.pb.gz 'max(t) <= seconds * 1000 + 20 and seconds < 0.9')" True 'so are those of --last'

run "$CPROF" record --timeline=5ms --threads 2 -e cpu-clock -o m.pb.gz -- "$PROG/phases" s300 t200
is "$(moments m.pb.gz 'len(t) > 20 and all(ms % 5 == 0 for ms in t)')" True 'several readers use the same steps'
run "$CPROF" record --timeline=10us -e cpu-clock -- true
is "$status" 64 'steps are at least 1 ms long'
run "$CPROF" record --timeline --heap -- true
is "$status" 64 '--timeline cannot be combined with --heap'

# Recordings of perf: a file, read by one thread and by two, and a stream, which announces no times.
imports() {
	run "$CPROF" import --timeline=10ms -o i.pb.gz perf.data
	is "$status" 0 'import --timeline'
	is "$(moments i.pb.gz 'all(ms % 10 == 0 for ms in t) and min(t) == 0 and max(t) <= seconds * 1000')" True \
		'import: times are multiples of the step, from the first sample on'
	is "$(moments i.pb.gz 'max(b - a for a, b in zip(sorted(t), sorted(t)[1:])) >= 300')" True \
		'import: the pause is a gap between them'
	run "$CPROF" report --info i.pb.gz
	like out 'timeline: the label time has steps of 10\.0 ms' 'import: the file names the step'
	"$CPROF" import -q --timeline=10ms --threads 2 -o i2.pb.gz perf.data
	is "$(moments i2.pb.gz 'sorted(t.items())')" "$(moments i.pb.gz 'sorted(t.items())')" \
		'import: two threads find the same times'
	perf record -q -N -e cpu-clock -o - -- "$PROG/phases" s300 2>/dev/null |
		"$CPROF" import -q --timeline=10ms -o p.pb.gz -
	is "$(moments p.pb.gz 'all(ms % 10 == 0 for ms in t) and min(t) == 0 and len(t) > 10')" True \
		'import: a stream has times, too'
	perf record -q -N -i --per-thread --no-timestamp -e cpu-clock -o none.data -- "$PROG/phases" s50 >/dev/null 2>&1
	run "$CPROF" import --timeline none.data
	is "$status" 1 'import: a file without times is refused'
	like err "the samples of 'none.data' have no times" 'import: and the message says so'
}
if command -v perf >/dev/null && perf record -q -N -e cpu-clock -o perf.data -- \
	sh -c "'$PROG/phases' s300; sleep 0.4; '$PROG/phases' s300" >/dev/null 2>&1; then
	imports
fi
rm -f ./*.pb.gz
finish
