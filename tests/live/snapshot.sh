#!/bin/sh
# Snapshots of threads whose stacks are known: each one is right, and the program notices nothing.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

check_json() {
	check_json_name=$1
	shift
	check "$check_json_name" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" "$@"
}

mkfifo in.keep
exec 9<>in.keep

# blocked PROGRAM N [MOVERS [SPINNERS]]: in the background, until its threads are where they stay
blocked() {
	rm -f ready.keep
	"$@" <in.keep >ready.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep || echo "# $1 is not ready"
}

# How many system calls of the program were interrupted.
eintr() {
	echo >&9
	wait_for 20 grep -q eintr ready.keep
	sed -n 's/^eintr //p' ready.keep | tail -n 1
}

blocked "$PROG/blocked" 20 5
run "$CPROF" snapshot -p "$pid" --json
is "$status" 0 'a snapshot'
cp out one.json
check_json 'all stacks are right' one.json 'len(entries) == 26' 'not wrong' \
	'sum(e["name"] != "mover" for e in known) == 21' \
	'all(count(k) == 1 for k in KINDS)' 'count("mover") == 5'
check_json 'what threads wait on' one.json \
	'of("epoll")[0]["labels"]["syscall"] in ("epoll_wait", "epoll_pwait")' \
	'"eventpoll" in of("epoll")[0]["labels"]["wait_on"]' \
	'"pipe:" in of("read")[0]["labels"]["wait_on"] and "pipe:" in of("poll")[0]["labels"]["wait_on"]' \
	'of("futex")[0]["labels"]["wait_on"].startswith("futex 0x")' \
	'of("waitpid")[0]["labels"]["wait_on"].startswith("process ")' \
	'of("vfork")[0]["labels"]["state"] == "disk sleep"' \
	'all(e["labels"]["state"] == "sleeping" for k in KINDS[:-1] for e in of(k) if "state" in e["labels"])'
check_json 'what moved is marked' one.json \
	'all(e["quality"] in ("exact", "heuristic") for k in KINDS for e in of(k))'
is "$(eintr)" 0 'no system call was interrupted'

# All but the movers have waited since they were ready.
sleep 0.3
run "$CPROF" snapshot -p "$pid" --older-than 200ms --json
# the main thread has just answered
check_json 'only threads that wait for long' out 'all(count(k) == 1 for k in KINDS)' 'not wrong' \
	'not of("mover")' 'len(entries) + file["n_short"] == 26' \
	'all(e["wait_ns"] >= 200e6 for e in entries)'
run "$CPROF" snapshot -p "$pid" --older-than 1h
is "$status" 0 'no thread waits for an hour'
like out '^# 0 threads' 'nothing is shown'
like out '^# left out: 26 that have not been waiting for that long' 'the others are counted'
run "$CPROF" snapshot -p "$pid" --older-than 200ms -o old.pb.gz
profile 'a profile of those, whose comments count the others' old.pb.gz 'n in (20, 21)' \
	"'more threads not waiting for 0.200 s yet' in comments"

run "$CPROF" snapshot -p "$pid" -o s.pb.gz
is "$status" 0 'a profile'
profile 'one sample for each thread, with numbers as labels' s.pb.gz \
	"p.sample_types == [('threads', 'count'), ('wait', 'nanoseconds')]" \
	'len(p.samples) == 26 and n == 26' \
	"labels('snapshot') <= {'exact', 'moved', 'heuristic', 'running', 'unknown'}" \
	"'epoll_wait' in labels('syscall') or 'epoll_pwait' in labels('syscall')" \
	"{'futex', 'read', 'vfork'} <= labels('thread_name')" \
	"'no thread was stopped' in comments and 'read within' in comments"
like err 'threads, read within .* none was stopped' 'the terminal says how long it took'
run "$CPROF" check s.pb.gz
like out '^0 errors, 1 warning$' 'all tools can read it'
like out "label 'wait' is a number and is dropped .pyroscope" 'except that one of them drops numbers'

