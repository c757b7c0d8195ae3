#!/bin/sh
# Which lock threads wait for, how often, how long, and who holds it: compared with a program that
# knows all of it.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

sites='contend_table contend_heap contend_inherit contend_robust'

# counts: a term for each, from the program's own figures in the file out
counts() {
	awk '/^contend/ { printf "abs(count(\"%s\") - %d) <= 1 and ", $1, $3 }
		END { print "True" }' out
}

# delays OFF_CPU_FILE: a dict of the times of each site by the program, in ns, but without those in
# which another task had the CPU: delay is what the thread waited for the lock
delays() {
	awk -v file="$1" 'BEGIN { printf "{" }
		/^contend/ { printf "\"%s\": %s * 1e9 - unblocked(\"%s\", \"%s\"), ", $1, $2, file, $1 }
		END { print "}" }' out
}

word() {
	awk -v name="$1" '$1 == name { print $2 }' out
}

names() {
	echo "{'table+8', '$(word heap)', 'inherit_lock', 'robust_lock'}"
}

launched() {
	run "$CPROF" record -e block,off-cpu --locks -o l.pb.gz -- "$PROG/lockers" 30 8
	is "$status" 0 'recorded'
	profile 'each contention is counted once' l.block.pb.gz "$(counts)"
	profile 'delays are those that the program measured, within 1 %' l.block.pb.gz \
		"all(abs(cum(n) * total - t) < 0.01 * t for n, t in $(delays l.off-cpu.pb.gz).items())"
	profile 'locks have the names of their variables, or addresses' l.block.pb.gz \
		"labels('lock') >= $(names)" \
		"all('inherit_lock' == r[2]['lock'] for r in rows if 'contend_inherit' in r[0])" \
		"all('robust_lock' == r[2]['lock'] for r in rows if 'contend_robust' in r[0])"
	profile 'and the thread that holds them' l.block.pb.gz \
		"labels('holder') == {'holder/$(word holder)'}" \
		"all(part(lambda r: n in r[0] and 'holder' in r[2]) > 0.5 * cum(n) for n in '$sites'.split())"
	rm -f l.*.pb.gz
}

# Those that made others wait.
released() {
	run "$CPROF" record -e mutex,block,off-cpu --locks -o m.pb.gz -- "$PROG/lockers" 30 8
	if grep -q 'tracefs' err; then
		skip 'who released the lock' "$(head -n 1 err)"
		return 0
	fi
	is "$status" 0 'recorded with wake-ups'
	profile 'each release that ended a wait is counted once' m.mutex.pb.gz \
		"abs(count('release') - 120) <= 1" "labels('lock') >= $(names)" "not labels('holder')"
	profile 'with the time that the others waited' m.mutex.pb.gz \
		"abs(cum('release') * total - sum($(delays m.off-cpu.pb.gz).values())) < 0.01 * total"
	profile 'other profiles of waits are not divided by locks' m.off-cpu.pb.gz \
		"not labels('lock')" "cum('contend_table') > 0"
	rm -f m.*.pb.gz
}

# They end before their holder can be read: it is the thread that has ended them.
short_waits() {
	run "$CPROF" record -e mutex,block --locks -o s.pb.gz -- "$PROG/lockers" 100 1
	grep -q tracefs err && return 0
	profile 'short waits for mutexes have the holder that released them' s.block.pb.gz \
		"labels('holder') == {'holder/$(word holder)'}" \
		"all(part(lambda r: n in r[0] and 'holder' in r[2]) == cum(n) > 0 for n in '$sites'.split())"
	rm -f s.*.pb.gz
}

live() {
	run "$CPROF" top --batch 1 -d 600ms --locks -- "$PROG/lockers" 10000 8
	is "$status" 0 'cprof top --locks'
	like out '^ +[0-9.]+% +[0-9.]+%  table\+8  held by holder/[0-9]+, 1 thread waits, mostly waiter/[0-9]+$' \
		'shows each lock, who holds it and who waits'
}

attached() {
	background "$PROG/lockers" 10000 30
	sleep 0.2
	run "$CPROF" record -e block --locks --duration 1 -o a.pb.gz -p "$pid"
	is "$status" 0 'a running program'
	profile 'has names and holders, too' a.pb.gz "'table+8' in labels('lock')" \
		"labels('holder') == {'holder/$pid'}"
	kill "$pid"
	rm -f a.pb.gz
}

# The program's memory has ids of its pid namespace, and the profile those outside.
in_namespace() {
	background unshare --pid --fork --kill-child "$PROG/lockers" 10000 30
	sleep 0.3
	inner=$(pgrep -P "$pid")
	run "$CPROF" record -e block --locks --duration 1 -o n.pb.gz -p "$inner"
	is "$status" 0 'in another pid namespace'
	profile 'holders by their ids outside of it' n.pb.gz "labels('holder') == {'holder/$inner'}"
	kill "$pid"
	rm -f n.pb.gz
}

# The addresses come from /proc.
by_nobody() {
	run as_nobody "$CPROF_HERE" record -e block --locks -o user.keep/u.pb.gz -- ./lockers.keep 15
	is "$status" 0 'without privileges'
	profile 'locks and holders of long waits' user.keep/u.pb.gz "labels('lock') >= $(names)" \
		"labels('holder') == {'holder/$(word holder)'}" \
		"part(lambda r: 'holder' in r[2]) > 0.3"
	run as_nobody "$CPROF_HERE" record -e block -o user.keep/u.pb.gz -- ./lockers.keep 1
	profile 'only on request' user.keep/u.pb.gz "not labels('lock') and not labels('holder')"
}

refused 1 'no event measures waits for locks' 'without such an event' \
	record -e off-cpu --locks -- true
# Without samples, /proc shows the arguments of the call.
without_registers() {
	run "$CPROF" record -e block --call-graph fp --locks -o r.pb.gz -- "$PROG/lockers" 15
	is "$status" 0 'without registers, as no sample is needed'
	profile 'locks of long waits' r.pb.gz "labels('lock') >= $(names)"
	rm -f r.pb.gz
}
if may_sample_kernel; then
	refused 1 'samples have only together with copies' 'without registers' \
		record -e block --call-graph fp --locks -- true
else
	attempts 3 without_registers
fi
attempts 3 launched
attempts 3 live
if is_root; then
	attempts 3 released
	attempts 3 short_waits
	attempts 3 attached
	if unshare --pid --fork true 2>/dev/null; then
		attempts 3 in_namespace
	else
		skip 'another pid namespace' 'no namespaces can be made'
	fi
	paranoid 2
	mkdir -m 777 user.keep
	cp "$PROG/lockers" lockers.keep
	CPROF_HERE=$T/cprof.keep
	cp "$CPROF" "$CPROF_HERE"
	attempts 3 by_nobody
else
	skip 'released, attached and without privileges' 'needs root'
fi
finish
