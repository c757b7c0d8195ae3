#!/bin/sh
# Snapshots of threads that end, execute other programs, change their user, are stopped and traced in
# the middle: each stack is one that its thread had, or is marked, and what is missing is counted.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

# begin SCENE...: sets $pid
begin() {
	rm -f tids.keep snap*.json
	"$PROG/changes-even" "$@" 3>>tids.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 20 test -s tids.keep
}

# shots N: so many snapshots; none may fail
shots() {
	n_failed=0
	for i in $(seq "$1"); do
		"$CPROF" snapshot -p "$pid" --json >"snap$i.json" 2>err || n_failed=$((n_failed + 1))
	done
	is "$n_failed" 0 "$2: all $1 succeed"
}

begin exit
shots 30 'threads that end'
check 'threads that end: their stacks are right' "$CPROF_SOURCE_ROOT/tests/changes.py" tids.keep 30 snap*.json
kill -KILL "$pid"

begin 'exec' "$PROG/changes-odd"
shots 100 'other programs'
check 'other programs: no stack has the names of another one' "$CPROF_SOURCE_ROOT/tests/changes.py" \
	tids.keep 100 snap*.json
kill -KILL "$pid"

begin starts "$PROG/changes-odd"
shots 100 'programs that are being replaced'
check 'programs that are being replaced: no stack has the names of another one, or none' \
	"$CPROF_SOURCE_ROOT/tests/changes.py" tids.keep 1 snap*.json
kill -KILL "$pid"

begin maps
shots 40 'code that is mapped meanwhile'
check 'code that is mapped meanwhile: it has names' "$CPROF_SOURCE_ROOT/tests/changes.py" tids.keep 30 snap*.json
kill -KILL "$pid"

if [ "$(id -u)" = 0 ]; then
	begin uid
	shots 20 'other users'
	check 'other users: the stacks are right' "$CPROF_SOURCE_ROOT/tests/changes.py" tids.keep 60 snap*.json
	cp "$CPROF" cprof.keep
	for i in 1 2 3 4 5 6 7 8; do
		as_nobody ./cprof.keep snapshot -p "$pid" >>refused.keep 2>&1 && echo shown >>refused.keep
	done
	unlike refused.keep '^shown' 'other users: who may not read the process is always refused'
	is "$(grep -c 'CAP_SYS_PTRACE' refused.keep)" 8 'other users: and the message names what is missing'
	kill -KILL "$pid"
else
	skip 'other users' 'needs root'
fi

# The program blocked has movers among its threads.
mkfifo in.keep
exec 9<>in.keep
rm -f ready.keep
"$PROG/blocked" 19 5 <in.keep >ready.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q ready ready.keep

# beside NAME COMMAND...: snapshots while the command is repeated
beside() {
	name=$1
	shift
	touch go.keep
	(
		while [ -e go.keep ]; do "$@"; done
	) >/dev/null 2>&1 &
	other=$!
	for i in $(seq 15); do
		run "$CPROF" snapshot -p "$pid" --json
		check_json="$status"
		[ "$status" = 0 ] && "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'len(entries) == 25' \
			'not unmarked' 'right >= 15' \
			>"why.$i" && rm -f "why.$i" && continue
		: >out
		fail "$name: snapshot $i, status $check_json"
		diag <"why.$i"
		break
	done
	[ "$i" = 15 ] && pass "$name: all stacks are right, or marked"
	rm -f go.keep
	wait "$other"
}

stop_and_go() {
	kill -STOP "$pid"
	sleep 0.003
	kill -CONT "$pid"
	sleep 0.003
}
beside 'stopped and continued' stop_and_go
beside 'traced by others' "$PROG/tracer" "$pid" 50
kill -KILL "$pid"

# The process is killed at some moment of the snapshot.
for i in 1 2 3 4 5 6 7 8 9 10; do
	begin exit
	(
		sleep "0.00$i"
		kill -KILL "$pid"
	) &
	run "$CPROF" snapshot -p "$pid" --json
	wait "$pid" 2>/dev/null
	case $status in
	0) check_json=ok ;;
	1) check_json=$(grep -Eq 'has ended|have ended|no process' err && echo ok) ;;
	*) check_json= ;;
	esac
	[ "$check_json" = ok ] || break
done
is "$check_json" ok 'a process that is killed meanwhile is shown, or has ended'
finish
