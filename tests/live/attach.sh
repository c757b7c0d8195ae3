#!/bin/sh
# Attaching to running processes: cprof finds all threads, and the target continues undisturbed.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

ready() {
	grep -q ready "$1"
}

churn() {
	run "$CPROF" record -e cpu-clock --scope $scope --duration 1.5 -o churn.pb.gz -p $pid
	is "$status" 0 "churn, scope $scope: recorded"
	profile "churn, scope $scope: no long-lived thread is missing" churn.pb.gz \
		"labels('thread_name') >= {'steady1', 'steady2', 'steady3', 'steady4'}" \
		"all(cum('steady%d' % i) > 0.1 for i in range(1, 5))"
}
for scope in auto task; do
	"$PROG/churn" 600 >churn.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 ready churn.keep
	attempts 3 churn
	check "churn, scope $scope: the target keeps running" kill -0 $pid
	is "$(ls -l /proc/$pid/fd | grep -c perf)" 0 \
		"churn, scope $scope: the target has no perf descriptors"
	kill $pid
	wait $pid 2>/dev/null
done

# one thread of several
"$PROG/churn" 600 >churn.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 ready churn.keep
# Threads end during the scan, and a folder that shrinks meanwhile may skip an entry.
tid=
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12; do
	for task in /proc/$pid/task/*; do
		[ "$(cat "$task/comm" 2>/dev/null)" = steady2 ] && tid=${task##*/}
	done
	[ -z "$tid" ] || break
	echo "# look $attempt: no steady2"
done
run "$CPROF" record -e cpu-clock --duration 0.7 -o one.pb.gz -t "$tid"
is "$status" 0 '-t: recorded'
profile '-t: only that thread has samples' one.pb.gz \
	"cum('steady2') > 0.98" "labels('tid') <= {'$tid'}"
kill $pid

# A process whose main thread has ended: /proc/PID is a zombie's, without maps and memory.
"$PROG/mainexits" 100000 >mainexits.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q 'State:.Z' /proc/$pid/status
ended() {
	run "$CPROF" record -e cpu-clock --scope $scope --duration 0.7 -o ended.pb.gz -p $pid
	is "$status" 0 "the main thread has ended, scope $scope: recorded"
	profile "the main thread has ended, scope $scope: frames have names, and stacks are complete" \
		ended.pb.gz \
		"cum('left_work') > 0.9" "cum('[truncated]') < 0.1"
	check "the main thread has ended, scope $scope: the program is the main binary" \
		sh -c '"$1" report ended.pb.gz | grep -q "^File: .*/mainexits"' sh "$CPROF"
}
for scope in auto task; do
	attempts 3 ended
done
kill $pid

# two processes at once
background "$PROG/spin" 3 100000
first=$pid
background "$PROG/serial" 100000
cp "$PROG/spin" ./a-cprof-target-name
two() {
	run "$CPROF" record -e cpu-clock --duration 1 -o two.pb.gz -p "$1" $2
	is "$status" 0 "-p '$1' $2: recorded"
	profile "-p '$1' $2: both have samples, and labels distinguish them" two.pb.gz \
		"cum('recurse') > 0.2" "cum('A') > 0.2" "labels('pid') == {'$first', '$pid'}" \
		"abs(label_share('pid', '$first') - cum('recurse')) < 0.02"
}
attempts 3 two "$first,$pid"
attempts 3 two "$first
$pid"
attempts 3 two $first $pid
kill "$first" $pid

# Processes by name, and the children of one.
background sh -c './a-cprof-target-name 3 100000 & ./a-cprof-target-name 3 100000; wait'
parent=$pid
two_named() {
	[ "$(pgrep -c -f '^./a-cprof-target-name')" = 2 ]
}
wait_for 60 two_named
named() {
	# shellcheck disable=SC2086 # two words
	run "$CPROF" record -e cpu-clock --duration 1 -o named.pb.gz $1
	is "$status" 0 "$1: recorded"
	profile "$1: both processes have samples" named.pb.gz \
		"cum('recurse') > 0.9" "len(labels('pid')) == 2"
}
attempts 3 named '-p a-cprof-target-name'
attempts 3 named "-p $parent --children"
# as the shell expands -p $(pidof NAME)
unquoted() {
	# shellcheck disable=SC2046 # several words
	run "$CPROF" record -e cpu-clock -p $(pgrep -f '^./a-cprof-target-name') --duration 1 -o named.pb.gz
	is "$status" 0 '-p PID PID --duration: recorded'
	profile '-p PID PID: both processes have samples' named.pb.gz \
		"cum('recurse') > 0.9" "len(labels('pid')) == 2"
}
attempts 3 unquoted

# An idle server: its workers are suggested, unless they are recorded already.
background sh -c '"$PROG/idle" 1 & "$PROG/idle" 1 & wait'
server=$pid
two_workers() {
	[ "$(pgrep -c -P "$server")" = 2 ]
}
wait_for 60 two_workers
workers=$(pgrep -d, -P "$server")
idle() {
	run "$CPROF" record -e cpu-clock --duration 0.1 -o idle.pb.gz -p "$1"
	is "$status" 1 "$2: no samples"
}
idle "$server" 'an idle server'
like err "children are processes of their own: --children, or -p $server,$workers, records them" \
	'an idle server: its children are suggested'
