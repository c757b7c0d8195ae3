#!/bin/sh
# Signals end cprof top, even while it waits for names; a second one ends it at once.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

ended() {
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}
# ends NAME SIGNAL...: signals for a running cprof top end it.  A busy machine gets more time than
# the two seconds that are promised; what the test prevents takes a minute.
ends() {
	ends_name=$1
	shift
	for ends_signal; do
		kill "-$ends_signal" "$cprof_pid"
		sleep 0.3  # sooner ones belong to the first
	done
	if wait_for 8 ended "$cprof_pid"; then
		pass "$ends_name"
	else
		fail "$ends_name"
		kill -KILL "$cprof_pid"
	fi
	end_cprof
}

# ---- between refreshes

for signal in INT TERM HUP; do
	start_cprof top --batch 1000 -d 100ms -e cpu-clock -- "$PROG/spin" 20 1000000
	ends "SIG$signal ends it" "$signal"
	is "$status" 0 "SIG$signal: status 0"
done
start_cprof top --batch 1000 -d 100ms -e cpu-clock -- sh -c 'trap "" TERM; : >ready.keep; sleep 60; :'
wait_for 20 test -e ready.keep
ends 'a command that ignores SIGTERM: it ends nevertheless' TERM
like err 'ignores SIGTERM and goes on: pid [0-9]+' 'and says so'
kill -KILL "$(sed -n 's/.*goes on: pid //p' err)"
rm -f ready.keep

# ---- while it waits for a server

objcopy --strip-all "$PROG/inlines" bare.keep 2>/dev/null && readelf -n bare.keep | grep -q 'Build ID' || {
	skip 'while it waits for names' 'needs objcopy and build ids'
	finish
}
cat >server.py.keep <<'END'
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open("listens.keep", "w").close()
held = []
while True:
    held.append(server.accept())
    open("asked.keep", "w").close()
END
port=$(free_port)
background "$PYTHON" server.py.keep "$port"
wait_for 20 test -e listens.keep
DEBUGINFOD_URLS=http://127.0.0.1:$port/ DEBUGINFOD_CACHE_PATH=$T/cache.keep
export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH

# start_waiting: cprof top, which waits for the server; $pid is its target
start_waiting() {
	rm -rf asked.keep cache.keep
	background ./bare.keep 1000000
	start_cprof top --debuginfod --debuginfod-timeout 60s --symbol-timeout 60s --batch 1000 \
		-d 200ms -e cpu-clock -p "$pid"
	wait_for 20 test -e asked.keep
}
start_waiting
if [ ! -e asked.keep ]; then
	skip 'while it waits for names' 'needs a cprof built with libdebuginfod'
	finish
fi
ends 'while it waits for names, a signal ends it' TERM
kill "$pid"
start_waiting
ends 'while it waits for names, two signals end it' INT INT
is "$status" 130 'two signals: the status is of the signal'
kill "$pid"
rm -rf cache.keep # the library's
no_files 'no file is left'
finish
