#!/bin/sh
# The watchdog of cprof agent: if real-time threads hold the CPU of its reader, it gives up the
# reader's priority, so the agent goes on and reacts to signals.  All of them are pinned to one CPU,
# for a few seconds.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need taskset chrt timeout
is_root || skip_all 'needs root'
[ "$(cat /proc/sys/kernel/sched_rt_runtime_us 2>/dev/null || echo -1)" -gt 0 ] ||
	skip_all 'real-time threads are not throttled here: this could hang the machine'
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')

# policy: of the agent's main thread, which reads the rings
policy() {
	chrt -p "$agent" | sed -n 's/.*policy: //p'
}
has_policy() {
	policy | grep -q "$1"
}
windows() {
	sed -n 's/^windows=//p' spool.keep/lost 2>/dev/null
}
has_windows() {
	n=$(windows)
	[ "${n:-0}" -ge "$1" ]
}

background "$CPROF" agent -q -s spool="$T/spool.keep" -s window=1s
agent=$pid
wait_for 20 has_windows 2
if ! has_policy SCHED_FIFO; then
	kill -TERM "$agent"
	skip_all 'real-time priority is not allowed'
fi
pass 'the rings are read at real-time priority'

taskset -acp "$cpu" "$agent" >/dev/null
: >held
taskset -c "$cpu" timeout -s KILL 12 "$PROG/rtspin" >held &
spinner=$!
tap_pids="$tap_pids $spinner"
wait_for 2 grep -q ready held
wait_for 6 has_policy SCHED_OTHER
dropped=$?
kill -TERM "$agent"
sleep 0.1
kill -0 "$spinner" 2>/dev/null
is "$dropped $?" '0 0' 'that is given up while real-time threads hold its CPU'
agent_status=0
wait "$agent" || agent_status=$?
held=no
kill -0 "$spinner" 2>/dev/null && held=yes
pkill -KILL -P "$spinner" rtspin
wait "$spinner" 2>/dev/null
is "$agent_status $held" '0 yes' 'and SIGTERM ends the agent meanwhile'
finish
