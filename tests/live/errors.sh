#!/bin/sh
# An impossible request fails at once with a message that names the cause, leaves no file behind,
# and keeps an existing file.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

gone=$(unused_pid)
refused 1 "$gone.*no such process" 'no such pid' record -e cpu-clock -o x.pb.gz -p "$gone"
refused 1 "$gone.*no such" 'no such tid' record -e cpu-clock -o x.pb.gz -t "$gone"
"$PYTHON" -c 'import os, time
p = os.fork()
if p == 0: os._exit(0)
print(p, flush=True)
time.sleep(60)' >zombie.keep &
tap_pids="$tap_pids $!"
wait_for 60 test -s zombie.keep
wait_for 60 grep -q '^State:.Z' "/proc/$(cat zombie.keep)/status"
refused 1 'zombie|ended|exited' 'a zombie' record -e cpu-clock -o x.pb.gz --duration 1 -p "$(cat zombie.keep)"
if is_root; then
	if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
		run timeout 100 "$CPROF" record -e cpu-clock -o x.pb.gz --duration 0.3 -p 2
		check 'a kernel thread: the recording ends by itself' test "$status" -ne 124
		like err 'kernel thread|sample' \
			'a kernel thread: the message says that it is one, or that it did not run'
		check 'a kernel thread that does not run: no file' test ! -e x.pb.gz
	else
		skip 'a kernel thread' 'pid 2 is not kthreadd here (a pid namespace)'
	fi
fi

# An idle target: no samples is an error with the likely cause.
"$PROG/sleeper" 60000 >/dev/null &
sleeper=$!
tap_pids="$tap_pids $sleeper"
refused 1 'no sample|not one sample|sample' 'a target that sleeps' \
	record -e cpu-clock -o x.pb.gz --duration 0.3 -p "$sleeper"
like err 'sleep|idle|not run|did not|used no|CPU time' \
	'a target that sleeps: the message says that it did not run'

# a server that waits for existing workers
sh -c '"$1" 60000 >/dev/null & echo $! >worker.keep; wait' sh "$PROG/sleeper" &
server=$!
tap_pids="$tap_pids $server"
wait_for 60 test -s worker.keep
refused 1 'there is no sample' 'a server without its workers' \
	record -e cpu-clock -o x.pb.gz --duration 0.3 -p "$server"
like err "processes of their own: --children, or -p $server,$(cat worker.keep), records" \
	'a server without its workers: the message names them'
kill -STOP "$sleeper"
refused 1 'the target was stopped' 'a target that is stopped' \
	record -e cpu-clock -o x.pb.gz --duration 0.3 -p "$sleeper"
like err "kill -CONT $sleeper" 'a target that is stopped: the message says how to continue it'
kill -CONT "$sleeper"
kill "$(cat worker.keep)"
refused 0 'ended before its delay was over' 'a command that ends before --delay' \
	record -e cpu-clock -o x.pb.gz --delay 60 -- true
refused 64 'name of a file' 'an output without a name' record -e cpu-clock -o '' -- true
run sh -c "ulimit -f 8; exec '$CPROF' record -e cpu-clock -F 10000 -o x.pb.gz -- \
	/usr/bin/python3 -c 'import json, unittest, http.client'"
is "$status" 1 'a limit on file sizes: status 1'
like err 'file too large' 'a limit on file sizes: the message says so'
no_files 'a limit on file sizes: no file'

# a command that ends at once
run timeout 100 "$CPROF" record -e cpu-clock -o x.pb.gz -- true
if [ -e x.pb.gz ]; then
	profile 'a command that ends at once: a valid profile' x.pb.gz 'n > 0'
else
	like err 'sample' 'a command that ends at once: the message says that there is no sample'
	like err 'short|-F|-c|ended|before|period' \
		'a command that ends at once: the message gives the reason or a remedy'
fi
rm -f x.pb.gz

