#!/bin/sh
# A program of another user that holds the lock of its execve(2) for ever, by closing a file of a
# file system that does not answer: every program that reads its mappings or its memory, attaches to
# it, or with some kernels only looks at its state, waits for that lock.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/stuck.sh"

stuck exec
background $nobody ./labelled 2 30000 1000 10000 >/dev/null
other=$pid
# Another test may keep such programs, too.
silent='process(es)? whose memory did not answer'
task="any(labels.get('task') for _, _, labels in p.samples)"

# ends WHAT STATUS ARGUMENTS...: cprof does not wait for it
ends() {
	what=$1
	wanted=$2
	shift 2
	run timeout -k 1 10 "$CPROF" "$@"
	is "$status" "$wanted" "$what: cprof ends"
}
# recorded WHAT WANTED ARGUMENTS...: the profile has the program that answers
recorded() {
	what=$1
	there=$2
	shift 2
	ends "$what" 0 record --duration 300ms -o p.pb.gz "$@"
	like err "$silent" "$what: it says what is missing"
	profile "$what: other processes are there" p.pb.gz "$there"
	rm -f p.pb.gz
}

recorded 'events of threads' "$task" --scope task -p "$target,$other" -e task-clock
recorded 'waits' "cum('main') > 0" -p "$target,$other" -e off-cpu
recorded 'all processes' "$task" -a -e cpu-clock
recorded 'waits of all processes' "cum('main') > 0" -a -e off-cpu

ends 'nothing else to record' 1 record -p "$target" --scope task -e task-clock -o p.pb.gz
like err 'the process executes a program' 'it says why'
check 'no file' test ! -e p.pb.gz

ends 'snapshot of both' 0 snapshot -p "$target,$other" --json
check 'the threads of the other one have stacks' python3 - "$other" out <<'PY'
import json, sys
j = json.load(open(sys.argv[2]))
mine = [e for e in j['entries'] if e['pid'] == int(sys.argv[1])]
sys.exit(j['lost']['unanswered'] != 1 or len(mine) != 3 or
         any(f['function'] == '[no stack]' for e in mine for f in e['frames']))
PY
ends 'snapshot of it alone' 1 snapshot -p "$target"
like err 'does not answer' 'it says why'
ends 'snapshot of all processes' 0 snapshot -a
like out 'threads? of processes that did not answer' 'it says what is missing'
ends 'snapshot with stops' 0 snapshot --stop all -p "$target,$other"
like out '[1-3] were stopped' 'the threads of the other one were stopped'

run timeout -k 1 10 "$CPROF" doctor -p "$target"
check 'cprof doctor ends' test "$status" -lt 124

interrupted 'all processes' -a -e off-cpu
interrupted 'some processes' -p "$target,$other" -e off-cpu
unstuck
kill -KILL "$other"
rm -f stuckmem labelled
rmdir fs
finish
