# Test Anything Protocol for shell scripts. A test reads
#
#	. "$CPROF_SOURCE_ROOT/tests/lib.sh"
#	run "$CPROF" list
#	is "$status" 0 'list succeeds'
#	like out 'cpu-clock' 'cpu-clock is listed'
#
# Each test runs in its own empty folder $T, which is removed at the end. The plan is printed at the
# end, so a script that aborts is a failure.
# shellcheck shell=sh

: "${CPROF:?path of the cprof to test}" "${CPROF_PROG:?folder of the test programs}"
: "${CPROF_SOURCE_ROOT:?}" "${PYTHON:=/usr/bin/python3}"
export PROG="$CPROF_PROG"
tap_n=0
tap_failed=0
tap_pids=
tap_cleanup=:
LC_ALL=C
export LC_ALL
unset CDPATH

T=$(mktemp -d "${TMPDIR:-/tmp}/cprof-test.XXXXXX") || exit 99
chmod 755 "$T"
cd "$T" || exit 99

# Always cleans up background programs, mounts and files.
tap_end() {
	tap_status=$?
	trap - EXIT
	eval "$tap_cleanup"
	for tap_pid in $tap_pids; do
		kill -KILL "$tap_pid" 2>/dev/null
		wait "$tap_pid" 2>/dev/null
	done
	cd / && rm -rf "$T"
	if [ "$tap_status" -eq 0 ] && [ -z "${tap_done:-}" ]; then
		echo "Bail out! the script ended without 'finish'"
		tap_status=1
	fi
	exit "$tap_status"
}
trap tap_end EXIT
trap 'exit 130' INT TERM HUP

finish() {
	tap_done=1
	echo "1..$tap_n"
	[ "$tap_failed" -eq 0 ] || exit 1
	exit 0
}

diag() {
	sed 's/^/# /' | head -n "${1:-40}"
}

pass() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1"
}