# All its time is spent in the kernel, and only user code is sampled.
reads_only='dd if=/dev/urandom of=/dev/null bs=8M count=16 status=none'
# shellcheck disable=SC2086
run "$CPROF" record -q -F 200 -e cpu-clock:u -o x.pb.gz -- $reads_only
like err 'though the target used' 'a command that only reads: no sample of user code'
like err 'only user code or only kernel code was sampled' 'and the reason is not its timers'
if is_root; then
	mkdir -m 777 any.keep
	# shellcheck disable=SC2086
	run as_nobody "$CPROF" record -q -F 200 -e cpu-clock -o any.keep/x.pb.gz -- $reads_only
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 1 ]; then
		like err 'only its user code was sampled' 'and so for a user who may not sample the kernel'
	fi
fi
rm -f x.pb.gz

# the output
refused 1 "nowhere.*no such file" 'the folder of the output is missing' \
	record -e cpu-clock -o nowhere/x.pb.gz -- "$PROG/spin" 1 10
mkdir dir.keep
run "$CPROF" record -e cpu-clock -o dir.keep -- "$PROG/spin" 1 10
check 'the output is a folder: refused' test "$status" -ne 0
like err 'dir.keep.*director' 'the output is a folder: says so'
rmdir dir.keep
refused 64 'cpu-clock' 'the same event twice would be the same file' \
	record -e cpu-clock,cpu-clock -o x.pb.gz -- "$PROG/spin" 1 10
refused 64 'stdout|one event|several' 'two events to stdout' \
	record -e cpu-clock,page-faults -o - -- "$PROG/spin" 1 10

printf 'precious' >old.keep
for args in "-e cycles-nosuch" "-e cpu-clock -F 99999999" "-e cpu-clock -p $gone"; do
	case $args in
	*-p*) set -- ;;
	*) set -- -- "$PROG/spin" 1 10 ;;
	esac
	# shellcheck disable=SC2086 # words
	run timeout 100 "$CPROF" record $args -o old.keep "$@"
	check "$args: fails" test "$status" -ne 0
	is "$(cat old.keep)" precious "$args: the existing file is untouched"
done
start_cprof record -e cpu-clock -o old.keep -p "$sleeper" --duration 0.3
is "$(cat old.keep)" precious 'while recording, the existing file is untouched'
end_cprof
is "$(cat old.keep)" precious 'without samples the existing file is untouched'

# stdout
check '-o -: stdout has the file and nothing else' sh -c "'$CPROF' record -q -e cpu-clock -o - -- \
	sh -c '\"$PROG/spin\" 1 300 >/dev/null' | '$PYTHON' '$CPROF_SOURCE_ROOT/tests/pprof.py' - \
	\"cum('spin_leaf') > 0.5\""
run sh -c "'$CPROF' record -e cpu-clock -o - -- sh -c '\"$PROG/spin\" 1 300 >ran.keep' >&-"
check 'stdout closed: fails' test "$status" -ne 0
like err 'stdout.*bad file descriptor' 'stdout closed: says so'
check 'stdout closed: the command is not started' test ! -e ran.keep
run sh -c "'$CPROF' record --json -e cpu-clock -o j.pb.gz -- '$PROG/spin' 1 300 >&-"
is "$status" 1 'stdout closed, for the summary: fails'
is "$(grep -c 'cannot write' err)" 1 'stdout closed, for the summary: says so once'
rm -f j.pb.gz
if [ -e /dev/full ]; then
	run sh -c "'$CPROF' record -e cpu-clock -o - -- sh -c '\"$PROG/spin\" 1 300 >/dev/null' >/dev/full"
	check 'stdout full: fails' test "$status" -ne 0
	like err 'no space' 'stdout full: says so'
	run sh -c "'$CPROF' record --json -e cpu-clock -o j.pb.gz -- sh -c '\"$PROG/spin\" 1 300 >/dev/null' >/dev/full"
	check 'the summary cannot be written: fails' test "$status" -ne 0
	rm -f j.pb.gz
fi
if command -v script >/dev/null; then
	run script -qec "'$CPROF' record -e cpu-clock -o - -- true" tty.keep
	check 'to a terminal: refused' test "$status" -ne 0
	like tty.keep 'terminal' 'to a terminal: says so'
fi

