#!/bin/sh
# USDT probes: locations, semaphores, arguments as values and labels, processes anywhere.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need "$PYTHON"
[ -r /sys/bus/event_source/devices/uprobe/type ] || skip_all 'no uprobes here'
prog=$PROG/usdt

refused 1 "no probe 'shop:ordre'" 'a probe that does not exist' record -e "usdt:$prog:shop:ordre" -- true
like err 'nearest names: shop:order' 'a probe that does not exist: near names'
refused 1 "'$PROG/spin' has no USDT probes" 'a file without probes' record -e "usdt:$PROG/spin:shop:order" -- true
refused 1 'is not a 64-bit ELF file' 'a script' record -e "usdt:$0:shop:order" -- true
refused 64 "write 'usdt:FILE:shop:order'" 'a probe of a command needs a file' record -e usdt:shop:order -- true
refused 64 'has no argument 5' 'an argument that does not exist' \
	record -e "usdt:$prog:shop:order/value=arg5/" -- true
like err 'arguments are: -4@' 'an argument that does not exist: the hint shows those that do'
refused 64 'only together with copies of the stack' 'arguments need registers' \
	record --call-graph fp -e "usdt:$prog:shop:order/value=arg2/" -- true
if ! is_root; then
	refused 1 'CAP_PERFMON' 'an ordinary user: names the missing right' record -e "usdt:$prog:shop:order" -- true
	finish
fi
run as_nobody "$CPROF" record -o n.pb.gz -e "usdt:$prog:shop:order" -- true
is "$status" 1 'an ordinary user: refused'
like err 'CAP_PERFMON' 'an ordinary user: names the missing right'

run as_nobody "$CPROF" list --probes "$$"
is "$status" 1 'list of the probes of another user: refused'
like err 'belongs to user 0: run cprof as that user' 'list of the probes of another user: names the remedy'

# A file: two locations with a semaphore, each round once
run "$CPROF" record -o o.pb.gz -e "usdt:$prog:shop:order/value=arg2,unit=bytes,label=kind:arg1,label=arg3,label=arg4,stack-size=1K/" \
	-- "$prog" 200
is "$status" 0 'a probe of a file: recorded'
like out '^used 200$' 'the program sees the semaphore from its first round on'
unlike err 'single-step|without their value' 'a nop needs no single-step, and all arguments are known'
like err '200 samples of usdt:shop:order, 19\.[0-9] MiB' 'the summary has the sum in its unit'
profile 'values and labels of arguments are exact' o.pb.gz 'n == 200' 'total == 1000 * 200 * 201 // 2' \
	"p.sample_types[1] == ('usdt_shop_order', 'bytes')" "leaf('^even$') == 10100000 / 20100000" \
	"leaf('^(odd|even)$') == 1" "path('odd', 'main') > 0.49" \
	"sorted(set(s[2]['kind'] for s in p.samples)) == ['0', '1', '2', '3']" \
	"len(set(s[2]['arg3'] for s in p.samples)) == 200 and all(int(s[2]['arg3']) < 0 for s in p.samples)" \
	"all(int(s[2]['arg3']) * -1000 == s[1][1] and s[2]['arg4'] == '7' for s in p.samples)"
run "$CPROF" record --strict -o s.pb.gz -e "usdt:$prog:shop:stack/value=arg1,period=10,stack-size=1K/" -- "$prog" 100
is "$status" 0 'an argument on the stack: recorded'
profile 'an argument on the stack, for every tenth hit' s.pb.gz 'n == 10' 'total == 10 * sum(range(10, 101, 10))'
run "$CPROF" record --strict -o f.pb.gz -e "usdt:$prog:shop:far/value=arg1,stack-size=1K/" -- "$prog" 100
is "$status" 2 'an argument in static memory: --strict fails'
like err '100 samples of probes without the value or a label' 'an argument in static memory: counted as unknown'
profile 'an unknown value counts nothing' f.pb.gz 'n == 100' 'total == 0'
run "$CPROF" record -o e.pb.gz -e "uprobe:$prog:odd" -- "$prog" 1
if [ "$(uname -m)" = x86_64 ]; then
	like err "uprobe:usdt:odd.*must single-step.*10 to 16 us" 'an instruction that is single-stepped: a warning'
