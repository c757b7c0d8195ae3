#!/bin/sh
# cprof stat: counts of a command, of processes and threads, of all CPUs; exit status, runs, output.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# json EXPRESSION [FILE]: of the object s and its events by name, e
json() {
	"$PYTHON" -c '
import json, sys
s = json.load(open(sys.argv[2]))
e = {x["name"]: x for x in s.get("events", [])}
print(eval(sys.argv[1]))' "$1" "${2:-out}" 2>&1
}

# ---- a command -----------------------------------------------------------------------------

run "$CPROF" stat --json -o faults.keep -e task-clock,page-faults:u,minor-faults:u,major-faults:u -- \
	"$PROG/pagefaulter" 5000
is "$status" 0 'a command is counted'
n=$(sed -n 's/^faults //p' out)
is "$(json "abs(e['page-faults:u']['value'] - $n) < 100" faults.keep)" True \
	"its page faults are those that it counted itself, except those of the kernel: $n"
# A fault that waited for its page or for a lock is a major one.
is "$(json "e['page-faults:u']['value'] - e['minor-faults:u']['value'] - e['major-faults:u']['value']" \
	faults.keep)" 0 'three events count the same'
is "$(json "e['task-clock']['unit'], e['task-clock']['counted_percent']" faults.keep)" \
	"('nanoseconds', 100)" 'the clock ran all the time'
is "$(json "abs(e['task-clock']['value'] - s['user_ns'] - s['system_ns']) < 20e6" faults.keep)" True \
	'the clock agrees with the accounts of the kernel'
is "$(json "abs(e['task-clock']['cpus'] * s['elapsed_ns'] / e['task-clock']['value'] - 1) < 1e-6" faults.keep)" \
	True 'how many CPUs it used'

run "$CPROF" stat -e page-faults:u -- "$PROG/pagefaulter" 5000
like err "^Counts of '.*pagefaulter 5000':\$" 'the text says of what'
like err '^ +5,[0-9]{3} +page-faults:u +[0-9.]+ [KM] per second$' 'a count with its rate, in columns'
like err '^ +[0-9.]+ s +elapsed$' 'and how long it took'
unlike err ' $' 'no line ends in blanks'
like out '^touched 5000$' 'stdout belongs to the command'

# Each thread ends before a sample could be taken of it, and is counted nevertheless.
run "$CPROF" stat --json -o threads.keep -e task-clock,page-faults:u -- "$PROG/shortthreads" 2000 20
# The kernel leaves out the end of each thread, some 10 us.
is "$(json "0.5 < e['task-clock']['value'] / (s['user_ns'] + s['system_ns']) < 1.1" threads.keep)" True \
	'threads of 20 us each are counted'
# On a busy machine, creating a thread takes the first one longer than 20 us.
run "$CPROF" stat --json -o one.keep --no-inherit -e task-clock -- "$PROG/shortthreads" 500 500
is "$(json "e['task-clock']['value'] < 0.5 * (s['user_ns'] + s['system_ns'])" one.keep)" True \
	'--no-inherit leaves them out'

run "$CPROF" stat -e task-clock -- sh -c 'exit 7'
is "$status" 7 'the exit status of the command is passed on'
run "$CPROF" stat -e task-clock -- sh -c 'kill -TERM $$'
is "$status" 143 'a command killed by a signal: 128 + signal'
run "$CPROF" stat -- ./no-such-command
is "$status" 127 'command not found: status 127'
like err 'no-such-command.*: No such file' 'and says so'
echo x >plain.keep
run "$CPROF" stat -- ./plain.keep
is "$status" 126 'command not executable: status 126'

# ---- runs ------------------------------------------------------------------------------------

run "$CPROF" stat -r 4 --json -e page-faults:u -- sh -c 'echo run'
is "$(grep -c '^run$' out)" 4 '-r runs the command again'
grep -v '^run$' out >runs.keep
is "$(json "s['runs'], len(e['page-faults:u']['runs'])" runs.keep)" '(4, 4)' 'with a value of each run'
is "$(json "abs(sum(e['page-faults:u']['runs']) / 4 - e['page-faults:u']['value']) < 1e-6" runs.keep)" True \
	'and their mean'
run "$CPROF" stat -r 3 -e task-clock -- sh -c 'exit 3'
is "$status" 3 '-r: the first status that is not 0'
like err 'means of 3 runs' '-r: the text says so'
like err 'task-clock .* \+- [0-9.]+ %$' '-r: and how sure the means are'

# ---- processes and threads ------------------------------------------------------------------

background "$PROG/spin" 2 100000
spin=$pid
run "$CPROF" stat --json -e task-clock -p "$spin" --duration 0.3
is "$(json "0 < e['task-clock']['value'] <= s['elapsed_ns'] * 1.02")" True 'a running process, for a time'
run "$CPROF" stat --json -e task-clock -p spin -- sleep 0.2
is "$status $(json "e['task-clock']['value'] > 0 and s['elapsed_ns'] > 190e6")" '0 True' \
	'a process by its name, while a command runs'
run "$CPROF" stat --json -e task-clock -t "$spin" --per-thread --duration 0.2
is "$(json "[(t['pid'], t['tid'], t['name']) for t in s['threads']]")" "[($spin, $spin, 'spin')]" \
	'a single thread'
kill -STOP "$spin"
wait_for 10 grep -q '^State:.T' "/proc/$spin/status"
run "$CPROF" stat -e task-clock -p "$spin" --duration 0.05
like err 'not counted +task-clock +the target did not run' 'a process that does not run'
kill -CONT "$spin"
"$CPROF" stat -e task-clock -p "$spin" >out 2>err &
stat=$!
let_use "$spin" 50
kill -TERM "$stat"
wait "$stat"
is $? 0 'a signal ends the counting'
like err '^ +[0-9.,]+ ms +task-clock' 'and shows the counts'
"$CPROF" stat -e task-clock -p "$spin" >out 2>err &
stat=$!
let_use "$spin" 50
kill -KILL "$spin"
wait "$stat"
is $? 0 'so does the end of the process'
like err '^ +[0-9.,]+ ms +task-clock' 'with what was counted until then'