# descriptors (The limits differ in what cprof can still open: the pipe to the command, an event, a
# ring, the file.)
for limit in 6 8 10 12 14; do
	run sh -c "ulimit -n $limit; exec '$CPROF' record -e cpu-clock,page-faults,task-clock,minor-faults \
		-o fd.pb.gz -- '$PROG/pagefaulter' 20000 20"
	if [ "$status" -eq 0 ]; then
		check "$limit descriptors: enough" test -e fd.cpu-clock.pb.gz
	else
		like err 'too many open files' "$limit descriptors: says so"
		like err 'raise the limit|ulimit -n|RLIMIT_NOFILE' "$limit descriptors: names the remedy"
		is "$(find . -name '*fd*')" '' "$limit descriptors: no file"
	fi
	[ "$limit" -ne 6 ] || check '6 descriptors: fails' test "$status" -ne 0
	find . -name '*fd*' -delete
done
# (--trigger opens folders first: the next descriptor, for a folder or for signals, is missing.)
for limit in 4 5 6; do
	run sh -c "ulimit -n $limit; exec '$CPROF' record --trigger 'cpu>99%' -o fd.pb.gz -- true"
	is "$status" 1 "$limit descriptors and --trigger: fails"
	like err 'ulimit -n' "$limit descriptors and --trigger: names the remedy"
done
run sh -c "ulimit -S -n 24; exec '$CPROF' record --scope task -e cpu-clock -o many.pb.gz --duration 0.3 -p \$0" "$sleeper"
unlike err 'too many open files' 'a soft limit below the hard one is raised'

# a full disk
if is_root && unshare -m true 2>/dev/null; then
	mkdir small.keep tmp.keep
	run unshare -m sh -c "mount -t tmpfs -o size=16k none small.keep &&
		printf old >small.keep/x.pb.gz; head -c 20000 /dev/zero >small.keep/filler 2>/dev/null
		TMPDIR='$T/tmp.keep' '$CPROF' record -e cpu-clock -F 20000 -o small.keep/x.pb.gz -- /usr/bin/python3 -c 'import json, re, decimal, email, http.client'
		echo status \$?; ls -A small.keep; cat small.keep/x.pb.gz"
	like out 'status 1$' 'a full disk: status 1'
	like err 'small.keep.*no space' 'a full disk: says so'
	is "$(grep -v status out | xargs)" 'filler x.pb.gz old' \
		'a full disk: no partial file, the existing one is untouched'
	like err 'the recording is in .*/tmp.keep/cprof-[^/]*/x.pb.gz. instead' \
		'a full disk: the recording is in a temporary directory, and cprof says where'
	is "$(stat -c %a tmp.keep/cprof-*)" 700 'a full disk: nobody else can read that'
	profile 'a full disk: the recording is complete' tmp.keep/cprof-*/x.pb.gz 'n > 100'
	rm -r tmp.keep
	run unshare -m sh -c "mount -t tmpfs -o size=16k none small.keep &&
		head -c 20000 /dev/zero >small.keep/filler 2>/dev/null
		TMPDIR='$T/small.keep' '$CPROF' record -e cpu-clock -F 20000 -o small.keep/x.pb.gz -- \
		/usr/bin/python3 -c 'import json, re, decimal, email, http.client, sys; sys.exit(7)'
		echo status \$?; ls -A small.keep"
	like out 'status 7$' 'a full disk, no other place: the status of the command'
	unlike err 'instead' 'a full disk, no other place: no other file is named'
	is "$(grep -v status out | xargs)" filler 'a full disk, no other place: nothing is left'
	run unshare -m sh -c "mount -t tmpfs -o size=1m none small.keep && mount -o remount,ro small.keep &&
		'$CPROF' record -e cpu-clock -o small.keep/x.pb.gz -- '$PROG/spin' 1 300; echo status \$?"
	like out 'status 1$' 'a read-only file system: status 1'
	like err 'small.keep.*read-only' 'a read-only file system: says so'
else
	skip 'a full disk' 'needs root and mount namespaces'
fi
# all or none
mkdir m.page-faults.pb.gz
run "$CPROF" record -e cpu-clock,page-faults -o m.pb.gz -- "$PROG/pagefaulter" 100000
check 'one of two files cannot be written: fails' test "$status" -ne 0
check 'one of two files cannot be written: the other is not written, either' \
	test ! -e m.cpu-clock.pb.gz
is "$(ls -A | grep -c '^\.')" 0 'one of two files cannot be written: nothing temporary is left'
finish
