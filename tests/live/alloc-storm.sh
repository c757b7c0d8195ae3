#!/bin/sh
# --heap of a program that allocates in signal handlers, destructors of threads, and children of fork
# and vfork, with a sample every few blocks: it is not disturbed, and nothing is in use at its end.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
# the program's malloc, after the library
LD_PRELOAD=$(readlink -f "$PROG/safemalloc.so")
export LD_PRELOAD
storm() {
	run timeout 100 "$CPROF" record --heap=end -c "$1" --call-graph dwarf,2048 -o s.pb.gz -- "$PROG/allocstorm"
	is "$status" 0 "a sample in $1 bytes: recorded"
	is "$(cat out)" 'done, interrupted' "a sample in $1 bytes: the program is not disturbed"
	profile "a sample in $1 bytes: all parts of the program" s.pb.gz "count('on_signal') > 0" \
		"count('at_exit_of_thread') > 0" "count('run_children') > 0"
}
attempts 3 storm 64
attempts 3 storm 4096
if grep -q 'freed blocks lost' err; then
	like err 'what is in use is an upper bound' 'an end of a block was lost: the summary says what that means'
else
	profile 'nothing is in use at the end' s.pb.gz "cum('use') == 0" "cum('run_thread') == 0"
fi
finish