else
	skip 'an instruction that is single-stepped: a warning' 'depends on the code'
fi

# A running process: without a path, and gone without trace after SIGKILL
mkfifo in.keep
semaphore() {
	"$PYTHON" -c "
m = open('/proc/$target/mem', 'rb')
m.seek($address)
raise SystemExit(not int.from_bytes(m.read(2), 'little') $1)" 2>/dev/null
}
# begin COMMAND...: a program that waits for a line; sets target and address
begin() {
	rm -f prog.keep
	exec 3<>in.keep
	background sh -c 'exec "$@" <in.keep >prog.keep' sh "$@"
	target=$pid
	wait_for 10 grep -q '^ready' prog.keep
	address=$(sed -n 's/^ready //p' prog.keep)
}
begin "$prog" 50 wait
background "$CPROF" record -q -p "$target" -e usdt:shop:order/value=arg2,stack-size=1K/ -o k.pb.gz
recorder=$pid
check 'the semaphore is set while cprof records' wait_for 10 semaphore '== 2'
kill -9 "$recorder"
wait "$recorder" 2>/dev/null
check 'the semaphore is 0 again after SIGKILL' wait_for 10 semaphore '== 0'
background "$CPROF" record -p "$target" -e usdt:shop:order/value=arg2,stack-size=1K/ -o p.pb.gz
recorder=$pid
wait_for 10 semaphore '== 2'
echo >&3
check 'a second recorder: the program goes on' wait_for 10 grep -q '^used 50$' prog.keep
kill -TERM "$recorder"
wait "$recorder"
is "$?" 0 'a running process: recorded'
profile 'a running process: every round' p.pb.gz 'n == 50' 'total == 1000 * 50 * 51 // 2'
check 'the semaphore is 0 again after SIGTERM' wait_for 10 semaphore '== 0'
refused 1 "no file with the probe 'shop:nothing'" 'a running process: no such probe' \
	record -p "$target" -e usdt:shop:nothing -o x.pb.gz
like err 'nearest names: shop:' 'a running process: near names'
echo >&3
wait "$target"
like prog.keep '^semaphore 0$' 'the program sees that, too'

# recorded_orders NAME: the program that waits has its 50 orders in a recording of it
recorded_orders() {
	background "$CPROF" record -p "$target" -e usdt:shop:order/value=arg2,stack-size=1K/ -o o.pb.gz
	recorder=$pid
	wait_for 10 semaphore '== 2'
	echo >&3
	wait_for 10 grep -q '^used' prog.keep
	kill -TERM "$recorder"
	wait "$recorder"
	profile "$1" o.pb.gz 'n == 50' 'total == 1000 * 50 * 51 // 2'
	rm -f o.pb.gz
}

# Files that have no name here: of another mount namespace, and deleted
cp "$prog" gone.keep
strip gone.keep 2>/dev/null
mkdir -p mount.keep
cat >inside.keep <<'END'
mount -t tmpfs none "$1" && cp "$2" "$1/hidden" && exec "$1/hidden" 50 wait
END
if unshare -m true 2>/dev/null; then
	begin unshare -m sh inside.keep "$PWD/mount.keep" gone.keep
	recorded_orders 'a stripped file in another mount namespace'
	run "$CPROF" list --probes "$target"
	like out '^Probes of .*/hidden$' 'list shows probes of another mount namespace'
	echo >&3
	wait "$target"
else
	skip 'a file in another mount namespace' 'unshare is not allowed'
fi
begin "$PWD/gone.keep" 50 wait
rm gone.keep
recorded_orders 'a deleted file'
echo >&3
wait "$target"

# Programs of the distribution
python3=/usr/bin/python3
if "$CPROF" list --probes "$python3" gc__start >/dev/null 2>&1; then
	run "$CPROF" record -o g.pb.gz -e "usdt:$python3:python:gc__start/label=generation:arg1/" -- \
		"$python3" -I -S -c 'import gc
for i in range(30): gc.collect()'
	is "$status" 0 "Python's own probes: recorded"
	profile "Python's own probes: each collection, with its generation" g.pb.gz \
		"sum(s[1][0] for s in p.samples if s[2].get('generation') == '2') >= 30"
else
	skip "Python's own probes" 'it has none'
fi
finish
