#!/bin/sh
# Without privileges: allowed recordings work and report what they left out; refusals name cause and
# remedy.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need setpriv

chmod 777 "$T"
CPROF_HERE=$T/cprof.keep
cp "$CPROF" "$CPROF_HERE"
cp "$PROG/spin" spin.keep
cp "$PROG/forks" forks.keep
chmod 755 ./*.keep

nobody() {
	as_nobody "$CPROF_HERE" "$@"
}

background "$PROG/sleeper" 60000 >/dev/null
roots=$pid
for level in 2 3 4; do
	paranoid $level
	rm -f ./*.pb.gz
	run nobody record -e cpu-clock -o user.pb.gz -- ./spin.keep 3 600
	if [ "$status" -eq 0 ]; then
		profile "paranoid $level: user code is recorded" user.pb.gz "cum('recurse') > 0.98" \
			"user_frames('^.kernel') == 0"
		like err 'user' "paranoid $level: the terminal says that the kernel is left out"
		profile "paranoid $level: the comments of the file say so, too" user.pb.gz \
			"re.search('(?i)user|kernel', comments)"
	else
		like err "perf_event_paranoid.* $level" "paranoid $level: names the setting"
		like err 'CAP_PERFMON|sysctl|or less' "paranoid $level: names the remedy"
		is "$(echo *.pb.gz)" '*.pb.gz' "paranoid $level: no file"
	fi
	run nobody record -e cpu-clock:k -o k.pb.gz -- ./spin.keep 3 100
	is "$status" 1 "paranoid $level: kernel only is refused"
	like err "perf_event_paranoid.* $level" "paranoid $level: kernel only: names the setting"
	check "paranoid $level: kernel only: no file" test ! -e k.pb.gz
	run nobody record -e cpu-clock --scope cpu -o c.pb.gz -- ./spin.keep 3 100
	is "$status" 1 "paranoid $level: --scope cpu is refused"
	like err 'paranoid|CAP_PERFMON' "paranoid $level: --scope cpu: says why"
	check "paranoid $level: --scope cpu: no file" test ! -e c.pb.gz
	run nobody record -e cpu-clock --duration 0.2 -o r.pb.gz -p "$roots"
	is "$status" 1 "paranoid $level: another user's process is refused"
	like err "$roots" "paranoid $level: another user's process: names it"
	like err 'permi|user|owner|CAP_' "paranoid $level: another user's process: says why"
	check "paranoid $level: another user's process: no file" test ! -e r.pb.gz
done

paranoid 1
rm -f ./*.pb.gz
run nobody record -e cpu-clock -o one.pb.gz -- ./spin.keep 3 600
is "$status" 0 'paranoid 1: recorded'
profile 'paranoid 1: functions have their names' one.pb.gz "cum('recurse') > 0.95"
paranoid -1
# The kernel removes the events of a process that executes a file with other rights.
cp "$PROG/spin" suid.keep && chmod 4755 suid.keep
run nobody record --scope task -e cpu-clock -o suid.pb.gz -- ./suid.keep 3 300
is "$status" 0 'a set-user-ID command: no profile, but its own status'
like err "no sample of 'cpu-clock'.* '.*suid.keep', which is set-user-ID" 'the message says why'
like err '--scope cpu' 'and what to do'
cp "$PROG/spin" unread.keep && chmod 0711 unread.keep
run nobody record --scope task -e cpu-clock -o unread.pb.gz -- ./unread.keep 3 300
like err "no sample of 'cpu-clock'.* '.*unread.keep', which may not be read" \
	'the same for a command that may not be read'
run nobody record --scope task -e cpu-clock -o suid.pb.gz -- sh -c './suid.keep 3 300; :'
# The shell may get a sample.
like err "no sample of 'cpu-clock'.* what the command has executed|lets no user record what is set-user-ID" \
	'the same for what a script runs'
paranoid 2
run nobody record --scope task -e cpu-clock -o suid.pb.gz -- sh -c \
	'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; ./suid.keep 3 300'
tr '\n' ' ' <err >line
like line 'in +programs that the kernel lets no user record' \
	'time of such a program is not called kernel time'
paranoid -1
rm -f suid.pb.gz
run "$CPROF" record -q -e cpu-clock -o suid.pb.gz -- ./suid.keep 3 300
is "$status" 0 'root records it'
rm -f suid.pb.gz suid.keep unread.keep

forks_by_nobody() {
	run nobody record -e cpu-clock -F 4999 -o all.pb.gz -- ./forks.keep 200
	is "$status" 0 'paranoid -1: recorded'
	used=$(truth)
	profile 'paranoid -1: 93 % of the CPU time is in the profile of an ordinary user' \
		all.pb.gz \
		"0.93 * $used <= total <= 1.05 * $used + 30e6"
}
attempts 3 forks_by_nobody
paranoid 2
run nobody record -e cpu-clock -o seen.pb.gz -- ./forks.keep 200
like err 'the target used .* of CPU time in total' \
	'paranoid 2: the CPU time of the target is reported, because many short processes are not sampled'
only_user() {
	run nobody record -e cpu-clock -o seen.pb.gz -- ./spin.keep 3 300
	unlike err 'the target used' 'paranoid 2: a process without kernel time: nothing is reported'
}
attempts 3 only_user
run nobody record -e cpu-clock -o seen.pb.gz -- dd if=/dev/zero of=/dev/null bs=1 count=1000000
like err 'CPU time in total: .* was spent in the' 'paranoid 2: the kernel time of one process is reported'
few_samples() {
	run nobody record -F 20 -e cpu-clock -o few.pb.gz -- dd if=/dev/zero of=/dev/null bs=1 count=600000
	like err 'CPU time in total: (about )?.* was spent in the' 'paranoid 2: with few samples, too'
}
attempts 3 few_samples
rm -f few.pb.gz
run "$CPROF" report seen.pb.gz
like out '^Missing: .* most of it in the kernel \(--info\)$' 'paranoid 2: so does a report of the file'
run "$CPROF" report --json seen.pb.gz
like out '"comments": .*"not in the profile: ' 'paranoid 2: and its JSON'
profile 'paranoid 2: the file has it, too' seen.pb.gz "'\nnot in the profile: ' in comments"

# A process of the same user.
setpriv --reuid=65534 --regid=65534 --clear-groups ./spin.keep 3 100000 >/dev/null &
own=$!
tap_pids="$tap_pids $own"
wait_for 60 runs "$own" "$T/spin.keep"
run nobody record -e cpu-clock --duration 0.5 -o own.pb.gz -p "$own"
is "$status" 0 'a process of the same user: recorded'
profile 'a process of the same user: functions have their names' own.pb.gz "cum('recurse') > 0.98"

# Without kallsyms, kernel frames are still marked as kernel frames.
hidden=$(cat /proc/sys/kernel/kptr_restrict)
at_end "echo $hidden >/proc/sys/kernel/kptr_restrict"
echo 2 >/proc/sys/kernel/kptr_restrict
mkdir cache.keep	# none of the names that an earlier recording may have kept
run env XDG_CACHE_HOME="$T/cache.keep" "$CPROF" record -e cpu-clock -F 2000 -o kptr.pb.gz -- dd if=/dev/zero of=/dev/null bs=4k count=300000
is "$status" 0 'kptr_restrict 2: recorded'
cat err out >both.keep
like both.keep 'kptr_restrict' 'kptr_restrict 2: the terminal says that kernel names are hidden'
profile 'kptr_restrict 2: the comments of the file say so, and every frame has a name' kptr.pb.gz \
	"'' not in names" \
	"re.search('kptr_restrict', comments)"
echo "$hidden" >/proc/sys/kernel/kptr_restrict

# Locked memory.
limit_kb=$(cat /proc/sys/kernel/perf_event_mlock_kb)
run sh -c "ulimit -l 0; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	'$CPROF_HERE' record -e cpu-clock --ring-size 64M -o ring.pb.gz -- ./spin.keep 3 100"
is "$status" 1 'a ring beyond the limit of locked memory is refused'
like err "perf_event_mlock_kb|RLIMIT_MEMLOCK|ulimit -l" 'a ring beyond the limit: names the limit'
like err "$limit_kb|ring-size" 'a ring beyond the limit: names its value or the remedy'
check 'a ring beyond the limit: no file' test ! -e ring.pb.gz
run sh -c "ulimit -l 0; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	'$CPROF_HERE' record -e cpu-clock -o fits.pb.gz -- ./spin.keep 3 500"
is "$status" 0 'the default ring works without locked memory'

# A folder without write permission.
mkdir closed.keep
chmod 755 closed.keep
run nobody record -e cpu-clock -o closed.keep/x.pb.gz -- ./spin.keep 3 100
is "$status" 1 'a folder that is not writable: status 1'
like err 'closed.keep.*: permission denied' 'a folder that is not writable: says so'
is "$(ls -A closed.keep)" '' 'a folder that is not writable: no file'
finish
