#!/bin/sh
# Stacks and names on arm64: leaf functions without a frame, the kernel, the vDSO, deep recursion.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

# In many small turns for the rules of prologues and epilogues, which samples then hit, too.
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
profile 'a leaf without a frame: its caller is there' "$pb" \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
	"share('work_three') > 0.6" \
	"path('work_one', 'drive', 'main') >= 0.99 * share('work_one')" "roots('^_start$') > 0.99"
# The kernel's chain begins at the caller's frame, so that the caller itself is not in it.
result stacks frameless-fp
profile 'a leaf without a frame, by frame pointers: from its caller on, nothing is lost' "$pb" \
	"share('work_three') > 0.7" "cum('main') > 0.99" "roots('^_start$') > 0.99"

# 250 samples, of which one or so can be of the program's start or on the way down and up.
for case in deep deep-fp; do
	recorded stacks $case "$case"
	profile "$case: a recursion of a hundred is there" "$pb" "roots('^_start$') > 0.95" \
		"path('spin_leaf', *['recurse'] * 101, 'main') > 0.95"
done

# A processor that signs return addresses; the one above takes those instructions for nops.
export GUEST_CPU=max,pauth-impdef=on
in_guest signed <<'END'
grep -o -m1 -w paca /proc/cpuinfo >"$OUT/features"
record signed --scope task -e cycles:u -c 100003 -- ./work-signed 40
END
unset GUEST_CPU
is "$(cat "$T/signed.keep/out/features")" paca 'the guest has pointer authentication'
result signed signed
profile 'signed return addresses: the codes are taken off' "$pb" \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
	"share('work_three') > 0.7" "roots('^_start$') > 0.99"

recorded stacks kernel 'the kernel'
# An overflow waits until interrupts are allowed, and may meet the next one.
profile 'the kernel: one sample for each period, except a few' "$pb" \
	"$counted // 100003 - 10 <= n <= $counted // 100003" 'n > 500'
profile 'the kernel: its functions have names' "$pb" "named('kernel') > 0.99" \
	"share('__arch_clear_user') > 0.4"
profile 'the kernel: the chain of calls is whole' "$pb" \
	"path('__arch_clear_user', 'vfs_read', 'ksys_read') > 0.9 * share('__arch_clear_user')" \
	"cum('el0t_64_sync') > 0.95"
profile 'the kernel: the user part of the stack follows' "$pb" "roots('busybox') > 0.95"

recorded stacks sides 'user and kernel'
profile 'user and kernel: each process has its part' "$pb" "cum('work_three') > 0.2" \
	"share('__arch_clear_user') > 0.2" "roots('busybox|^_start$') > 0.9"

recorded stacks threads 'short threads and the vDSO'
profile 'short threads: all are seen' "$pb" "share('short_work') > 0.7" \
	"n > 0.4 * $counted / 10007"
profile 'the vDSO: has names and callers' "$pb" "cum('__kernel_clock_gettime') > 0.01" \
	"anywhere('clock_gettime@|^clock_gettime$|prog_clock_ns') >= cum('__kernel_clock_gettime')"
profile 'the vDSO and stubs of the linker: their callers are not skipped' "$pb" \
	"path('__kernel_clock_gettime', 'clock_gettime') > 0.9 * share('__kernel_clock_gettime')" \
	"path('clock_gettime@plt', 'prog_clock_ns') == share('clock_gettime@plt')" \
	"path('free@plt', 'main') == 0"
profile 'short threads: the stacks are whole' "$pb" "roots('truncated') < 0.01"
finish
