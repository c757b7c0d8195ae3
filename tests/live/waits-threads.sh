#!/bin/sh
# Threads that only wait cost next to nothing: each is read once, and cprof seldom wakes up.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# idle PREFIX...: as the user that this runs programs as
idle() {
	rm -rf idle.keep
	mkdir -m 777 idle.keep
	"$@" ./waiters.keep 300 >ready.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep
	run "$@" "$PYTHON" - ./cprof.keep record -q -e off-cpu --duration 3 -o idle.keep/i.pb.gz -p "$pid" <<-'END'
		import os, resource, sys
		status = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
		print("wakeups", resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw)
		sys.exit(status)
	END
	is "$status" 0 "idle threads $1"
	profile "each has its time and its stack $1" idle.keep/i.pb.gz \
		"abs(total - 301 * p.duration_nanos) < 0.001 * total" "cum('[no stack]') < 0.001" \
		"cum('wait_for_work') > 0.99"
	# Without a pause there would be one per millisecond.
	check "cprof seldom wakes up $1" awk '{ exit !($2 < 1000) }' out
	reads_once "$@"
	kill "$pid"
}

# reads_once PREFIX...: by the system calls of a recording.  LeakSanitizer fails in traced programs.
reads_once() {
	if ! strace -f -o /dev/null true 2>/dev/null; then
		skip "each thread is read once $1" 'needs strace'
		return
	fi
	run "$@" env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
		strace -f -e trace=openat,process_vm_readv -o idle.keep/calls \
		./cprof.keep record -q -e off-cpu --duration 1 -o idle.keep/s.pb.gz -p "$pid"
	is "$status" 0 "beside strace $1"
	check "each thread is read once $1" awk '
		/\/syscall"/ { n_calls++ }
		/\/comm"/ { n_names++ }
		/process_vm_readv/ { n_stacks++ }
		END {
			print n_calls, n_names, n_stacks
			exit !(n_calls >= 301 && n_calls <= 303 && n_names <= 310 && n_stacks <= 330)
		}' idle.keep/calls
}

cp "$CPROF" cprof.keep
cp "$PROG/idle" waiters.keep
attempts 3 idle env
if is_root; then
	paranoid 2
	attempts 3 idle setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
else
	skip 'idle threads of an ordinary user' 'that is who runs this test'
fi
finish
