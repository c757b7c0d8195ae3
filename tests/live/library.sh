#!/bin/sh
# libcprof: programs record themselves, and the examples work as documented.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
EXAMPLES=$CPROF_BUILD_ROOT/tests/examples

# promises NAME ARG...: the promises that tests/prog/recorders.c documents
promises() {
	promises_name=$1
	shift
	run "$PROG/recorders" "$@"
	is "$status" 0 "$promises_name"
	unlike out ': no ' "$promises_name: no check fails"
}

# ---- the examples ------------------------------------------------------------------------

recording() {
	run "$EXAMPLES/example-recording" recording.pb.gz
	is "$status" 0 'example-recording: status 0'
	profile 'example-recording: the profile has only the recorded part' recording.pb.gz \
		"cum('sort_rows') > 0.9" \
		"cum('read_input') == 0" "cum('print_result') == 0" '150e6 < total < 600e6'
}
attempts 3 recording

# The rings of an ordinary user are small, and a program that records itself drains them when it
# can.
lost='False'
is_root || lost="names & {'[lost samples]'}"
threads() {
	run "$EXAMPLES/example-threads" .
	is "$status" 0 'example-threads: three threads record themselves at the same time'
	profile '199 Hz: only its own thread' 199.pb.gz "cum('parse') > 0.9 or $lost" \
		"cum('index_all') == cum('compress') == 0" '300e6 < total < 1200e6' 'n < 200'
	profile '499 Hz: only its own thread' 499.pb.gz "cum('index_all') > 0.9 or $lost" \
		"cum('parse') == cum('compress') == 0" '300e6 < total < 1200e6'
	profile '997 Hz: only its own thread' 997.pb.gz "cum('compress') > 0.9 or $lost" \
		"cum('parse') == cum('index_all') == 0" '300e6 < total < 1200e6' 'n > 300'
}
attempts 3 threads

if [ -x "$EXAMPLES/example-loop" ]; then
	loop() {
		run "$EXAMPLES/example-loop" loop.pb.gz
		is "$status" 0 'example-loop in C++: status 0'
		profile 'example-loop in C++: the profile has only the timed region' loop.pb.gz \
			"anywhere('benchmark_sort') > 0.9" "anywhere('make_input') < 0.01" '200e6 < total'
	}
	attempts 3 loop
else
	skip 'example-loop in C++: status 0' 'no C++ compiler'
fi

python() {
	run "$PYTHON" "$CPROF_SOURCE_ROOT/tests/examples/recording.py" \
		"$CPROF_BUILD_ROOT/lib/abi/libcprof.so.0" python.pb.gz
	is "$status" 0 'Python: a program records itself through ctypes'
	profile "Python: the profile has the program's CPU time" python.pb.gz \
		'250e6 < total < 1000e6' 'n > 50'
}
attempts 3 python

background "$EXAMPLES/example-server" . >server.out
wait_for 60 grep -q ready server.out || diag <server.out
for n in 1 2; do
	let_use "$pid" 300
	kill -USR2 "$pid"
	wait_for 60 grep -q "profile-$n" server.out
	profile "a server's profile number $n on SIGUSR2" "profile-$n.pb.gz" \
		"cum('serve_request') > 0.3" 'n > 20'
done
kill "$pid"
server_status=0
wait "$pid" || server_status=$?
is "$server_status" 0 'example-server: SIGTERM ends it as without recordings'

# ---- rules ---------------------------------------------------------------------------------

promises 'failures' errors

run "$PROG/recorders" conflict
if grep -q 'breakpoints: none' out; then
	skip 'a recorder whose event is in use is refused' 'no breakpoints'
else
	like out 'more breakpoints than there are: yes' \
		'a recorder whose event is in use is refused'
	like out 'debug registers' 'a recorder whose event is in use: the message gives the reason'
fi

rates() {
	promises 'three recorders with different rates, on one thread' rates
	for rate in 199 499 1999; do
		profile "three recorders: that with $rate Hz has the whole CPU time" \
			"rate-$rate.pb.gz" "cum('work_b') > 0.9 or names & {'[lost samples]'}" \
			'1000e6 < total < 2500e6'
	done
}
if is_root; then
	attempts 3 rates
else
	skip 'three recorders with different rates, on one thread' 'so large a ring needs root'
fi

family() {
	promises 'fork and exec' fork
	profile "the child's own profile" child.pb.gz "cum('work_child') > 0.9 or $lost" "cum('work_b') == 0"
	profile "the parent's profile has the parent, the child and the executed program" \
		family.pb.gz \
		"cum('work_b') > 0.1" "cum('work_child') > 0.1"
}
attempts 3 family

