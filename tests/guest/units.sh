#!/bin/sh
# The unit tests of modules that depend on the architecture or on its kernel pass on arm64.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"

units='test-arch test-arm64code test-cfi test-cfi-code test-cfi-eval test-counts test-cpus test-cputime test-demangle
	test-evattr test-evcause test-evopen test-evspec test-frames test-host test-labels test-live
	test-merge test-procs test-record test-record-kernel test-replay test-ring test-stacks
	test-stack-walk test-symkask test-symkernel test-symkernel-cache test-synth test-unwind test-unwind-self'
guest_programs=
for unit in $units; do
	guest_programs="$guest_programs tests/unit/$unit"
done
guest_setup

in_guest units <<'END'
# as on other machines; test-ring asks for more memory than it may have
echo 2 >/proc/sys/kernel/perf_event_paranoid
for unit in test-*; do
	timeout 60 "./$unit" >"$OUT/$unit.out" 2>&1
	echo $? >"$OUT/$unit.status"
done
END

for unit in $units; do
	result units "$unit"
	n=$(grep -Ec '^ok ' out)
	plan=$(sed -n 's/^1\.\.\([1-9][0-9]*\)$/\1/p' out)
	grep -Ev '^ok ' out >rest.keep
	mv rest.keep out
	is "$status, $n of $plan" "0, $n of $n" "$unit: all its assertions hold"
done
finish
