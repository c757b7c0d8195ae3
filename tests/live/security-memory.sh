#!/bin/sh
# Programs of another user whose memory belongs to a file system that does not answer: reading it
# would stop cprof for ever, and even SIGKILL could not end it.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/stuck.sh"

# recorded WHAT ARGUMENTS...
recorded() {
	what=$1
	shift
	run timeout -k 1 20 "$CPROF" record -v -p "$target" --duration 400ms -o p.pb.gz "$@"
	is "$status" 0 "$what: cprof ends, with a profile"
	like err '1 process whose memory did not answer' "$what: it says so"
	like err "process $target: its memory did not answer" "$what: -v shows which process"
	rm -f p.pb.gz
}

stuck stack
recorded 'frames of a thread that runs' -e task-clock
run timeout -k 1 20 "$CPROF" record --strict -p "$target" --duration 200ms -e task-clock -o p.pb.gz
is "$status" 2 '--strict fails'
rm -f p.pb.gz
interrupted 'frames of a thread that runs' -p "$target" -e task-clock
unstuck

stuck wait
recorded 'frames of a thread that waits' -e off-cpu
unstuck

stuck lock
recorded 'the lock that a thread waits for' -e block --locks
unstuck

stuck labels
background $nobody ./labelled 2 3000 1000 10000 >/dev/null
labelled=$pid
run timeout -k 1 20 "$CPROF" record -p "$target,$labelled" --duration 600ms -e task-clock -o p.pb.gz
is "$status" 0 'labels: cprof ends, with a profile'
like err '1 process whose memory did not answer' 'it says so'
profile 'the labels of other programs are there' p.pb.gz \
	"any(labels.get('task') for _, _, labels in p.samples)"
rm -f p.pb.gz
unstuck
kill -KILL "$labelled"

# All that reads this process's command line waits now, too: ps, pgrep and others.
chmod 666 zeros.keep
stuck map direct
recorded 'a process that holds the lock of its memory' -e off-cpu
run timeout -k 1 20 "$CPROF" snapshot -p "$target"
check 'cprof snapshot ends' test "$status" -lt 124
run timeout -k 1 20 "$CPROF" record -a -e cpu-clock --duration 300ms -o p.pb.gz
is "$status" 0 'all processes of the machine: cprof ends, with a profile'
like err 'process(es)? whose memory did not answer' 'it says so'
rm -f p.pb.gz
unstuck
rm -f stuckmem labelled
rmdir fs
finish