# fail NAME: also shows what the last `run` printed
fail() {
	tap_n=$((tap_n + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_n - $1"
	[ -z "${run_command:-}" ] || {
		echo "# last command: $run_command; status ${status:-}"
		[ ! -s "$T/out" ] || { echo '# its stdout:'; tr -cd '[:print:]\n' <"$T/out" | diag 25; }
		[ ! -s "$T/err" ] || { echo '# its stderr:'; diag 25 <"$T/err"; }
	}
}

# skip NAME WHY: one assertion that cannot be tested here
skip() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# skip_all WHY: the whole script
skip_all() {
	echo "1..0 # SKIP $1"
	tap_done=1
	exit 0
}

# run COMMAND...: sets $status; stdout and stderr go to the files out and err
run() {
	run_command=$*
	status=0
	"$@" >"$T/out" 2>"$T/err" || status=$?
}

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		printf '%s\n' "got  '$1'" "want '$2'" | diag
	fi
}

# like FILE REGEX NAME: some line matches, ignoring case
like() {
	if grep -Eqi -e "$2" "$1"; then
		pass "$3"
	else
		fail "$3"
		echo "# no line of '$1' matches '$2'"
	fi
}

unlike() {
	if grep -Eqi -e "$2" "$1"; then
		fail "$3"
		echo "# a line of '$1' matches '$2'"
	else
		pass "$3"
	fi
}

# check NAME COMMAND...: the command succeeds
check() {
	check_name=$1
	shift
	if "$@" >"$T/check.out" 2>&1; then
		pass "$check_name"
	else
		fail "$check_name"
		echo "# failed: $*"
		diag 30 <"$T/check.out"
	fi
	rm -f "$T/check.out"
}

# profile NAME FILE EXPRESSION...: see pprof.py
profile() {
	profile_name=$1
	shift
	check "$profile_name" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" "$@"
}

# attempts N FUNCTION [ARG...]: the assertions of the function are measurements that other load can
# disturb; they are repeated at most N times, and the last time counts.
attempts() {
	attempts_left=$1
	attempts_n=$tap_n
	attempts_failed=$tap_failed
	shift
	while :; do
		"$@" >"$T/attempt.keep"
		attempts_left=$((attempts_left - 1))
		[ "$tap_failed" -gt "$attempts_failed" ] && [ "$attempts_left" -gt 0 ] || break
		sed -n 's/^not ok [0-9]* -/# to be tried again:/p' "$T/attempt.keep"
		tap_n=$attempts_n
		tap_failed=$attempts_failed
	done
	cat "$T/attempt.keep"
	rm -f "$T/attempt.keep"
}

# background COMMAND...: sets $pid; killed at the end
background() {
	"$@" &
	pid=$!
	tap_pids="$tap_pids $pid"
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
	wait_n=$(($1 * 50))
	shift
	while ! "$@" >/dev/null 2>&1; do
		wait_n=$((wait_n - 1))
		[ "$wait_n" -gt 0 ] || return 1
		sleep 0.02
	done
}

# cpu_ms PID: its CPU time so far
cpu_ms() {
	awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat" 2>/dev/null || echo 0
}

has_used() {
	[ "$(cpu_ms "$1")" -ge "$2" ]
}

# let_use PID MS: waits until it has used that much more CPU time, however busy the machine is
let_use() {
	wait_for 60 has_used "$1" $(($(cpu_ms "$1") + $2)) || echo "# $1 got no $2 ms of CPU time"
}

# runs PID FILE: does it execute this file?
runs() {
	[ "$(readlink "/proc/$1/exe")" = "$2" ]
}

# free_port: prints an unused port
free_port() {
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# no_files NAME: the folder contains no profile and no temporary one
no_files() {
	left=$(find . -mindepth 1 ! -name out ! -name err ! -name '*.keep' | sort | tr '\n' ' ')
	is "$left" '' "$1"
}

# recording PID: has cprof mapped the rings of its events, and does it wait for samples? (Some kernels
# name no function to wait in; a thread that runs waits in none.) An open event alone is not enough:
# cprof opens some to see what works.
recording() {
	grep -q 'perf_event' "/proc/$1/maps" 2>/dev/null &&
		grep -q '^State:.*sleeping' "/proc/$1/status" && grep -Eq 'poll|^0$' "/proc/$1/wchan"
}

# start_cprof ARG...: in the background, with SIGINT not ignored; sets $cprof_pid and returns when
# it records. stderr goes to the file err, stdout to out.
start_cprof() {
	run_command="cprof $*"
	env --default-signal=INT,TERM,HUP "$CPROF" "$@" >"$T/out" 2>"$T/err" &
	cprof_pid=$!
	tap_pids="$tap_pids $cprof_pid"
	wait_for 60 recording "$cprof_pid" || echo "# cprof $* does not record"
}

# start_ready COMMAND...: a program, in the background, that prints "ready"; sets $pid
start_ready() {
	rm -f ready.keep
	"$@" >ready.keep &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep
}

# record_pid FILE SECONDS OPTION...: records $pid at a rate that gives enough samples beside other
# programs; its summary as JSON goes to the file out.
record_pid() {
	record_file=$1 record_seconds=$2
	shift 2
	run "$CPROF" record --json --duration "$record_seconds" -F 4999 -e cpu-clock \
		-o "$record_file" "$@" -p "$pid"
	is "$status" 0 "recorded: $record_file"
}

# end_cprof: waits for it; sets $status
end_cprof() {
	status=0
	wait "$cprof_pid" || status=$?
}

# truth: the CPU time that the program printed last in the file out
truth() {
	sed -n 's/^cpu_ns //p' "${1:-$T/out}" | tail -n 1
}

# an unused pid
unused_pid() {
	sh -c 'echo $$'
}

# json EXPRESSION: its value for the last object that --json printed, `s`, and the first event, `e`
json() {
	"$PYTHON" -c '
import json, sys
s = [json.loads(line) for line in open("out") if line.startswith("{")][-1]
e = s["events"][0]
print(eval(sys.argv[1]))' "$1"
}

# json_is EXPRESSION: whether it is true
json_is() {
	[ "$(json "$1")" = True ]
}

# refused STATUS REGEX NAME ARG...: cprof exits with this status, prints the reason to stderr in
# lines that begin like all its messages, and leaves no file
refused() {
	refused_status=$1
	refused_regex=$2
	refused_name=$3
	shift 3
	find . -mindepth 1 >"$T/before.keep"
	run timeout 100 "$CPROF" "$@"
	refused_left=$(find . -mindepth 1 ! -name out ! -name err | grep -vxFf "$T/before.keep" | tr '\n' ' ')
	if [ "$status" -ne "$refused_status" ]; then
		fail "$refused_name: status $refused_status"
		return
	fi
	if ! grep -Eqi -e "$refused_regex" err; then
		fail "$refused_name: says '$refused_regex'"
		return
	fi
	if ! head -n 1 err | grep -q '^cprof'; then
		fail "$refused_name: the message begins with 'cprof'"
		return
	fi
	if [ -n "$refused_left" ]; then
		fail "$refused_name: leaves no file behind"
		echo "# left: $refused_left"
		return
	fi
	pass "$refused_name"
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

# as_nobody COMMAND...: without privileges; for `run` and `background`
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

need_root() {
	is_root || skip_all 'needs root'
}

# need PROGRAM...: skip the whole script unless all are installed
need() {
	for need_program; do
		command -v "$need_program" >/dev/null 2>&1 || skip_all "needs $need_program"
	done
}

# Skips the whole script if the kernel offers no events at all (some containers).
need_perf() {
	need_perf_why=$("$PROG/canperf") || skip_all "perf events: $need_perf_why"
}

# Does the kernel allow samples of switches?  Asked without the cprof that is tested.
may_sample_kernel() {
	"$PROG/canperf" kernel >/dev/null
}
# shellcheck disable=SC2034  # the tests use it
not_kernel='the kernel may not be sampled (kernel.perf_event_paranoid)'

# paranoid VALUE: kernel.perf_event_paranoid for the rest of this script
paranoid() {
	[ -n "${paranoid_before:-}" ] || {
		paranoid_before=$(cat /proc/sys/kernel/perf_event_paranoid)
		tap_cleanup="$tap_cleanup; echo $paranoid_before >/proc/sys/kernel/perf_event_paranoid"
	}
	echo "$1" >/proc/sys/kernel/perf_event_paranoid
}

# at_end COMMAND: also when the script aborts
at_end() {
	tap_cleanup="$1; $tap_cleanup"
}
