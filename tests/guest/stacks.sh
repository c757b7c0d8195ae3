#!/bin/sh
# Stacks and names on arm64: leaf functions without a frame, the kernel, the vDSO, deep recursion.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

# work-frameless runs in many small turns, so that samples also hit prologues and epilogues.
in_guest stacks <<'END'
record frameless --scope task -e cycles:u -c 100003 -- ./work-frameless 40 0 0 0 10000
record frameless-fp --scope task --call-graph fp -e cycles:u -c 100003 -- ./work-frameless 40
record deep --scope task -e cycles:u -c 100003 -- ./spin 100 20
record deep-fp --scope task --call-graph fp -e cycles:u -c 100003 -- ./spin 100 20
record kernel --scope task -e cycles:k -c 100003 -- dd if=/dev/zero of=/dev/null bs=64k count=2000
record threads -e cycles:u -c 10007 -- ./shortthreads 500 100
record sides --call-graph dwarf,16384 -e cycles -c 100003 -- sh -c './work 10; dd if=/dev/zero of=/dev/null bs=64k count=500'
END
for case in frameless frameless-fp; do
	recorded stacks $case "$case"
	profile "$case: exactly floor(count / period) samples" "$pb" "n == $counted // 100003"
done
result stacks frameless
profile 'a leaf without a frame: its caller is not missing' "$pb" \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
	"share('work_three') > 0.6" \
	"path('work_one', 'drive', 'main') >= 0.99 * share('work_one')" "roots('^_start$') > 0.99"
# The kernel's chain begins at the caller's frame, so that the caller itself is not in it.
result stacks frameless-fp
profile "a leaf without a frame, by frame pointers: the caller's callers are complete" "$pb" \
	"share('work_three') > 0.7" "cum('main') > 0.99" "roots('^_start$') > 0.99"

# Of 250 samples, about one can be in the start of the program or on the way down and up.
for case in deep deep-fp; do
	recorded stacks $case "$case"
	profile "$case: all hundred levels of a recursion are present" "$pb" \
		"roots('^_start$') > 0.95" \
		"path('spin_leaf', *['recurse'] * 101, 'main') > 0.95"
done

# A processor that signs return addresses; the one above executes those instructions as no-ops.
export GUEST_CPU=max,pauth-impdef=on
in_guest signed <<'END'
grep -o -m1 -w paca /proc/cpuinfo >"$OUT/features"
record signed --scope task -e cycles:u -c 100003 -- ./work-signed 40
END
unset GUEST_CPU
is "$(cat "$T/signed.keep/out/features")" paca 'the guest has pointer authentication'
result signed signed
profile 'signed return addresses: the signatures are removed' "$pb" \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
	"share('work_three') > 0.7" "roots('^_start$') > 0.99"

recorded stacks kernel 'the kernel'
# An overflow waits until interrupts are enabled, and may merge with the next one.
profile 'the kernel: one sample for each period, at most ten fewer' "$pb" \
	"$counted // 100003 - 10 <= n <= $counted // 100003" 'n > 500'
profile 'the kernel: its functions have names' "$pb" "named('kernel') > 0.99" \
	"share('__arch_clear_user') > 0.4"
profile 'the kernel: the callchain is complete' "$pb" \
	"path('__arch_clear_user', 'vfs_read', 'ksys_read') > 0.9 * share('__arch_clear_user')" \
	"cum('el0t_64_sync') > 0.95"
profile 'the kernel: the user part of the stack follows' "$pb" "roots('busybox') > 0.95"

recorded stacks sides 'user and kernel'
profile 'user and kernel: each process has samples and roots' "$pb" "cum('work_three') > 0.2" \
	"share('__arch_clear_user') > 0.2" "roots('busybox|^_start$') > 0.9"

recorded stacks threads 'short threads and the vDSO'
profile 'short threads: at least 40 % of the expected samples' "$pb" "share('short_work') > 0.7" \
	"n > 0.4 * $counted / 10007"
profile 'the vDSO: its functions have names and callers' "$pb" \
	"cum('__kernel_clock_gettime') > 0.01" \
	"anywhere('clock_gettime@|^clock_gettime$|prog_clock_ns') >= cum('__kernel_clock_gettime')"
profile 'the vDSO and PLT stubs: their callers are not skipped' "$pb" \
	"path('__kernel_clock_gettime', 'clock_gettime') > 0.9 * share('__kernel_clock_gettime')" \
	"path('clock_gettime@plt', 'prog_clock_ns') == share('clock_gettime@plt')" \
	"path('free@plt', 'main') == 0"
profile 'short threads: less than 1 % of the stacks are truncated' "$pb" "roots('truncated') < 0.01"
finish
