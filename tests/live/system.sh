#!/bin/sh
# -a: all processes of the machine, including those in other namespaces and the kernel's threads.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

is_root && paranoid 2
ordinary() {
	if is_root; then
		as_nobody "$@"
	else
		"$@"
	fi
}
if ordinary "$CPROF" record -q -a -o n.pb.gz -- true 2>/dev/null; then
	skip 'unprivileged' 'everybody may sample whole CPUs here'
else
	run ordinary "$CPROF" record -a -e cpu-clock -o "$T/n.pb.gz" -- true
	is "$status" 1 'unprivileged: status 1'
	like err 'CAP_PERFMON' 'unprivileged: the message names the missing capability'
	like err "cprof doctor.*'Whole CPUs'" 'unprivileged: the message refers to cprof doctor'
fi
refused 64 'give no -p or -t' '-a and -p' record -a -p 1
refused 64 'the only --scope' '-a and a scope' record -a --scope task -- true
refused 64 'no-inherit' '-a and --no-inherit' record -a --no-inherit -- true
refused 64 "'x' is not a list" '-C with text that is not a list of CPUs' record -C 0,x -- true
refused 64 "'3-1' is not a list" '-C with a reversed range of CPUs' record -C 3-1 -- true
refused 1 'CPU 60000 is not online' '-C with a CPU that is not online' record -C 0,60000 -- true
if ! is_root; then
	skip 'whole CPUs' 'needs root'
	finish
fi

# Two programs, and one whose file exists only in its own namespace.
mkdir inner.keep
cp "$PROG/spin" oneapp
cp "$PROG/spin" twoapp
background ./oneapp 20 1000000
background ./twoapp 20 1000000
apps='oneapp twoapp'
if unshare -m -p -f true 2>/dev/null; then
	background unshare -m -p -f --kill-child sh -c "mount -t tmpfs none inner.keep &&
		cp '$PROG/spin' inner.keep/inapp && exec inner.keep/inapp 20 1000000"
	apps="$apps inapp"
	wait_for 10 sh -c 'grep -qx inapp /proc/[0-9]*/comm'
else
	skip 'a program in namespaces of its own' 'no namespaces can be made here'
fi
all() {
	run "$CPROF" record -a -e cpu-clock --json -o all.pb.gz -- sh -c 'sleep 1.5; exit 3'
	is "$status" 3 '-a with a command: the status is that of the command'
	for app in $apps; do
		profile "$app: named, and unwound to its main()" all.pb.gz \
			"sum(r[2]['process_name'] == '$app' for r in rows) > 0" \
			"part(lambda r: r[2]['process_name'] == '$app' and 'spin_leaf' in r[0] and 'main' in r[0]) > 0.9 * part(lambda r: r[2]['process_name'] == '$app') > 0"
	done
	profile 'no idle task, all samples with pid and name of their process' all.pb.gz \
		"'0' not in labels('pid')" "all('pid' in r[2] and 'process_name' in r[2] for r in rows)" \
		"'target: all processes; ' in comments" "p.mappings[1].file == '[several programs]'" \
		"all(l.mapping != p.mappings[1] for l in p.locations.values())"
	check '-a: the CPU time is at most that of all CPUs' "$PYTHON" -c "
import json
d = json.load(open('out'))
limit = d['duration_ns'] * d['cpus'] * 1.2 + 1e8
print(d['cpu_used_ns'], limit, d['own_samples'])
assert 0.3e9 < d['cpu_used_ns'] < limit and d['own_samples'] >= 0"
}
attempts 3 all

# The kernel's threads switch constantly.
run "$CPROF" record -a -e context-switches -c 1 --duration 1 -o kernel.pb.gz
is "$status" 0 '-a --duration, without a command: status 0'
if [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ]; then
	profile '-a: kernel threads have their names' kernel.pb.gz \
		"any(re.match('rcu|ksoft|kworker|migration|kthread', x) for x in labels('process_name'))"
	unlike err 'outside of this pid namespace' '-a outside of a pid namespace: no warning'
else
	like err 'outside of this pid namespace' 'cprof reports that a pid namespace hides processes'
fi
if unshare -p -f --mount-proc true 2>/dev/null; then
	run unshare -p -f --mount-proc "$CPROF" record -a -e cpu-clock -o inner.pb.gz -- \
		"$PROG/spin" 20 300
	like err 'outside of this pid namespace' \
		'-a in a pid namespace: cprof reports that processes are hidden'
	profile '-a in a pid namespace: the visible processes are recorded' inner.pb.gz \
		"cum('spin_leaf') > 0.5"
else
	skip 'in a pid namespace' 'no namespaces can be made here'
fi

cpu=$(sed 's/[,-].*//' /sys/devices/system/cpu/online)
run "$CPROF" record -C "$cpu" -e cpu-clock --labels cpu -q -o one.pb.gz -- \
	taskset -c "$cpu" "$PROG/spin" 20 500
is "$status" 0 '-C with one CPU: status 0'
profile '-C with one CPU: samples come from no other CPU' one.pb.gz \
	"labels('cpu') == {'$cpu'}" "cum('spin_leaf') > 0"

# Little memory: sums stay right.
run "$CPROF" record -a -e cpu-clock -F 4999 --max-memory 512K --json --duration 1 -o small.pb.gz
is "$status" 0 '-a with little memory: status 0'
check '-a with little memory: each sample is in the file' "$PYTHON" -c "
import json, sys
sys.path.insert(0, '$CPROF_SOURCE_ROOT/tests')
import pprof
d = json.load(open('out'))
e = d['events'][0]
v = pprof.View(pprof.Profile('small.pb.gz'))
print(v.n, e['samples'], e['lost'])
assert e['samples'] <= v.n <= e['samples'] + e['lost']"

# Processes that start and end during the recording.
run "$CPROF" record -a -e cpu-clock -F 4999 -q -o forks.pb.gz -- "$PROG/forks" 100
is "$status" 0 '-a with short-lived children: status 0'
profile '-a with short-lived children: they have the name of their program' forks.pb.gz \
	"'forks' in labels('process_name')"

run "$CPROF" top -a -e cpu-clock --batch 1 --interval 0.5s
is "$status" 0 'cprof top -a'
like out 'all processes' 'cprof top -a names its target'
finish
