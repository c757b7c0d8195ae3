#!/bin/sh
# The frames around a signal handler are exact: the trampoline that the handler returns to has its own
# name, and the interrupted function the line where it was interrupted.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gcc

line=$(grep -n 'the fault' "$CPROF_SOURCE_ROOT/tests/prog/faults-first.S" | cut -d: -f1 | tail -n 1)
[ "$(uname -m)" != aarch64 ] || line=$((line - 2))

# handles NAME MODE: what has been recorded in s.pb.gz
handles() {
	profile "$1, $2: the handler hangs below the trampoline, this below the interrupted function" s.pb.gz \
		"through('^handler\$', '^(__restore_rt|__kernel_rt_sigreturn)\$', '^faults_first\$', '^reads\$', '^main\$') > 0.9"
	profile "$1, $2: at the interrupted line" s.pb.gz \
		"[l for f, l in lines('faults_first')] == [$line]" "'other' not in names"
}

for kind in dynamic static musl; do
	compiler=gcc
	case $kind in
	dynamic) options= ;;
	static) options=-static ;;
	musl)
		compiler=musl-gcc
		options='-static -Wl,--build-id'  # Debian's gcc passes that by itself
		command -v musl-gcc >/dev/null || continue
		;;
	esac
	# shellcheck disable=SC2086 # options are words
	check "$kind: builds" $compiler -D_GNU_SOURCE -O2 -g $options -o "$kind.keep" \
		"$CPROF_SOURCE_ROOT/tests/prog/faults.c" "$CPROF_SOURCE_ROOT/tests/prog/faults-first.S"
	run "$CPROF" record -q --user -e cpu-clock -o s.pb.gz -- "./$kind.keep"
	is "$status" 0 "$kind: recorded"
	handles "$kind" 'while it runs'
	run "$CPROF" record -q --user -e cpu-clock --no-symbols -o s.pb.gz -- "./$kind.keep"
	run "$CPROF" symbolize s.pb.gz
	handles "$kind" 'named later'
done

# Frame pointers lead past the interrupted function, but the trampoline is on their way.
check 'frame pointers: builds' gcc -D_GNU_SOURCE -O2 -g -static -fno-omit-frame-pointer -o fp.keep \
	"$CPROF_SOURCE_ROOT/tests/prog/faults.c" "$CPROF_SOURCE_ROOT/tests/prog/faults-first.S"
run "$CPROF" record -q --user -e cpu-clock --call-graph fp -o s.pb.gz -- ./fp.keep
profile 'frame pointers: the trampoline has its own name' s.pb.gz \
	"through('^handler\$', '^(__restore_rt|__kernel_rt_sigreturn)\$') > 0.9"
finish
