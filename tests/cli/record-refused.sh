#!/bin/sh
# For every error of perf_event_open(2), cprof record reports the failure, its cause and a remedy;
# it exits with status 1, does not start the command, and leaves no file.  A table has the machine,
# the errno, the kinds of events, the targets and the message; it covers each errno with each kind
# on each target.  The kernel's errors are injected below the library (tests/tools/refused.c);
# everything else is the real program.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need "$PYTHON"

refused=$CPROF_BUILD_ROOT/tests/tools/cprof-refused
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
	for counting in msr/tsc power/energy-pkg cstate_core/c6-residency; do
		pmu_file "${counting%/*}/type" "$((30 + ${#counting}))"
		pmu_file "${counting%/*}/format/event" config:0-7
		pmu_file "${counting%/*}/events/${counting#*/}" event=0x02
		[ "${counting%/*}" = msr ] || pmu_file "${counting%/*}/cpumask" 0
	done
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

background "$PROG/sleeper" 1000000 >/dev/null
target=$pid

# MACHINE|ERRNO...|EVENT...|TARGET...|MESSAGE[|FIELD]: each of the events on each of the targets
# fails with the errno; with a FIELD of the attr, only while that field is set.
# tests/tools/refused-table.c defines the words; `any` means all of them.
UPROBE=uprobe:$PROG/spin:main "$refused" --table "$target" >cells.keep <<'END'
# permission: the sysctl, another user's process, seccomp, lockdown, a security module
closed|EACCES|any|any|kernel.perf_event_paranoid is 4: .*get CAP_SYS_ADMIN .*or .*sysctl kernel.perf_event_paranoid=[012]
user|EACCES|switches cpu-clock:k cycles:k tracepoint|command -p -t|perf_event_paranoid is 2: .*only user code .*CAP_PERFMON .*sysctl kernel.perf_event_paranoid=1
user|EACCES|uprobe|command -p -t|probes change code that other processes run.*get CAP_PERFMON
user|EACCES|clock faults cycles precise cache raw term breakpoint member default|command -p -t|belongs to user [0-9]+ +run cprof as that user, or get CAP_PERFMON
user|EACCES|any|cpu|perf_event_paranoid is 2: .*whole CPUs and cgroups may not be sampled +record processes of your own .*or get CAP_PERFMON .*sysctl kernel.perf_event_paranoid=0
filtered|EPERM ENOSYS|any|any|a seccomp filter, as containers have, forbids perf_event_open +start the container with '--cap-add PERFMON'
locked|EPERM EACCES|any|any|the kernel is locked down for confidentiality
modules|EACCES|any|any|a security module .* may forbid perf events; active are: lockdown,capability,selinux
root|EPERM EACCES|any|any|a security module \(SELinux, AppArmor\) may forbid perf events
# no PMU, or none with this event
nopmu|EINVAL|cycles precise cache raw|any|no PMU that Linux can use.*use '-e cpu-clock', which needs no PMU
nopmu|ENOENT EOPNOTSUPP ENODEV ENXIO|cycles precise cache raw member|any|no PMU that Linux can use.*use '-e cpu-clock', which needs no PMU
root|ENOENT ENODEV ENXIO|any|any|this machine does not have the event +.*'cprof list' shows those of this machine
root|EOPNOTSUPP|cycles precise cache raw term member|any|this machine's PMU counts, but does not interrupt, so it cannot sample +use '-e cpu-clock'
root|EOPNOTSUPP|uncore|any|PMU 'uncore_imc' counts, but cannot sample
root|EOPNOTSUPP|clock faults switches tracepoint breakpoint default|any|this kernel, 5.4.0-old, does not know part of the request
root|EOPNOTSUPP|uprobe|any|this machine does not have the event
# somebody else has it, or there is no more of it
root|EBUSY ENOSPC|breakpoint|any|all debug registers of a CPU are in use +watch fewer addresses
root|EBUSY ENOSPC|cycles precise cache raw term uncore member|any|the PMU's counters are in use +stop other profilers.*sysctl kernel.nmi_watchdog=0
root|EBUSY ENOSPC|clock faults switches tracepoint uprobe default|any|the kernel has run out of a resource that this event needs +stop other profilers
root|EMFILE|any|any|this process may open only [0-9]+ files.*raise the limit
root|ENFILE|any|any|the limit is 4321 .*raise the limit: sysctl fs.file-max
root|ENOMEM|any|any|the kernel has no memory for it +record fewer
root|ESRCH|any|any|no such process or thread
root|ENOSYS|any|any|built without CONFIG_PERF_EVENTS
root|EOVERFLOW|any|any|kernel.perf_event_max_stack is 127
root|EINTR|any|any|a signal interrupted each of many attempts +record again
# a request that the kernel rejects, and the field responsible
root|E2BIG|any|any|the field 'sample_regs_user' is refused; it came with Linux 3.7, and this kernel, 5.4.0-old, may be older +use '--call-graph fp'
root|EINVAL|raw term|any|this machine's PMU refuses the code 0x11 +look it up
root|EINVAL|cache cycles precise|any|this machine does not have the event
root|EINVAL|clock faults switches tracepoint breakpoint uprobe default|any|this kernel, 5.4.0-old, does not know part of the request
root|EINVAL|uncore|any|PMU 'uncore_imc' counts, but cannot sample, and only whole CPUs, not processes +read it at the samples of an event that can: -e '[{]cpu-clock,uncore_imc/event=1/}:S' --scope cpu
root|EINVAL EOPNOTSUPP|msr/tsc/|any|PMU 'msr' counts, but cannot sample +read it at the samples of an event that can: -e '[{]cpu-clock,msr/tsc/}:S'
root|EINVAL EOPNOTSUPP|power/energy-pkg/|any|PMU 'power' counts, but cannot sample, and only whole CPUs, .*'[{]cpu-clock,power/energy-pkg/}:S' --scope cpu
root|EINVAL EOPNOTSUPP|cstate_core/c6-residency/|any|PMU 'cstate_core' counts, but cannot sample, and only whole CPUs
root|EINVAL|member|any|all events of a group count at the same time.* let it break up.*:W
root|EINVAL|cpu-clock:u cycles:u|any|the field 'exclude_kernel' is refused +leave out ':u' and --user|exclude_kernel
root|EINVAL|clock|any|the field 'sample_freq' is refused.* which is 0x3e7.* use another rate|sample_freq
root|EINVAL|clock cycles raw|any|the field 'sample_stack_user' is refused.*--call-graph|sample_stack_user
root|EINVAL|raw term uncore|any|refuses the code 0x1|config
root|EINVAL|term|any|the field 'sample_freq' is refused|sample_freq
root|EINVAL|uncore|any|PMU 'uncore_imc' counts, but cannot sample, and only whole CPUs|sample_freq
root|EINVAL|tracepoint|any|this machine does not have the event|config
END

while read -r verdict name; do
	case $verdict in
	ok) pass "$name" ;;
	not) fail "$name" ;;
	miss) fail "the table has a row for $name" ;;
	cells) pass "the table has rows for all $name cells: errno x event x target" ;;
	*) echo "$verdict $name" ;;
	esac
done <cells.keep
grep -q '^cells ' cells.keep || fail 'all rows of the table were tested'

# For an event that cprof chose itself there is a fallback, cpu-clock, which also fails here.
run env REFUSED_MACHINE="$T/root.keep" REFUSED_ERRNO="$("$PYTHON" -c 'import errno; print(errno.ENOENT)')" \
	"$refused" record -o d.pb.gz --scope task -- true
is "$status" 1 'without -e: status 1'
like err "cannot open event 'cpu-clock'.*No such file" \
	'without -e: the message is that of cpu-clock'
finish
