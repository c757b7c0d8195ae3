#!/bin/sh
# cprof ends although real-time threads hold every CPU that it may use: then its own real-time
# priority would keep it from running at all.  All of them are pinned to one CPU, for a few seconds.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need taskset timeout
[ "$(cat /proc/sys/kernel/sched_rt_runtime_us 2>/dev/null || echo -1)" -gt 0 ] ||
	skip_all 'real-time threads are not throttled here: this could hang the machine'
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')

# hold: a spinner on the CPU; sets $spinner
hold() {
	: >held
	taskset -c "$cpu" timeout -s KILL 8 "$PROG/rtspin" >held &
	spinner=$!
	tap_pids="$tap_pids $spinner"
	wait_for 2 grep -q ready held
}

# let_go: and sets $held to yes if the spinner was still there
let_go() {
	held=no
	kill -0 "$spinner" 2>/dev/null && held=yes
	pkill -KILL -P "$spinner" rtspin
	wait "$spinner" 2>/dev/null
}

hold || skip_all 'real-time priority is not allowed'
let_go
"$CPROF" record -q --json -e cpu-clock -o a.pb.gz -- "$PROG/spin" 1 50 >probe
like probe '"realtime": "yes"' 'the rings are read at real-time priority'
"$CPROF" record -q --json --realtime=no -e cpu-clock -o a.pb.gz -- "$PROG/spin" 1 50 >probe
like probe '"realtime": "no"' '--realtime=no: at normal priority'

hold
run taskset -c "$cpu" "$CPROF" record --no-symbols -e cpu-clock -F 20000 -o a.pb.gz -- /bin/true
let_go
is "$status $held" '0 yes' 'a command that starts while real-time threads run ends'

background "$PROG/spin" 1 1000000
target=$pid
let_use "$target" 50
start_cprof record --no-symbols --json -e cpu-clock -o b.pb.gz -p "$target"
taskset -cp "$cpu" "$cprof_pid" >/dev/null
let_use "$target" 150
hold
sleep 0.3
date +%s.%N >began
kill -TERM "$cprof_pid"
end_cprof
date +%s.%N >ended
let_go
diag <<END
SIGTERM to the end: $(echo "$(cat ended) - $(cat began)" | bc) s
END
is "$held" yes 'SIGTERM ends a recording that real-time threads have stopped'
like out '"realtime": "dropped"' '--json: it gave up its priority'
like err 'has given up its real-time priority' 'the summary says so'
finish