promises 'a recorder whose creating thread has ended' handover
loaded() {
	promises 'a recording in a constructor of a library loaded by dlopen' dlopen \
	"$PROG/recorderlib.so"
	profile 'a library loaded by dlopen: its profile has the work' library.pb.gz \
		"cum('work_b') > 0.3 or names & {'[lost samples]'}"
}
attempts 3 loaded

benchmark() {
	run "$EXAMPLES/example-benchmark" benchmark.pb.gz --benchmark_min_time=0.2
	is "$status" 0 'google-benchmark: timed loops are recorded'
	profile 'google-benchmark: only timed loops have samples, labelled with their benchmark' \
		benchmark.pb.gz \
		"anywhere('make_input') < 0.005" "anywhere('sorting_work') > 0.1" \
		"anywhere('counting_work') > 0.1" \
		"agree('benchmark', '(?:.*::)?(sorting|counting)_work') > 0.95"
}
if [ -x "$EXAMPLES/example-benchmark" ]; then
	attempts 3 benchmark
else
	skip 'google-benchmark' 'needs libbenchmark-dev'
fi

# ---- windows and leftovers -----------------------------------------------------------------

windows() {
	promises "windows of $1" "$1" 60 20 "$1.pb.gz"
	profile "windows of $1: less than 0.5 % of the samples are outside" "$1.pb.gz" \
		"cum('work_a') < 0.005" "cum('work_b') > 0.5" 'n > 300'
}
attempts 3 windows window
attempts 3 windows window-process
short() {
	promises 'windows of 2 ms' window-process 400 2 short.pb.gz
	profile 'windows of 2 ms: less than 0.5 % of the samples are outside' short.pb.gz \
		"cum('work_a') < 0.005" \
		"cum('work_b') > 0.5" 'n > 300'
}
attempts 3 short

promises '1000 recorders, one after the other, leave nothing behind' cycles 1000

if is_root; then
	unprivileged() {
		mkdir -p nobody && chmod 777 nobody
		run as_nobody sh -c 'cd nobody && "$0" recording.pb.gz' "$EXAMPLES/example-recording"
		is "$status" 0 'unprivileged: a part of a program is recorded'
		profile 'unprivileged: the profile has only that part' nobody/recording.pb.gz \
			"cum('sort_rows') > 0.9" "cum('read_input') == 0"
		# The first one must not use up all lockable memory.
		run as_nobody sh -c 'ulimit -l 8192 2>/dev/null; cd nobody && "$0" .' \
			"$EXAMPLES/example-threads"
		is "$status" 0 'unprivileged: several recorders share the lockable memory'
	}
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] &&
		as_nobody test -x "$EXAMPLES/example-recording"; then
		attempts 3 unprivileged
	else
		skip 'unprivileged: a part of a program is recorded' \
			'kernel.perf_event_paranoid, or the folder'
	fi
else
	skip 'unprivileged: a part of a program is recorded' 'needs root to give up rights'
fi

# ---- from an installed tree -----------------------------------------------------------------

if command -v pkg-config >/dev/null && command -v gcc >/dev/null; then
	# pkg-config does not support a folder with a space in its name
	root=$(mktemp -d /tmp/cprof-root.XXXXXX)
	at_end "rm -rf $root"
	DESTDIR=$root meson install -C "$CPROF_BUILD_ROOT" --no-rebuild --quiet >install.keep 2>&1 ||
		diag <install.keep
	pc=$(find "$root" -name libcprof.pc)
	lib=$(dirname "$(find "$root" -name libcprof.so)")
	PKG_CONFIG_SYSROOT_DIR=$root
	PKG_CONFIG_PATH=$(dirname "$pc")
	export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
	for how in shared static; do
		flags=$(pkg-config --cflags --libs libcprof)
		# our own archive, and the other libraries as installed
		[ $how = shared ] || flags="$(pkg-config --cflags libcprof) $lib/libcprof.a $(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --static --libs libcprof |
			sed 's/-L[^ ]*//; s/-lcprof//')"
		# shellcheck disable=SC2086 # a list of words
		run gcc -O2 -g -o "installed-$how" "$CPROF_SOURCE_ROOT/tests/examples/recording.c" $flags
		is "$status" 0 "an installed tree, $how: an example builds"
		run env LD_LIBRARY_PATH="$lib" "./installed-$how" "installed-$how.pb.gz"
		is "$status" 0 'an installed tree, $how: the example runs'
	done
	run find "$root" -name 'libcprof.3*'
	like out libcprof 'an installed tree: the man page is in it'
else
	skip 'an installed tree: an example builds' 'needs pkg-config and gcc'
fi
finish
