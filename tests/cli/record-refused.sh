#!/bin/sh
# Whatever perf_event_open(2) answers: cprof record says what failed, why, and what to do; ends with
# status 1; does not start the command; leaves no file.  One table: the machine, the errno, which
# kinds of events, and what is said.  The kernel's answers are injected below the library
# (tests/tools/refused.c), and all else is the real program.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need "$PYTHON"

refused=$CPROF_BUILD_ROOT/tests/tools/cprof-refused
software='cpu-clock page-faults context-switches'
pmu='cycles cycles:ppp LLC-loads r11'
tracepoint=sched:sched_switch
breakpoint=mem:0x1000:w
uprobe=uprobe:$PROG/spin:main
uncore=uncore_imc/event=1/
special="$tracepoint $breakpoint $uprobe $uncore"

# pmu_file PATH TEXT
pmu_file() {
	mkdir -p "$dir/sys/bus/event_source/devices/${1%/*}"
	echo "$2" >"$dir/sys/bus/event_source/devices/$1"
}

# machine NAME PARANOID CAPABILITIES SECCOMP PMU
machine() {
	dir=$T/$1.keep
	mkdir -p "$dir/proc/self" "$dir/proc/sys/kernel" "$dir/proc/sys/fs" \
		"$dir/sys/bus/event_source/devices/software" "$dir/sys/devices/system/cpu" \
		"$dir/sys/kernel/security"
	printf 'Name:\tcprof\nUid:\t54321\t54321\t54321\t54321\nCapEff:\t%s\nSeccomp:\t%s\n' \
		"$3" "$4" >"$dir/proc/self/status"
	echo '0 0 4294967295' >"$dir/proc/self/uid_map"
	echo "$2" >"$dir/proc/sys/kernel/perf_event_paranoid"
	echo 100000 >"$dir/proc/sys/kernel/perf_event_max_sample_rate"
	echo 127 >"$dir/proc/sys/kernel/perf_event_max_stack"
	echo 1 >"$dir/proc/sys/kernel/nmi_watchdog"
	echo 5.4.0-old >"$dir/proc/sys/kernel/osrelease"
	echo 4321 >"$dir/proc/sys/fs/file-max"
	echo 0-1 >"$dir/sys/devices/system/cpu/online"
	pmu_file software/type 1
	[ "$5" = none ] || pmu_file cpu/type 4
	[ "$5" = none ] || pmu_file cpu/format/event config:0-7
	pmu_file uncore_imc/type 21
	pmu_file uncore_imc/cpumask 0
	pmu_file uncore_imc/format/event config:0-7
	pmu_file uprobe/type 9
	pmu_file uprobe/format/retprobe config:0
	mkdir -p "$dir/sys/kernel/tracing/events/sched/sched_switch"
	echo 314 >"$dir/sys/kernel/tracing/events/sched/sched_switch/id"
}

all_caps=000001ffffffffff
machine user 2 0000000000000000 0 pmu
machine closed 4 0000000000000000 0 pmu
machine root 2 $all_caps 0 pmu
machine nopmu 2 $all_caps 0 none
machine filtered 2 $all_caps 2 pmu
machine locked 2 $all_caps 0 pmu
echo 'none integrity [confidentiality]' >"$T/locked.keep/sys/kernel/security/lockdown"
machine modules 2 $all_caps 0 pmu
echo 'lockdown,capability,selinux' >"$T/modules.keep/sys/kernel/security/lsm"

# words LIST: with the events that a word of it stands for
words() {
	for word in $1; do
		case $word in
		software) echo "$software" ;;
		pmu) echo "$pmu" ;;
		tracepoint) echo "$tracepoint" ;;
		breakpoint) echo "$breakpoint" ;;
		uprobe) echo "$uprobe" ;;
		uncore) echo "$uncore" ;;
		*) echo "$word" ;;
		esac
	done
}

# errnum NAME
errnum() {
	"$PYTHON" -c "import errno; print(errno.$1)"
}

# once KIND WHAT ARG...: the row's errno for this event
once() {
	event=$1
	what=$2
	shift 2
	rm -f started.keep
	run env REFUSED_MACHINE="$T/$on.keep" REFUSED_ERRNO="$number" ${field:+REFUSED_FIELD=$field} \
		timeout 20 "$refused" record -e "$event" -o refused.pb.gz "$@"
	name="$on: $errno${field:+ of $field}, $event, $what"
	tr '\n' ' ' <err >said.keep
	if [ "$status" -ne 1 ]; then
		fail "$name: status 1"
	elif ! head -n 1 err | grep -q '^cprof record: cannot open event '; then
		fail "$name: what failed"
	elif ! head -n 1 err | grep -qF "$text"; then
		fail "$name: the errno's text"
	elif ! grep -Eq -e "$regex" said.keep; then
		fail "$name: '$regex'"
	elif [ -e started.keep ]; then
		fail "$name: the command did not start"
	elif [ -e refused.pb.gz ]; then
		fail "$name: no file"
	else
		pass "$name"
	fi
}

background "$PROG/sleeper" 100000 >/dev/null
target=$pid

