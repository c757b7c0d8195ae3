#!/bin/sh
# Who may take a snapshot: the same user may; for others the message names what they lack.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_root
need setpriv

chmod 777 "$T"
CPROF_HERE=$T/cprof.keep
cp "$CPROF" "$CPROF_HERE"
cp "$PROG/blocked" blocked.keep
cp "$PROG/blocked" suid.keep
chmod 755 ./*.keep
mkfifo in.keep
chmod 666 in.keep
exec 9<>in.keep

# with CAPABILITIES COMMAND...: as another user with these
with() {
	caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"
}

# blocked COMMAND...: in the background, until it has started its threads
blocked() {
	rm -f ready.keep
	"$@" 18 <in.keep >ready.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep || echo '# it is not ready'
}

blocked "$PROG/blocked"
roots=$pid
run as_nobody "$CPROF_HERE" snapshot -p "$roots"
is "$status" 1 'the process of another user is refused'
like err "process $roots .* may not be read" 'it is named'
like err 'belongs to user 0.*CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH' 'and so are the missing rights'
run with +sys_ptrace "$CPROF_HERE" snapshot -p "$roots"
is "$status" 1 'with CAP_SYS_PTRACE alone it is refused'
like err 'CAP_DAC_READ_SEARCH in addition' 'and the missing right is named'
run with +sys_ptrace,+dac_read_search "$CPROF_HERE" snapshot -p "$roots" --json
is "$status" 0 'with both it works'
check 'and its stacks are right' "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'not wrong'
kill -KILL "$roots"

blocked setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ./blocked.keep
own=$pid
run as_nobody "$CPROF_HERE" snapshot -p "$own" --json
is "$status" 0 'the same user needs no rights'
check 'the stacks are right' "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'not wrong' \
	'len(entries) == 19'
# Only one process may trace another one; reading needs no more beside it.
"$PROG/tracer" "$own" >tracer.keep &
tracer=$!
tap_pids="$tap_pids $tracer"
wait_for 20 grep -q attached tracer.keep
sleep 0.2
run as_nobody "$CPROF_HERE" snapshot -p "$own" --json
is "$status" 0 'nor does it beside a tracer'
check 'beside a tracer the stacks are right' "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'not wrong' \
	'len(entries) == 19'
run as_nobody "$CPROF_HERE" snapshot -p "$own" --stop=all
like out '^# 19 threads, .*; none was stopped' 'a process that cannot be stopped is read as it runs'
kill "$tracer"
wait "$tracer" 2>/dev/null
run "$CPROF" snapshot -p "$own" -o own.pb.gz
is "$(stat -c %a own.pb.gz)" 600 'a profile of another user is private'
# The rights of a user namespace end there.
if as_nobody unshare -U true 2>/dev/null; then
	for option in -U -Ur; do
		run as_nobody unshare $option "$CPROF_HERE" snapshot -p "$own"
		is "$status" 1 "unshare $option: a process outside of cprof's user namespace is refused"
		like err 'cprof is in a user namespace' "unshare $option: and that is named"
	done
else
	skip 'user namespaces' 'they cannot be created here'
fi
kill -KILL "$own"

# The kernel closes the memory of programs that give rights.
chmod 4755 suid.keep
blocked setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ./suid.keep
run as_nobody "$CPROF_HERE" snapshot -p "$pid"
is "$status" 1 'a set-user-ID program is refused'
like err 'CAP_SYS_PTRACE' 'and the missing right is named'
kill -KILL "$pid"

# A program that has closed its memory.
setpriv --reuid=65534 --regid=65534 --clear-groups "$PYTHON" -c \
	'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print("closed", flush=True); time.sleep(600)' >closed.keep &
closed=$!
tap_pids="$tap_pids $closed"
wait_for 60 grep -q closed closed.keep
# The memory of goroutines is all that is needed.
for kind in --threads --goroutines; do
	rights='CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH'
	[ $kind = --threads ] || rights=CAP_SYS_PTRACE
	run as_nobody "$CPROF_HERE" snapshot $kind -p "$closed"
	is "$status" 1 "$kind: a program with closed memory is refused"
	like err "process $closed .* may not be read" "$kind: it is named"
	like err "its memory is closed .* grant $rights\$" "$kind: so are the missing rights"
done
kill -KILL "$closed"

# A program that may be executed but not read.  Whether its memory is closed depends on the kernel.
cp "$PROG/blocked" unreadable.keep
chmod 711 unreadable.keep
blocked setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ./unreadable.keep
unreadable=$pid
run as_nobody "$CPROF_HERE" snapshot -p "$unreadable"
if [ "$status" = 0 ]; then
	like out '"futex" tid' 'a program that may not be read: its threads are shown'
else
	like err 'may not be read, or has called' 'a program that may not be read: the reason is named'
fi
run "$CPROF" snapshot -p "$unreadable" --json
is "$status" 0 'root needs no more'
check 'its stacks are right' "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'not wrong' 'len(entries) == 19'
kill -KILL "$unreadable"

# A container: its own process ids, its own files.
if unshare --mount --pid --fork true 2>/dev/null; then
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc /proc 2>/dev/null
		mount --bind /etc /mnt && exec ./blocked.keep 18' <in.keep >ready3.keep &
	tap_pids="$tap_pids $!"
	wait_for 60 grep -q ready ready3.keep
	inner=$(sed -n 's/ready //p' ready3.keep)
	outer=$(pgrep -P $!)
	is "$inner" 1 'a container: its program has another number inside'
	run "$CPROF" snapshot -p "$outer" --json
	is "$status" 0 'a container: a snapshot from outside'
	check 'a container: its stacks are right' "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out \
		'not wrong' 'len(entries) == 19' "all(e['pid'] == $outer for e in entries)"
	run nsenter -t "$outer" -p -m "$CPROF" snapshot -p 1 --json
	check 'a container: the same from inside, with its own numbers' "$PYTHON" \
		"$CPROF_SOURCE_ROOT/tests/snapshot.py" out 'not wrong' 'len(entries) == 19' \
		"all(e['pid'] == 1 for e in entries)"
	kill -KILL "$outer"
else
	skip 'a container' 'namespaces cannot be created here'
fi

# A system call filter, as containers have.
cat >filter.keep <<'EOF'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
# loads the number; process_vm_readv fails with EPERM, all others are allowed
program = b"".join(struct.pack("HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 1, {"x86_64": 310}.get(os.uname().machine, 270)), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)))
code = ctypes.create_string_buffer(program, len(program))
head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, head, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
EOF
blocked setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ./blocked.keep
filtered=$pid
run as_nobody "$PYTHON" filter.keep "$CPROF_HERE" snapshot -p "$filtered"
if [ "$status" = 77 ]; then
	skip 'a system call filter' 'it cannot be set here'
else
	is "$status" 1 'a system call filter: a refusal'
	like err "allow process_vm_readv in the container's system call filter" 'a system call filter: it is named'
	run "$PYTHON" filter.keep "$CPROF_HERE" snapshot -p "$filtered"
	like err 'has CAP_SYS_PTRACE: .* system call filter' 'a system call filter: and by root, that no right is missing'
fi
kill -KILL "$filtered"

run "$CPROF" snapshot -p 2
if grep -qx kthreadd /proc/2/comm 2>/dev/null; then
	like err "'kthreadd' is a thread of the kernel" 'a thread of the kernel is named as such'
fi

# Some of several processes.
background "$PROG/sleeper" 60000 >/dev/null
run as_nobody sh -c "./blocked.keep 3 <in.keep >ready2.keep & sleep 0.5
	'$CPROF_HERE' snapshot -p \$!,$pid; kill -KILL \$!"
like out '^# not read: [0-9]+ threads? may not be read' 'what may not be read is counted beside what may'
finish
