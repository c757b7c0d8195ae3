#!/bin/sh
# tests/fuzz/run: what it prints and returns, with programs in place of the compiler and the targets.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
fuzz=$CPROF_SOURCE_ROOT/tests/fuzz/run
mkdir bin build build/tests build/tests/fuzz
for program in python3 sh dirname cat sleep rm; do
	ln -s "$(command -v $program)" bin/
done
cat >bin/clang <<'SH'
#!/bin/sh
echo 99.0.0
SH
cat >bin/ninja <<'SH'
#!/bin/sh
[ ! -e fails.keep ] || { echo 'error: it does not compile'; exit 1; }
SH
cp bin/ninja bin/meson
echo 'build tests/fuzz/fuzz-units: tests/fuzz/fuzz-gate:' >build/build.ninja
# A target that runs until the signal that ends targets, or finds something.
cat >build/tests/fuzz/fuzz-units <<'SH'
#!/bin/sh
end() {
	echo 'stat::number_of_executed_units: 1200' >&2
	exit 0
}
trap end USR1
printf '%s\n' '#3	INITED cov: 40 ft: 1' '#9	NEW    cov: 45 ft: 2' >&2
for word; do
	[ "$word" != -merge=1 ] || exit 0
	[ "$word" != -runs=0 ] || end
done
: >started.keep
while :; do sleep 0.05; done
SH
cat >build/tests/fuzz/fuzz-gate <<'SH'
#!/bin/sh
echo 'SUMMARY: AddressSanitizer: heap-buffer-overflow x.c:3' >&2
exit 77
SH
chmod +x bin/clang bin/ninja bin/meson build/tests/fuzz/fuzz-*
run_fuzz() { run env PATH="$T/bin" "$fuzz" --build build "$@"; }

for usage in '' '-1' 'x' '1 nosuch' '--nosuch 1'; do
	# shellcheck disable=SC2086 # a list of words
	run_fuzz $usage
	is "$status" 64 "usage error: '$usage'"
done
run_fuzz 1 nosuch
like err "there is no target 'nosuch'; the targets are: .*units" 'the targets are listed'

run_fuzz 0 units
is "$status" 0 'a target without findings'
like out '^units +[0-9]+ +1200 +[0-9]+ +40 +\+5 +0 +ok$' 'its line has what it reached'
like out '^0 of 1 targets have findings' 'and the last one the number of findings'
run_fuzz 0 units gate
is "$status" 1 'a target that finds something'
like out '^gate: SUMMARY: AddressSanitizer: heap-buffer-overflow x.c:3, see .*gate.log' 'the finding is printed'
like out '^1 of 2 targets have findings' 'and counted'

run_fuzz --coverage 0 units
is "$status" 0 '--coverage without the tools of LLVM'
like out 'coverage skipped: llvm-cov and llvm-profdata are missing; install the package llvm' 'is reported'
touch fails.keep
run_fuzz 0 units
is "$status" 1 'a target that does not compile'
like err 'it does not compile' "the compiler's message is printed"
rm fails.keep bin/clang
run_fuzz 0 units
is "$status" 1 'without clang'
like err 'clang is missing; install the packages clang' 'the packages are named'
cp bin/ninja bin/clang

env --default-signal=INT PATH="$T/bin" "$fuzz" --build build 1000 units gate >out 2>err &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 20 test -e started.keep
kill -INT $pid
status=0
wait $pid || status=$?
is "$status" 1 'SIGINT ends a long run; its status is that of the findings so far'
like out '^units +[0-9]+ +1200 .* ok$' 'and prints what the targets have reached'
finish