while IFS='|' read -r on errno kinds regex field; do
	case $on in
	'' | '#'*) continue ;;
	esac
	number=$(errnum "$errno")
	text=$("$PYTHON" -c "import os; print(os.strerror($number))")
	case $kinds in
	any) kinds="$software $pmu $special" ;;
	esac
	for kind in $(words "$kinds"); do
		once "$kind" command --scope task -- touch started.keep
		once "$kind" '-p' --scope task -p "$target"
	done
done <<'END'
# permission: the sysctl, another user's process, seccomp, lockdown, a security module
closed|EACCES|any|kernel.perf_event_paranoid is 4: .*get CAP_PERFMON .*or .*sysctl kernel.perf_event_paranoid=[12]
user|EACCES|context-switches cpu-clock:k cycles:k|perf_event_paranoid is 2: .*only user code .*CAP_PERFMON .*sysctl kernel.perf_event_paranoid=1
user|EACCES|tracepoint|perf_event_paranoid is 2: .*CAP_PERFMON .*sysctl kernel.perf_event_paranoid=-?1
user|EACCES|uprobe|probes change code that others run.*get CAP_PERFMON
user|EACCES|cpu-clock page-faults cycles LLC-loads r11|belongs to user [0-9]+ +run cprof as that user, or with CAP_PERFMON
filtered|EPERM|any|a seccomp filter, as containers have, forbids perf_event_open +start the container with '--cap-add PERFMON'
filtered|ENOSYS|any|a seccomp filter, as containers have, forbids perf_event_open
locked|EPERM|any|the kernel is locked down for confidentiality
locked|EACCES|any|the kernel is locked down for confidentiality
modules|EACCES|any|a security module .* may forbid perf events; active are: lockdown,capability,selinux
root|EPERM|any|a security module \(SELinux, AppArmor\) may forbid perf events
# no PMU, or none with this event
nopmu|ENOENT|pmu|no PMU that Linux can use.*use 'cpu-clock', which needs none
nopmu|EOPNOTSUPP|pmu|no PMU that Linux can use.*use 'cpu-clock', which needs none
nopmu|ENODEV|pmu|no PMU that Linux can use.*use 'cpu-clock', which needs none
nopmu|EINVAL|pmu|no PMU that Linux can use.*use 'cpu-clock', which needs none
root|ENOENT|any|this machine does not have the event +'cprof list' shows which it has
root|ENODEV|any|this machine does not have the event
root|EOPNOTSUPP|pmu|this machine's PMU counts, but does not interrupt, so it cannot sample +use 'cpu-clock'
root|EOPNOTSUPP|software|this kernel, 5.4.0-old, does not know a part of the request
# somebody else has it, or there is no more of it
root|EOPNOTSUPP|tracepoint breakpoint|this kernel, 5.4.0-old, does not know a part of the request
root|EOPNOTSUPP|uprobe|this machine does not have the event
root|EOPNOTSUPP|uncore|does not interrupt, so it cannot sample
root|EBUSY|breakpoint|all debug registers of a CPU are in use +watch fewer addresses
root|ENOSPC|breakpoint|all debug registers of a CPU are in use
root|EBUSY|software pmu tracepoint uprobe uncore|the PMU's counters are in use +stop other profilers.*sysctl kernel.nmi_watchdog=0
root|EMFILE|any|this process may have [0-9]+ files open.*raise the limit
root|ENFILE|any|the limit is 4321; .*raise sysctl fs.file-max
root|ENOMEM|any|the kernel has no memory for it +record fewer
root|ESRCH|any|no such process or thread
root|ENOSYS|any|built without CONFIG_PERF_EVENTS
root|EOVERFLOW|any|kernel.perf_event_max_stack is 127
# a request that the kernel does not take, and the field of it
root|E2BIG|any|the field 'sample_regs_user' is refused +use '--call-graph fp'; it came with Linux 3.7: this kernel, 5.4.0-old, may be older
root|EINVAL|r11|this machine's PMU refuses the code 0x11 +look it up
root|EINVAL|LLC-loads cycles|this machine does not have the event
root|EINVAL|software|this kernel, 5.4.0-old, does not know a part of the request
root|EINVAL|cpu-clock:u cycles:u|the field 'exclude_kernel' is refused +leave out ':u' and --user|exclude_kernel
root|EINVAL|cpu-clock|the field 'sample_freq' is refused.* which is 0x3e7 +ask for another rate|sample_freq
root|EINVAL|cpu-clock cycles r11|the field 'sample_stack_user' is refused.*--call-graph|sample_stack_user
root|EINVAL|r11 uncore|refuses the code 0x1|config
root|EINVAL|uncore|does not interrupt, so it cannot sample|sample_freq
root|EINVAL|tracepoint|this machine does not have the event|config
END

# An event that cprof chose itself has one more rung: the clock, which here is refused, too.
on=root errno=ENOENT field='' number=$(errnum ENOENT)
run env REFUSED_MACHINE="$T/root.keep" REFUSED_ERRNO="$number" "$refused" record -o d.pb.gz --scope task -- true
is "$status" 1 'without -e: status 1'
like err "cannot open event 'cpu-clock'.*No such file" 'without -e: the clock was tried'
finish
