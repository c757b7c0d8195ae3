#!/bin/sh
# The sum of each thread is its life: of threads that are born, stopped and killed while they wait,
# across exec and vfork, and while io_uring works for them.
# shellcheck disable=SC2046,SC2086  # lists of words
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need taskset

scenes='mixed killed stopped exec vfork uring'
labels=pid,tid,thread_name
chmod 777 "$T"
cp "$CPROF" cprof.keep
cp "$PROG/lives" lives.keep

# prefix root|nobody: what runs a program as that user
prefix() {
	[ "$1" = root ] || echo setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
}

# begin_later: lets the scenes begin when the recording has
begin_later() {
	rm -f go
	(
		wait_for 60 any_recording
		sleep 0.2
		touch go
	) &
	tap_pids="$tap_pids $!"
}
any_recording() {
	for any in $(pgrep -x cprof.keep); do
		[ "$(readlink "/proc/$any/exe")" = "$T/cprof.keep" ] && recording "$any" && return 0
	done
	return 1
}

# near FUNCTION EXPRESSION: the expression is near the time that the program was there
near() {
	echo "abs(($2) * total - site('$1', 'out')) < 0.02 * site('$1', 'out')"
}

# in_order NAME FILE: of all threads together
in_order() {
	profile "$1: the sum of each thread is its life" "$2" "lives('out') == []" \
		"all(l.get('state') for _, _, l in p.samples)"
}

# launched WHO
launched() {
	rm -f ./*.pb.gz
	run $(prefix "$1") ./cprof.keep record -e wall,off-cpu --labels $labels -o l.pb.gz -- ./lives.keep $scenes
	is "$status" 0 "launched $1"
	in_order "launched $1" l.wall.pb.gz
}

# attached WHO
attached() {
	rm -f go a.pb.gz
	background $(prefix "$1") ./lives.keep -w go $scenes >lives.out.keep
	wait_for 60 runs "$pid" "$T/lives.keep"
	begin_later
	run $(prefix "$1") ./cprof.keep record -e wall --labels $labels -o a.pb.gz -p "$pid"
	is "$status" 0 "attached $1"
	cp lives.out.keep out
	in_order "attached $1" a.pb.gz
}

# Its child waits for a CPU there, too.
vfork_waits() {
	launched "$1"
	profile "launched $1: the parent waits in vfork, and for no disk" l.off-cpu.pb.gz \
		"$(near vforks "part(lambda r: 'vforks' in r[0] and r[2]['pid'] == pid('vforks', 'out') and r[2]['state'] != 'disk')")"
}

# What they waited for, in the profile that was just recorded.
places() {
	vfork_waits root
	# Only samples have the kernel's part of a stack.
	stop=True
	may_sample_kernel && stop="path('schedule', 'do_signal_stop')"
	profile 'threads that are stopped are blocked, where they were' l.off-cpu.pb.gz \
		"$(near stopped "$stop and cum('spins_on') - part(lambda r: r[2]['state'] == 'preempted' and 'spins_on' in r[0])")"
	profile 'stacks that are longer than their copy' l.off-cpu.pb.gz "cum('large') > 0" \
		"part(lambda r: 'large' in r[0] and 'start_thread' in r[0]) > 0.8 * cum('large')"
	# Before its wait such a thread may lack a CPU.
	profile 'waits until death' l.off-cpu.pb.gz "all(
		part(lambda r: f in r[0] or r[2]['thread_name'] == f and r[2]['state'] in
			('preempted', 'runnable')) * total > 0.985 * life(f, 'out')
		for f in ('in_lock', 'in_read', 'in_sleep', 'in_poll'))"
	# In execl it may wait, too: for its other threads, and for a CPU.
	profile 'the new program, and what was before' l.off-cpu.pb.gz \
		"$(near executed_sleeps "cum('executed_sleeps')")" \
		"0.98 * site('executes', 'out') < cum('executes') * total" \
		"cum('executes') * total < 1.02 * site('executes', 'out') + site('execl', 'out')"
	if grep -q 'no io_uring' out; then
		skip 'io_uring' 'the kernel forbids it'
		return
	fi
	profile 'waits for completions of io_uring' l.off-cpu.pb.gz \
		"$(near waits_for_ring "cum('waits_for_ring')")"
}

# On one CPU a child cannot run before its creator waits, and threads get it in turn.
one_cpu() {
	run taskset -c "$cpu" ./cprof.keep record -e off-cpu --call-graph dwarf,4096 --labels pid \
		-o o.pb.gz -- ./lives.keep crowd vfork
	is "$status" 0 'on one CPU'
	profile 'stacks of preempted threads that are longer than their copy' o.pb.gz \
		"$(preempted "'crowds' in r[0]") > 0.2" \
		"$(preempted "'crowds' in r[0] and 'start_thread' in r[0]") > 0.8 * $(preempted "'crowds' in r[0]")"
	profile 'a new process waits where it was created' o.pb.gz \
		"part(lambda r: r[2]['state'] == 'runnable' and 'vforks' in r[0]) > 0"
	rm -f o.pb.gz
}
preempted() {
	echo "part(lambda r: r[2]['state'] == 'preempted' and $1)"
}

attempts 3 places
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
if may_sample_kernel; then
	attempts 3 one_cpu
else
	skip 'preempted threads and new processes on one CPU' "$not_kernel"
fi
attempts 3 attached root
if is_root; then
	paranoid 2
	attempts 3 vfork_waits nobody
	attempts 3 attached nobody
else
	skip 'without privileges' 'needs root'
fi
rm -f go ./*.pb.gz
finish
