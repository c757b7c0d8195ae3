#!/bin/sh
# Who may see the goroutines of a program: its user, who has CAP_SYS_PTRACE, from outside of a container
# and from inside, and beside a tracer. The message for others names the right that is missing.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need go setpriv
need_root

HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE
waits=$CPROF_SOURCE_ROOT/tests/prog/gowaits
go build -o waits.keep "$waits.go" || fail 'the program builds'
chmod 777 "$T"
cp "$CPROF" cprof.keep
mkfifo in.keep
chmod 666 in.keep
exec 9<>in.keep

# begin COMMAND...: runs the program by it, until it is ready; sets $pid
begin() {
	rm -f own.keep ready.keep
	"$@" ./waits.keep wait 100 50 own.keep <in.keep >ready.keep 9>&- &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep || echo '# it is not ready'
}

# shown NAME COMMAND...: a snapshot that is equal to the program's own text
shown() {
	shown_name=$1
	shift
	run "$@" --format=go2
	is "$status" 0 "$shown_name: a snapshot"
	cp out go2.keep
	check "$shown_name: equal to the program's own text" "$waits.py" own.keep go2.keep
}

# with CAPABILITIES COMMAND...: as another user with these
with() {
	caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"
}

begin env
run as_nobody "$T/cprof.keep" snapshot --goroutines -p "$pid"
is "$status" 1 'the program of another user is refused'
like err 'belongs to user 0.*grant CAP_SYS_PTRACE$' 'and the missing right is named, and no other one'
run with +perfmon "$T/cprof.keep" snapshot --goroutines -p "$pid"
is "$status" 1 'CAP_PERFMON does not help'
like err 'grant CAP_SYS_PTRACE$' 'the missing right is named again'
shown 'with CAP_SYS_PTRACE alone' with +sys_ptrace "$T/cprof.keep" snapshot -p "$pid"

"$PROG/tracer" "$pid" >tracer.keep &
tracer=$!
tap_pids="$tap_pids $tracer"
wait_for 20 grep -q attached tracer.keep
sleep 0.2
shown 'beside a tracer' "$CPROF" snapshot -p "$pid"
kill "$tracer"
wait "$tracer" 2>/dev/null
kill -KILL "$pid"

begin setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
shown 'the same user' as_nobody "$T/cprof.keep" snapshot -p "$pid"
kill -KILL "$pid"

# Goroutines that run are sampled, which takes no more rights.
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ./waits.keep spin 2 60 <in.keep >ready.keep 9>&- &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q ready ready.keep
spinning() {
	run as_nobody "$T/cprof.keep" snapshot -p "$pid" --format=go2
	cp out spin.go2
	is "$(grep -c '^main\.spin' spin.go2)" 2 'the same user: running goroutines have stacks'
}
attempts 8 spinning
kill -KILL "$pid"

if unshare --mount --pid --fork true 2>/dev/null; then
	begin unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc /proc 2>/dev/null
		mount --bind /etc /mnt && exec "$@"' sh
	outer=$(pgrep -P "$pid")
	shown 'a container, from outside' "$CPROF" snapshot -p "$outer"
	shown 'a container, from inside' nsenter -t "$outer" -p -m "$CPROF" snapshot -p 1
	kill -KILL "$outer"
else
	skip 'a container' 'namespaces cannot be created here'
fi
finish
