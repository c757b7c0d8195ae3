#!/bin/sh
# record -a with cycles; addresses of the kernel; jumps of the clock; and the example script of
# perf-record(1), unchanged: all processes, an event of the PMU, sleeps of up to 30 seconds.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup --bash

cat >man.sh.keep <<'END_OF_SCRIPT'
#!/bin/bash

ctl_dir=/tmp/

ctl_fifo=${ctl_dir}perf_ctl.fifo
test -p ${ctl_fifo} && unlink ${ctl_fifo}
mkfifo ${ctl_fifo}
exec {ctl_fd}<>${ctl_fifo}

ctl_ack_fifo=${ctl_dir}perf_ctl_ack.fifo
test -p ${ctl_ack_fifo} && unlink ${ctl_ack_fifo}
mkfifo ${ctl_ack_fifo}
exec {ctl_fd_ack}<>${ctl_ack_fifo}

perf record -D -1 -e cpu-cycles -a                       \
            --control fd:${ctl_fd},${ctl_fd_ack} \
            -- sleep 30 &
perf_pid=$!

sleep 5  && echo 'enable' >&${ctl_fd} && read -u ${ctl_fd_ack} e1 && echo "enabled(${e1})"
sleep 10 && echo 'disable' >&${ctl_fd} && read -u ${ctl_fd_ack} d1 && echo "disabled(${d1})"

exec {ctl_fd_ack}>&-
unlink ${ctl_ack_fifo}

exec {ctl_fd}>&-
unlink ${ctl_fifo}

wait -n ${perf_pid}
exit $?
END_OF_SCRIPT
# Only the name of the program is changed.
sed 's|^perf record|/payload/cprof record|' man.sh.keep >man.sh
cache=$(dirname "$guest_cross")
# shellcheck disable=SC2034 # for in_guest
guest_more="man.sh $cache/bash/bash $cache/bash/libtinfo.so.6"

# 'before' runs before the events are enabled, 'within' while they are enabled, and 'after' when
# they are disabled again.
in_guest system <<'END'
cp work before
cp work within
cp work after
mkdir script
(
	cd script
	{ sleep 2; ../before 20; sleep 7; ../within 200; sleep 9; ../after 20; } &
	LD_LIBRARY_PATH=/payload ../bash ../man.sh >"$OUT/script.out" 2>"$OUT/script.err"
	echo $? >"$OUT/script.status"
	cp cprof.*.pb.gz "$OUT/script.pb.gz"
	wait
)
./within 600 &
record all -a -e cycles -- ./before 100
wait
# Where the kernel was linked: by the kernel itself, and by its release alone.
{ uname -r; grep -E ' _s?text$' /proc/kallsyms; } >"$OUT/kernel"
ls -l /proc/kcore >"$OUT/kcore"
record linked --no-cache -a -e cycles -- ./before 20
mount --bind /dev/null /proc/kcore
record released --no-cache -a -e cycles -- ./before 20
# The clock of the day jumps to the year 2030, and then back to 2001.
{ sleep 0.3; date -s @1900000000; sleep 0.3; date -s @1000000000; } >/dev/null &
record jumps -e cycles -e cpu-clock -- ./work 300
cp jumps.*.pb.gz "$OUT" 2>/dev/null
wait
date +%s >"$OUT/date"
END

result system script
is "$status" 0 'the script of perf-record(1): status 0'
like out '^enabled\(ack\)$' "the script of perf-record(1): 'enable' is acknowledged"
like out '^disabled\(ack\)$' "the script of perf-record(1): 'disable' is acknowledged"
profile 'the script of perf-record(1): the profile has only programs of its window' "$pb" \
	"'within' in labels('process_name')" \
	"not labels('process_name') & {'before', 'after'}" \
	"part(lambda r: r[2]['process_name'] == 'within' and {'work_one', 'work_three'} & set(r[0])) > 0"
profile 'the script of perf-record(1): the profile has no idle task' "$pb" \
	"'0' not in labels('pid')"

# linked CASE WHAT: asserts that the kernel's text begins where vmlinux has _stext
linked() {
	result system "$1"
	check "$2: addresses of the kernel are those of vmlinux" "$PYTHON" -c '
import re, sys
sys.path.insert(0, sys.argv[1])
import pprof
release, *symbols = open(sys.argv[2]).read().splitlines()
major, minor = map(int, re.match(r"(\d+)\.(\d+)", release).groups())
modules = 2 << 30 if (major, minor) >= (6, 5) else 128 << 20
want = 0xffff800000000000 + modules + 0x10000
got = {m.start for m in pprof.Profile(sys.argv[3]).mappings.values()
       if m.file == "[kernel.kallsyms]" and m.start}
print(release, symbols, [hex(x) for x in got], hex(want))
sys.exit(got != {want})' "$CPROF_SOURCE_ROOT/tests" "$guest_out/kernel" "$pb"
}
like "$guest_out/kcore" kcore 'the guest has /proc/kcore'
linked linked 'with /proc/kcore'
linked released 'without /proc/kcore'

result system all
is "$status" 0 '-a with a command: status 0'
profile '-a with a command: the command and another process have samples' "$pb" \
	"{'before', 'within'} <= labels('process_name')" \
	"all(part(lambda r: r[2]['process_name'] == x and 'drive' in r[0]) > 0
		for x in ('before', 'within'))"

result system jumps
is "$status" 0 'jumps of the clock: status 0'
check 'jumps of the clock: the clock did jump' \
	test "$(cat system.keep/out/date)" -lt 1000100000
longest=$(summary 's["duration_ns"]')
check 'jumps of the clock: the duration is not affected' \
	test "$longest" -gt "$(summary 's["cpu_used_ns"]')" -a "$longest" -lt 60000000000
for event in cycles cpu-clock; do
	profile "jumps of the clock, $event: all samples are there, and the start is before them" \
		"system.keep/out/jumps.$event.pb.gz" 'n > 100' "cum('drive') > 0.9" \
		'p.time_nanos < 1900000000 * 10**9' 'p.time_nanos > 1000100000 * 10**9' \
		'p.duration_nanos < 60 * 10**9'
done
finish
