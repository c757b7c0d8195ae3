#!/bin/sh
# Who allocates memory in running programs whose own allocator fires the probes otel_memory:alloc
# and otel_memory:free.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
[ -r /sys/bus/event_source/devices/uprobe/type ] || skip_all 'no uprobes here'
LIB=$(readlink -f "$CPROF_BUILD_ROOT/lib/preload/libcprof-alloc.so")
mkfifo in.keep
chmod 777 .

# begin [PREFIX...]: the program waits for a line; sets target and semaphores
begin() {
	rm -f prog.keep
	exec 3<>in.keep
	background sh -c 'exec "$@" <in.keep >prog.keep' sh "$@" "$PROG/ownalloc"
	target=$pid
	wait_for 10 grep -q '^ready' prog.keep
	semaphores=$(sed -n 's/^ready //p' prog.keep)
}

# used N: both semaphores of the program are N
used() {
	"$PYTHON" -c "
m = open('/proc/$target/mem', 'rb')
def value(at):
    m.seek(int(at, 16))
    return int.from_bytes(m.read(2), 'little')
raise SystemExit(any(value(at) != $1 for at in '$semaphores'.split()))" 2>/dev/null
}

# record_all OPTION...: a recording of what the program does after the line
record_all() {
	background "$CPROF" record -p "$target" "$@" 2>err
	recorder=$pid
	wait_for 20 used 1
	echo >&3
	wait_for 20 grep -q '^done' prog.keep
	kill -TERM "$recorder"
	wait "$recorder"
	status=$?
}

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
if is_root; then
	# shellcheck disable=SC2086 # several words
	begin $nobody
else
	nobody=
	begin
fi
# shellcheck disable=SC2086
run $nobody "$CPROF" record --heap -p "$target" --duration 1 -o n.pb.gz
is "$status" 1 'an ordinary user: refused'
like err 'CAP_PERFMON' 'an ordinary user: names the missing right'
kill "$target"
# shellcheck disable=SC2086
begin $nobody env LD_PRELOAD="$LIB"
# shellcheck disable=SC2086
background $nobody "$CPROF" record --alloc -p "$target" -c 64 --duration 60 -o l.pb.gz 2>err
recorder=$pid
check 'an ordinary user: the library is used instead' \
	wait_for 20 grep -q 'the probes of a process cannot be used without CAP_PERFMON' err
echo >&3
wait_for 20 grep -q '^done' prog.keep
kill -TERM "$recorder"
wait "$recorder"
echo >&3
wait "$target" 2>/dev/null
is_root || finish

# the program's own samples, exactly as often as it says, and blocks that it holds
begin
record_all --heap -o h.pb.gz
is "$status" 0 '--heap: recorded'
check '--heap: the semaphores are 0 again' wait_for 10 used 0
echo >&3
wait "$target"
profile 'values are what the probes say' h.pb.gz \
	"p.sample_types[0] == ('alloc_objects', 'count') and p.sample_types[3] == ('inuse_space', 'bytes')" \
	"p.default_sample_type == 'inuse_space'" \
	"[s[1] for s in p.samples if s[2]['bytes'] == 98304] == [[50, 5000000, 50, 5000000]]" \
	"[s[1] for s in p.samples if s[2]['bytes'] == 4608] == [[16000, 80000000, 0, 0]]" \
	"[s[1] for s in p.samples if s[2]['bytes'] == 64] == [[10, 640, 10, 640]]" \
	"[s[1] for s in p.samples if s[2]['bytes'] == 4096] == [[4, 16384, 0, 0]]" \
	"len(p.samples) == 4 and path('own_malloc', 'keep', 'main') == 5000000 / 5000640"

begin
record_all --alloc -o a.pb.gz
profile '--alloc: the program fires no probe for freed blocks' a.pb.gz "len(p.sample_types) == 2" \
	"cum('churn') > 0.9"
echo >&3
wait "$target"

# both sources: a block counts once
begin env LD_PRELOAD="$LIB"
background "$CPROF" record --alloc -p "$target" -c 64 -o b.pb.gz 2>err
recorder=$pid
wait_for 20 used 1
echo >&3
wait_for 20 grep -q '^done' prog.keep
kill -TERM "$recorder"
wait "$recorder"
like err 'has libcprof-alloc.so, which counts its blocks' 'the library and probes: one is used'
profile 'the library and probes: no block counts twice' b.pb.gz "cum('own_malloc') == 0"
echo >&3
wait "$target"
rm -f ./*.pb.gz
finish