idle "$server,${workers%,*}" 'an idle server and a worker'
like err "or -p $server,${workers#*,}, records" 'an idle server and a worker: the other worker is suggested'
idle "$server,$workers" 'an idle server and all its workers'
unlike err 'children' 'an idle server and all its workers: no more processes are suggested'

# A child from before that ends: the kernel adds its time to that of its parent, which did not use it.
background sh -c '"$PROG/spin" 20 1000; sleep 2'
shell=$pid
has_child() {
	[ -n "$(pgrep -P "$shell" -x spin)" ]
}
wait_for 60 has_child
run "$CPROF" record -e cpu-clock --duration 1.5 -o before.pb.gz -p "$shell"
unlike err 'covering|though the target used' 'a child from before that ends: its time is not missing in the profile'

# Of several, one that has ended is no reason to record nothing.
background sh -c "sleep 0 & exec '$PROG/spin' 3 100000"
has_zombie() {
	zombie=$(pgrep -P "$pid" -r Z)
}
wait_for 60 has_zombie
ended_one() {
	run "$CPROF" record -e cpu-clock --duration 0.5 -o zombie.pb.gz -p "$zombie,$pid"
	is "$status" 0 '-p with a process that has ended: recorded'
	like err "process $zombie does not exist or has ended; it is left out" 'and reported'
	profile 'the other one is recorded' zombie.pb.gz "cum('recurse') > 0.9"
}
attempts 3 ended_one
run "$CPROF" record -e cpu-clock --duration 0.5 -p "$zombie"
is "$status" 1 '-p with nothing but a process that has ended: status 1'
like err "process $zombie is a zombie" 'and the reason'
rm -f zombie.pb.gz
kill "$pid"

# A command that only says how long.
started=$(date +%s)
run "$CPROF" record -g -e cpu-clock -o timer.pb.gz --no-command-line -p a-cprof-target-name -- sleep 0.7
is "$status" 0 '-p PID -- sleep: recorded'
check '-p PID -- sleep: ends with the command' test $(($(date +%s) - started)) -lt 60
profile '-p PID -- sleep: the command is not recorded' timer.pb.gz \
	"cum('recurse') > 0.9" "len(labels('pid')) == 2"
profile '--no-command-line: the file has no command line' timer.pb.gz \
	"'sleep' not in comments" "'event: cpu-clock' in comments"
pkill -f '^./a-cprof-target-name'
kill "$parent" 2>/dev/null

# a thousand threads that sleep
"$PROG/threads" 1000 400000 >threads.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 sh -c "[ \$(ls /proc/$pid/task | wc -l) -gt 1000 ]"
run "$CPROF" record -e cpu-clock --duration 1 -o thousand.pb.gz -p $pid
kill $pid		# at once: what comes next would wait for a thousand time slices
wait $pid 2>/dev/null
is "$status" 0 'a thousand threads: recorded'
# The reader of an ordinary user has no priority over them.
lost='False'
is_root || lost="names & {'[lost samples]'}"
profile 'a thousand threads: 90 % of the time is in their function' thousand.pb.gz \
	"cum('thread_work') > 0.9 or $lost" "len(labels('tid')) > 20 or $lost"

# The child of a fork(2) that has begun before the events are opened.
forking() {
	"$PROG/slowfork" 60000 1000 >slowfork.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 ready slowfork.keep
	kill -USR1 "$pid"
	run "$CPROF" record -e cpu-clock --scope "$1" -o slowfork.pb.gz -p "$pid"
	is "$status" 0 "a fork that has begun, scope $1: recorded"
	wait "$pid" 2>/dev/null
	sed 's/^/# /' slowfork.keep
	profile "a fork that has begun, scope $1: the child is sampled" slowfork.pb.gz \
		"cum('child_work') > 0.5"
}
attempts 3 forking task
attempts 3 forking auto

# the target ends first
background "$PROG/spin" 3 1500
run timeout 100 "$CPROF" record -e cpu-clock -o ends.pb.gz -p $pid
is "$status" 0 'the end of the target ends the recording'
profile 'the end of the target: the profile is complete' ends.pb.gz "cum('recurse') > 0.9"

# A child created after attaching, with and without --no-inherit.
for option in '' --no-inherit; do
	mkfifo go.keep
	background sh -c "read -r go <go.keep; '$PROG/serial' 40; '$PROG/spin' 1 200 & wait"
	# shellcheck disable=SC2086 # no word when empty
	start_cprof record -e cpu-clock $option -o inherit.pb.gz -p $pid
	echo go >go.keep
	end_cprof
	rm go.keep
	if [ -z "$option" ]; then
		is "$status" 0 'children created later: recorded'
		profile 'children created later are recorded' inherit.pb.gz \
			"cum('A') > 0.3" "cum('recurse') > 0.03"
	elif [ -e inherit.pb.gz ] && [ "$status" -eq 0 ]; then
		profile '--no-inherit leaves children out' inherit.pb.gz \
			"cum('A') == 0" "cum('recurse') == 0"
	else
		like err 'sample' '--no-inherit leaves children out, so there are no samples'
	fi
	rm -f inherit.pb.gz
done
finish
