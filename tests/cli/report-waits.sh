#!/bin/sh
# Reports of waits: the function that waits, states, pools, and idle threads, which are left out.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/browser/profiles.py" waits "$T" || exit 99

# The total in ms, and NAME=FLAT/CUM of each row, from the JSON in the file out.
rows() {
	"$PYTHON" -c 'import json
t = json.load(open("out"))
print(t["total"] // 10**6, *("%s=%d/%d" % (x["name"], x["flat"] // 10**6, x["cum"] // 10**6)
	for x in t.get("functions") or t["rows"]))'
}

run "$CPROF" report wall.pb.gz
like out '^Total: 4000ms of thread time in 2s: 2\.00 threads on average$' 'the total is thread time'
like out '^States: blocked 3s, preempted 500ms, running 500ms$' 'its states'
like out '^Threads: io-# 2s, main 2s$' 'its threads: those of a pool together'
like out '^Idle, not shown: pool 4s, event-loop 2s \(--idle shows it\)$' 'idle threads have one line'
run "$CPROF" report --json --limit 3 wall.pb.gz
is "$(rows)" '4000 serve=2000/2000 fetch=1500/1500 clear_page=500/500' \
	'flat belongs to the function that waits; shares are without idle threads'
check 'JSON has states, pools and idle threads' "$PYTHON" -c '
import json
t = json.load(open("out"))
assert t["states"] == {"blocked": 3 * 10**9, "preempted": 5 * 10**8, "running": 5 * 10**8}, t
assert t["pools"] == {"io-#": 2 * 10**9, "main": 2 * 10**9}, t
assert t["idle"] == {"pool": 4 * 10**9, "event-loop": 2 * 10**9}, t'
run "$CPROF" report --json --idle --limit 2 wall.pb.gz
is "$(rows)" '10000 worker=4000/4000 serve=2000/2000' '--idle: all threads'
run "$CPROF" report --json --tag idle=pool wall.pb.gz
is "$(rows | cut -d' ' -f1,2)" '10000 worker=4000/4000' '--tag idle=pool shows them, too'
run "$CPROF" report --json --by idle wall.pb.gz
is "$(rows)" '10000 (none)=4000/4000 pool=4000/4000 event-loop=2000/2000' 'so does --by idle'
run "$CPROF" report --json --by pool --idle wall.pb.gz
is "$(rows)" '10000 w-#=4000/4000 io-#=2000/2000 loop=2000/2000 main=2000/2000' \
	'--by pool adds up threads with numbers'
run "$CPROF" report --json --tag thread_name=main wall.pb.gz
check 'filters apply to the states' "$PYTHON" -c '
import json
t = json.load(open("out"))
assert t["states"]["blocked"] == 10**9 and t["pools"] == {"main": 2 * 10**9} and t["idle"] == {}, t'
run "$CPROF" report --json --sample-type samples wall.pb.gz
check 'counts are without idle threads, too' "$PYTHON" -c '
import json
t = json.load(open("out"))
assert t["total"] == 680 and t["idle"] == {"pool": 2, "event-loop": 1}, t'
run "$CPROF" report --folded wall.pb.gz
unlike out 'epoll_wait|worker' 'folded stacks are without idle threads'
like out '^main;run;fetch;poll;schedule 1000000000$' 'and whole'
run "$CPROF" report --tree wall.pb.gz
like out '2000ms +50\.00% .* serve$' 'so are trees'
run "$CPROF" report --svg w.svg wall.pb.gz
unlike w.svg 'epoll_wait' 'and pictures'
run "$CPROF" report --svg w.svg --html w.html wall.pb.gz
unlike w.svg 'epoll_wait' 'also beside a page, which can show them'
run "$CPROF" report --json --diff wall.pb.gz later.pb.gz
check 'a comparison is without idle threads' "$PYTHON" -c '
import json
t = json.load(open("out"))
assert (t["total"]["base_raw"], t["total"]["new_raw"]) == (4 * 10**9, 5 * 10**9), t["total"]
assert {x["name"]: x["flat"]["new"] for x in t["rows"]}["fetch"] == 0.5'
run "$CPROF" report --diff wall.pb.gz --fail-if 'flat(fetch) > 45%' later.pb.gz
is "$status" 3 'conditions are on the function that waits'
finish
