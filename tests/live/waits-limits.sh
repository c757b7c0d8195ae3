#!/bin/sh
# Waits in containers, under a limit of CPU time, of stopped processes, and of programs that an
# ordinary user may not record.
# shellcheck disable=SC2046,SC2086  # lists of words
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need unshare

labels=pid,tid,thread_name
chmod 777 "$T"
cp "$CPROF" cprof.keep
cp "$PROG/lives" lives.keep
scenes='mixed killed exec vfork'
paranoid 2

# prefix root|nobody: what runs a program as that user
prefix() {
	[ "$1" = root ] || echo setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
}

lived() {
	is "$status" 0 "$1: recorded"
	profile "$1: the sum of each thread is its life" c.pb.gz "lives('out') == []"
	rm -f c.pb.gz
}

# of_container WHO: namespaces of its own, for users, processes and mounts
of_container() {
	run $(prefix "$1") ./cprof.keep record -e wall --labels $labels -o c.pb.gz -- \
		unshare -U -r -m -p -f --mount-proc ./lives.keep $scenes
	lived "a container as the command $1"
	rm -f go
	background $(prefix "$1") unshare -U -r -m -p -f --mount-proc ./lives.keep -w go $scenes >lives.out.keep
	wait_for 60 pgrep -P "$pid"
	inner=$(pgrep -P "$pid")
	(
		sleep 0.5
		touch go
	) &
	run $(prefix "$1") ./cprof.keep record -e wall --labels $labels -o c.pb.gz -p "$inner"
	cp lives.out.keep out
	lived "a running container $1"
}

inside_container() {
	run $(prefix "$1") unshare -U -r -m -p -f --mount-proc ./cprof.keep record -e wall --labels $labels \
		-o c.pb.gz -- ./lives.keep $scenes
	like err 'exact times by records of switches, stacks .* from /proc' \
		"cprof in a container $1: says how it measures"
	lived "cprof in a container $1"
}

# ---- a limit of CPU time

# A group that may run a fifth of the time; prints its folder.
limited_group() {
	for folder in "/sys/fs/cgroup/cprof-test-$$" "/sys/fs/cgroup/cpu/cprof-test-$$"; do
		mkdir "$folder" 2>/dev/null || continue
		if [ -e "$folder/cpu.max" ]; then
			echo '10000 50000' >"$folder/cpu.max"
		elif [ -e "$folder/cpu.cfs_quota_us" ]; then
			echo 50000 >"$folder/cpu.cfs_period_us"
			echo 10000 >"$folder/cpu.cfs_quota_us"
		else
			rmdir "$folder"
			continue
		fi
		echo "$folder"
		return
	done
}

throttled() {
	run ./cprof.keep record -e wall --labels $labels -o c.pb.gz -- sh -c \
		'echo $$ >"$1/cgroup.procs"; exec ./lives.keep mixed' sh "$group"
	profile 'a throttled group is preempted' c.pb.gz \
		"part(lambda r: 'spins' in r[0] and r[2]['state'] == 'running') < 0.5 * cum('spins')" \
		"part(lambda r: 'spins' in r[0] and r[2]['state'] == 'preempted') > 0.5 * cum('spins')"
	lived 'a throttled group'
}

# ---- stopped

# A process that is stopped before, and until after, the recording
stopped() {
	background $(prefix "$1") ./waits.keep 60
	sleep 0.3
	kill -STOP "$pid"
	wait_for 60 grep -q '^State:.*T' "/proc/$pid/status"
	run $(prefix "$1") ./cprof.keep record -e wall --labels $labels --duration 0.5 -o c.pb.gz -p "$pid"
	kill -KILL "$pid"
	is "$status" 0 "a stopped process $1"
	profile "all its threads wait all the time, where they were $1" c.pb.gz \
		"len(labels('tid')) == 9 and labels('state') <= {'blocked', 'sleeping', 'preempted'}" \
		"all(abs(label_share('tid', t) * total - p.duration_nanos) < 0.001 * p.duration_nanos for t in labels('tid'))" \
		"all(abs(cum(f) * total - p.duration_nanos) < 0.001 * p.duration_nanos for f in ('nap100ms', 'forever'))"
	rm -f c.pb.gz
}

# ---- set-user-ID

privileged() {
	cp lives.keep suid.keep
	chmod 4755 suid.keep
	run as_nobody ./cprof.keep record -e wall,off-cpu -o c.pb.gz -- sh -c './suid.keep mixed; :'
	is "$status" 0 'a shell that starts a set-user-ID program'
	like err '^  1 program not recorded: .*set-user-ID' 'what it does is missing, and reported'
	check 'what the shell waits for is there' test -s c.off-cpu.pb.gz
	profile 'also in the comments' c.off-cpu.pb.gz "'program not recorded: ' in comments"
	run as_nobody ./cprof.keep record -e wall --strict -o c.pb.gz -- ./suid.keep mixed
	is "$status" 2 '--strict fails'
	rm -f ./*.pb.gz
	run ./cprof.keep record -e wall --labels $labels -o c.pb.gz -- \
		setpriv --reuid=65534 --regid=65534 --clear-groups ./suid.keep mixed killed
	profile 'from its first process on' c.pb.gz \
		"part(lambda r: 'main' in r[0] and '__wait4' in r[0]) * total > p.duration_nanos"
	lived 'root records it'
	unlike err 'not recorded' 'and nothing is missing'
	rm -f suid.keep
}

if unshare -U -r -m -p -f --mount-proc true 2>/dev/null; then
	for user in root nobody; do
		attempts 3 of_container $user
		attempts 3 inside_container $user
	done
else
	skip 'containers' 'no user namespaces'
fi
group=$(limited_group)
if [ -n "$group" ]; then
	at_end "rmdir '$group' 2>/dev/null"
	attempts 3 throttled
else
	skip 'a limit of CPU time' 'no cgroup with a limit can be created'
fi
cp "$PROG/waits" waits.keep
attempts 3 stopped root
attempts 3 stopped nobody
attempts 3 privileged
finish
