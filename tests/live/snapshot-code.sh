#!/bin/sh
# Snapshots of code by several compilers, with and without frame pointers, linked in several ways.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

mkfifo in.keep
exec 9<>in.keep

# compiled NAME COMMAND...: compiles the program, and checks a snapshot of it
compiled() {
	name=$1
	shift
	if ! "$@" -D_GNU_SOURCE -g -O2 -fno-optimize-sibling-calls -pthread -o "$name.keep" \
		"$CPROF_SOURCE_ROOT/tests/prog/blocked.c" 2>compile.keep; then
		skip "$name" "$1 cannot compile it"
		return
	fi
	rm -f ready.keep
	"./$name.keep" 40 10 <in.keep >ready.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep
	run "$CPROF" snapshot -p "$pid" --json
	check "$name: all stacks are right or marked" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out \
		'len(entries) == 51' 'all(q == "heuristic" for _, _, q in wrong)' 'right >= 41'
	kill -KILL "$pid"
}

compiled gcc gcc -fomit-frame-pointer
compiled gcc-fp gcc -fno-omit-frame-pointer
compiled gcc-O0 gcc -O0
compiled gcc-static gcc -static -fomit-frame-pointer
compiled gcc-static-fp gcc -static -fno-omit-frame-pointer
compiled gcc-nopie gcc -no-pie -fno-pie
compiled clang clang -fomit-frame-pointer
compiled clang-fp clang -fno-omit-frame-pointer
compiled musl musl-gcc -fomit-frame-pointer
compiled musl-static musl-gcc -static -fno-omit-frame-pointer

"$PROG/staleframe" >ready.keep &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q ready ready.keep
run "$CPROF" snapshot -p "$pid"
like out ' main' 'what an earlier function left on the stack: the real callers are found'
unlike out 'has_returned' 'and no frame that is gone'
run "$CPROF" record -q -e off-cpu --duration 0.2 -o p.pb.gz -p "$pid"
profile 'nor in a recording, whose first look at the stack is short' p.pb.gz \
	"cum('main') == 1" "cum('has_returned') == 0"
rm -f p.pb.gz
finish
