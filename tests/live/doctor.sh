#!/bin/sh
# cprof doctor on the real machine: it changes nothing, its remedies are effective, and what it
# reports as working does work.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need setpriv

# state ID: the state of the finding in the JSON of the file out
state() {
	"$PYTHON" -c '
import json, sys
print([f["state"] for f in json.load(open("out"))["findings"] if f["id"] == sys.argv[1]][0])' "$1"
}

# remedies ID: the kinds of remedies, in order
remedies() {
	"$PYTHON" -c '
import json, sys
print(*[r["kind"] for f in json.load(open("out"))["findings"] if f["id"] == sys.argv[1]
	for r in f["remedies"]])' "$1"
}

run "$CPROF" doctor
check 'doctor: status 0 or 2 where something can be recorded' \
	test "$status" -eq 0 -o "$status" -eq 2
like out '^  ok +Own processes: user code can be sampled' 'doctor lists the things that work'
like out '^(Everything works|Recording works, within these limits)\.$' \
	'doctor: the last line sums up'
is "$(cat err)" '' 'doctor prints nothing to stderr'
run "$CPROF" doctor --json
is "$(state own-code)" ok 'doctor --json has the same findings'
is "$("$PYTHON" -c 'import json; print(json.load(open("out"))["status"])')" "$status" \
	'doctor --json has the exit status'
gone=$(unused_pid)
refused 1 "$gone.*no such process" 'a process that does not exist' doctor -p "$gone"
refused 64 'not a process id' '-p with text that is not a process id' doctor -p x
refused 64 'no arguments' 'an argument' doctor this
background "$PROG/sleeper" 60000 >/dev/null
"$PROG/mainexits" 100000 >mainexits.keep &
headless=$!
tap_pids="$tap_pids $headless"
wait_for 60 grep -q 'State:.Z' /proc/$headless/status
run "$CPROF" doctor -p $headless
like out 'ok +The process of -p: .*can be sampled' 'a process whose main thread has ended'
like out 'ok +Files of the process' 'a process whose main thread has ended: its files can be read'
kill $headless
run "$CPROF" doctor --json -p "$pid"
is "$(state process)" ok 'doctor -p: an own process can be sampled'

if ! is_root; then
	skip 'as another user' 'needs root'
	finish
	exit
fi
roots=$pid
chmod 777 "$T"
CPROF_HERE=$T/cprof.keep
cp "$CPROF" "$CPROF_HERE"
cp "$PROG/spin" spin.keep
chmod 755 ./*.keep
nobody() {
	as_nobody "$CPROF_HERE" "$@"
}

paranoid 2
run nobody doctor --json
is "$(state own-code)" ok 'paranoid 2: own user code can be sampled'
is "$(state kernel-code) $(remedies kernel-code)" 'limited option capability sysctl' \
	'paranoid 2: kernel code cannot be sampled, and the weakest remedy comes first'
is "$(state whole-cpus) $(remedies whole-cpus)" 'limited option capability sysctl' \
	'paranoid 2: whole CPUs cannot be sampled, and the weakest remedy comes first'
is "$status" 2 'paranoid 2: status 2'
paranoid 1
run nobody doctor --json
is "$(state kernel-code) $(state whole-cpus)" 'ok limited' \
	'paranoid 1: the suggested sysctl allows kernel code'
paranoid 0
run nobody doctor --json
is "$(state kernel-code) $(state whole-cpus)" 'ok ok' \
	'paranoid 0: the suggested sysctl allows whole CPUs'
paranoid 4
run nobody doctor
if [ "$status" -eq 1 ]; then
	like out 'Nothing can be recorded' 'paranoid 4 on a kernel that has it: nothing works'
else
	like out 'Recording works' 'paranoid 4 on a kernel without it: works as 2 does'
fi
paranoid 2
run nobody doctor --json -p "$roots"
is "$status $(state process)" '1 no' "another user's process: status 1"
if command -v setcap >/dev/null && setcap cap_perfmon,cap_sys_ptrace+ep "$CPROF_HERE" 2>/dev/null; then
	run nobody doctor --json -p "$roots"
	is "$(state kernel-code) $(state process)" 'limited no' \
		'the suggested capabilities give nothing to users who are in no group of the setting'
	if [ -e /etc/cprof.conf ]; then
		cp -p /etc/cprof.conf settings.keep
		at_end "cp -p '$T/settings.keep' /etc/cprof.conf"
	else
		at_end 'rm -f /etc/cprof.conf'
	fi
	echo 'allow-group = nogroup' >/etc/cprof.conf
	chmod 644 /etc/cprof.conf
	run nobody doctor --json -p "$roots"
	is "$(state kernel-code) $(state whole-cpus) $(state process) $(state uprobes)" \
		"ok ok ok $(state uprobes)" 'the suggested capabilities are sufficient for a group'
	setcap -r "$CPROF_HERE"
else
	skip 'the suggested capabilities are sufficient for a group' \
		'needs setcap, and a file system that keeps capabilities'
fi
run sh -c "ulimit -l 0; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	'$CPROF_HERE' doctor --json"
check 'locked memory: doctor tries to map a ring' \
	test "$(state locked-memory)" = ok -o "$(state locked-memory)" = limited
run sh -c "ulimit -n 100; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	'$CPROF_HERE' doctor --json"
is "$(state open-files) $(remedies open-files)" 'limited option rlimit' \
	'a low limit of open files is reported with its remedies'
run sh -c "ulimit -r 0; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	'$CPROF_HERE' doctor --json"
is "$(state priority) $(remedies priority)" 'limited option rlimit capability' \
	'a missing real-time priority is reported with its remedies'
# shellcheck disable=SC3045 # asked for here
if sh -c 'ulimit -r 1' 2>/dev/null; then
	run sh -c "ulimit -r 1; exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		'$CPROF_HERE' doctor --json"
	is "$(state priority)" ok 'the suggested limit of real-time priority is sufficient'
else
	skip 'the suggested limit of real-time priority is sufficient' \
		'this root may not raise limits'
fi
finish