background "$PROG/threads" 3 100000
wait_for 10 test -d "/proc/$pid/task" && let_use "$pid" 20
run "$CPROF" stat --json -e task-clock,faults:u -p "$pid" --per-thread --duration 0.5
is "$(json "len(s['threads']), len({t['tid'] for t in s['threads']})")" '(4, 4)' '--per-thread: each thread'
is "$(json "sum(t['events'][0]['state'] == 'counted' for t in s['threads'])")" 3 'three of which run'
run "$CPROF" stat -e task-clock -p "$pid" --per-thread --duration 0.7
like err "^thread [0-9]+ of process $pid, threads:\$" '--per-thread: the text names them'
like err '^1 thread did not run$' 'but those that did not run'
# Whether or not there is a PMU: of software events, three.
run "$CPROF" stat -e task-clock,r1a8:u,faults:u -p "$pid" --per-thread --duration 0.7
if grep -q 'not supported' err; then
	is "$(grep -c 'not supported' err) $(grep -A1 '^all threads:$' err | grep -c 'not supported')" '1 1' \
		'an event that the machine does not have: one line for all threads'
else
	skip 'an event that the machine does not have: one line for all threads' 'there is a PMU'
fi
kill -KILL "$pid"

run "$CPROF" stat -p 999999999
is "$status" 1 'no such process'
run "$CPROF" stat -e task-clock -p no-such-name-here
is "$status" 1 'no process of that name'

# ---- whole CPUs ---------------------------------------------------------------------------

if is_root; then
	run "$CPROF" stat --json -a -e context-switches -- sleep 0.3
	is "$(json "e['context-switches']['value'] > 0 and s['cpus'] == $(nproc)")" True 'all CPUs'
	is "$(json "0 <= s['busy_ns'] <= s['cpus'] * s['elapsed_ns'] + 20e6 * s['cpus']")" True \
		'and how busy they were'
	run "$CPROF" stat -C 0 -e context-switches --duration 0.1
	like err '^Counts of CPUs 0:$' 'one CPU'
	like err ' of 1 CPU busy$' 'which is counted alone'
	run "$CPROF" stat --json -a --per-thread -e context-switches --duration 0.1
	is "$(json "len(s['threads']) > 1")" True 'all threads'
	as_nobody "$CPROF" stat -e page-faults,task-clock -- true >out 2>err
	like err 'warning: counting user code only' 'an ordinary user counts user code, and learns it'
	like err 'page-faults:u ' 'and sees it at the event'
	unlike err 'task-clock:u ' 'but not at a clock, which counts both'
	as_nobody "$CPROF" stat -- true >out 2>err
	like err '^ +not allowed +context-switches +kernel.perf_event_paranoid' \
		'a default event that is not allowed: its row says why'
	as_nobody "$CPROF" stat -e cs -- true >out 2>err
	is $? 1 'a named event that is not allowed is an error'
	like err 'CAP_PERFMON' 'with the remedy'
	as_nobody "$CPROF" stat -a --duration 0.1 >out 2>err
	is $? 1 'whole CPUs are not for ordinary users'
	like err 'may not be counted' 'and the message speaks of counting'
	unlike err 'scope' 'not of options of record'
	as_nobody "$CPROF" record -e cpu-clock -a --duration 0.1 >out 2>err
	like err 'may not be sampled' 'while that of record speaks of samples'
fi

# ---- signals ----------------------------------------------------------------------------------

# A command that ignores signals; what the test prevents takes a minute.
signalled() {
	"$PYTHON" - "$CPROF" "$@" <<'PYTHON'
import signal, subprocess, sys, time
options, n = sys.argv[3:], int(sys.argv[2])
p = subprocess.Popen([sys.argv[1], "stat", "-e", "cpu-clock", *options, "--", "sh", "-c",
                      "trap '' INT TERM; echo; exec sleep 60 >&-"],
                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
p.stdout.readline()
time.sleep(0.3)
for _ in range(n):
    p.send_signal(signal.SIGTERM)
    time.sleep(0.3)
try:
    status = p.wait(timeout=20)
except subprocess.TimeoutExpired:
    p.kill()
    sys.exit("it did not end")
sys.exit(status != 143)
PYTHON
}
check 'a command that ignores signals: a second one ends cprof' signalled 2
check 'a command that goes on after --duration: a signal ends cprof' signalled 1 --duration 0.1

# ---- requests ---------------------------------------------------------------------------------

wrong() {
	want=$1
	shift
	run "$CPROF" stat "$@"
	is "$status" 64 "stat $*: wrong usage"
	like err "$want" "stat $*: the message"
}
wrong 'nothing to count'
wrong "'wall' is a time that is measured.*" -e wall -- true
like err 'cprof record -e wall' 'and what measures it'
wrong 'give no -p or -t' -a -p 1
wrong 'do not exist yet' --per-thread -- true
wrong '-r repeats a command' -r 3 -p 1
wrong 'did you mean .--per-thread' --per-thraed -p 1
wrong 'cannot be combined' --user --kernel -- true
wrong 'neither user nor kernel' --user -e faults:k -- true
wrong 'is not a list of CPUs' -C x --duration 1
run "$CPROF" stat -o counts.txt -e faults:u -- true
is "$(grep -c 'faults:u' counts.txt)" 1 '-o writes the text into a file'
rm -f counts.txt
finish