run "$CPROF" snapshot -p "$pid"
like out '^"epoll" tid [0-9]+, sleeping for about .* in epoll_p?wait, on fd [0-9]+ ' 'the text is the default'
like out '^    at in_epoll \(.*blocked.c:[0-9]+\)' 'with files and lines'
run "$CPROF" snapshot -p blocked -q --fold
is "$status" 0 'a target by its name'
run "$CPROF" snapshot -t "$pid" --json
is "$("$PYTHON" -c 'import json; print(len(json.load(open("out"))["entries"]))')" 1 'a single thread'

run "$CPROF" snapshot -p "$pid" --repeat 5 --every 10ms -o r.pb.gz --fold
is "$status" 0 'several snapshots'
like out '^# 5 snapshots, which saw 130 threads' 'all of them are counted'
like out '^# 21 threads did not move' 'those that did not move are known'
unlike out '^"mover"' 'and no others'
profile 'all are in the file' r.pb.gz 'n == 130'
is "$(eintr)" 0 'still no system call was interrupted'

for which in running all; do
	run "$CPROF" snapshot -p "$pid" --stop=$which --json
	check_json "--stop=$which: all stacks are right" out 'len(entries) == 26' 'not wrong'
done
check_json '--stop=all: with all registers, every stack is exact' out \
	'quality["exact"] + quality["running"] >= 24'
check '--stop=all interrupts calls, as the manual says' test "$(eintr)" -gt 0

# Stopped by others.
kill -STOP "$pid"
wait_for 20 grep -q '^State:.T' "/proc/$pid/status"
run "$CPROF" snapshot -p "$pid" --json
check_json 'a stopped process: its stacks are shown' out 'len(entries) == 26' 'not wrong'
kill -CONT "$pid"
kill -KILL "$pid"

# Threads that run.
blocked "$PROG/blocked" 0 0 2
run "$CPROF" snapshot -p "$pid" --json
check_json 'running threads have stacks, or are marked' out 'len(entries) == 3' 'not wrong' \
	'all(e["quality"] in ("running", "unknown") for e in of("spinner"))'
run "$CPROF" snapshot -p "$pid" --stop=running --json
check_json 'stopped instead, they have theirs' out 'not wrong' \
	'all(e["quality"] == "running" for e in of("spinner"))'
kill -KILL "$pid"

# Traced by others.
blocked "$PROG/blocked" 19
"$PROG/tracer" "$pid" >tracer.keep &
tracer=$!
tap_pids="$tap_pids $tracer"
wait_for 20 grep -q attached tracer.keep
sleep 0.2
run "$CPROF" snapshot -p "$pid" --json
check_json 'beside a tracer: the same' out 'len(entries) == 20' 'not wrong'
run "$CPROF" snapshot -p "$pid" --stop=all --json
check_json 'beside a tracer no thread can be stopped, and all are read as they wait' out \
	'len(entries) == 20' 'not wrong' 'right >= 19' 'file["n_not_stopped"] >= 19' \
	"file[\"tracer\"] == $tracer"
run "$CPROF" snapshot -p "$pid" --stop=all
like out "^# not stopped: [12][0-9] threads, because process $tracer 'tracer' traces them" 'and says why'
run "$CPROF" snapshot -p "$pid" --stop=all -q -o t.pb.gz
run "$CPROF" report --info t.pb.gz
like out "could not be stopped: process $tracer 'tracer' traces them" 'so does the profile'
kill "$tracer"
wait "$tracer" 2>/dev/null
kill -KILL "$pid"

# A thousand, and movers among them.
blocked "$PROG/blocked" 1000 50
run "$CPROF" snapshot -p "$pid" --json
check_json '1000 threads: all are right' out 'not wrong' 'len(entries) == 1051' \
	'sum(e["quality"] == "unknown" for e in entries) <= 5'
is "$(eintr)" 0 '1000 threads: no system call was interrupted'
kill -KILL "$pid"

refused 1 'no process' 'a process that has ended' snapshot -p "$(unused_pid)"
refused 64 'no target' 'no target' snapshot
refused 64 'cannot be combined' 'two outputs' snapshot -p 1 --text --json
refused 64 'needs --repeat' '--every alone' snapshot -p 1 --every 1s
refused 64 'cannot be combined with --stop' 'waits of stopped threads' snapshot -p 1 --older-than 1s --stop=all
refused 64 'unexpected argument' 'a command' snapshot -p 1 ls
finish
