#!/bin/sh
# cprof push is killed at random moments, and its disk is full: nothing is sent twice, the order is
# kept, and what is lost is counted and reported.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-push" ] || skip_all 'cprof was built without libcurl'

tests=$CPROF_SOURCE_ROOT/tests
kills=${CPROF_PUSH_KILLS:-200}
push=$(dirname "$CPROF")/cprof-push
"$CPROF" record -q -F 997 -o one.keep -- "$PROG/spin" 1 20 >spin.keep
port=$(free_port)
background "$PYTHON" "$tests/pushserver.py" pyroscope "$port" srv.keep
server=$pid
wait_for 30 test -e srv.keep/ready || echo "# the stand-in does not start"
counter() {
	"$PYTHON" "$tests/pushstate.py" "$1/state" "$2"
}
left() {
	find "$1" -name '[0-9]*.pb.gz' | wc -l
}
once() {
	run "$push" --spool "$1" --state "$2" --once --format pyroscope "http://127.0.0.1:$port"
}

# ---- kills ----
mkdir spool.keep state.keep
echo 'always slow 0.004' >srv.keep/behave
background "$PYTHON" "$tests/pushspool.py" spool.keep one.keep count=30000 services=3 every=0.015 files=150
recorder=$pid
"$PYTHON" "$tests/pushkill.py" "$kills" srv.keep/log "$push" --spool spool.keep --state state.keep -q --format pyroscope \
	"http://127.0.0.1:$port" >kills.keep 2>&1
sed 's/^/# /' kills.keep
like kills.keep "^$kills kills" 'killed at random moments'
kill "$recorder"
wait "$recorder" 2>/dev/null
once spool.keep state.keep
is "$status $(left spool.keep)" '0 0' 'the rest is sent at the end'
unsure=$(counter state.keep unsure)
removed=$(counter state.keep profiles_lost)
delivered=$(counter state.keep delivered)
newest=$("$PYTHON" -c 'import json; print(max(int(json.loads(l)["n"] or 0) for l in open("srv.keep/log")))')
echo "# $newest written, $delivered delivered, $unsure unsure, $removed removed by the recorder"
[ "$delivered" -gt 100 ] && pass 'profiles got through' || fail 'profiles got through'
check 'none was taken twice, and in their order' "$PYTHON" "$tests/pushlog.py" srv.keep once ordered
check 'no more are missing than were counted' "$PYTHON" "$tests/pushlog.py" srv.keep \
	"missing(1, $newest) <= $unsure + $removed" "len(n) >= $delivered"
check 'and the losses are reported' "$PYTHON" "$tests/pushlog.py" srv.keep "lost_total == $unsure + $removed" \
	'lost <= lost_total'

# ---- a kill without a connection loses nothing ----
rm -rf spool.keep state.keep
mkdir spool.keep state.keep
rm srv.keep/log srv.keep/behave
"$PYTHON" "$tests/pushspool.py" spool.keep one.keep count=30 services=3
"$PYTHON" "$tests/pushkill.py" 20 - "$push" --spool spool.keep --state state.keep -q --format pyroscope \
	http://127.0.0.1:1 >kills.keep 2>&1
is "$(left spool.keep) $(counter state.keep unsure)" '30 0' 'kills while the server is gone lose nothing'
once spool.keep state.keep
check 'all are sent when it is back' "$PYTHON" "$tests/pushlog.py" srv.keep once ordered 'missing(1, 30) == 0'

# ---- a full disk ----
if [ "$(id -u)" -eq 0 ] && mkdir full.keep && mount -t tmpfs -o size=300k,mode=700 cprof-test full.keep 2>/dev/null; then
	# shellcheck disable=SC2034 # lib.sh runs it
	tap_cleanup='umount "$T/full.keep" 2>/dev/null'
	mkdir full.keep/spool full.keep/state
	rm srv.keep/log
	once full.keep/spool full.keep/state
	is "$status" 0 'an empty spool'
	"$PYTHON" "$tests/pushspool.py" full.keep/spool one.keep count=300 services=3 2>/dev/null
	dd if=/dev/zero of=full.keep/filler bs=1k 2>/dev/null
	is "$(df --output=avail full.keep | tail -n 1 | tr -d ' ')" 0 'the disk is full'
	written=$(left full.keep/spool)
	[ "$written" -gt 5 ] && [ "$written" -lt 300 ] && pass 'some profiles are in the spool' ||
		fail "$written profiles are in the spool"
	once full.keep/spool full.keep/state
	is "$status $(left full.keep/spool)" '0 0' 'they are sent from a full disk'
	is "$(counter full.keep/state delivered)" "$written" 'and the state is written there'
	check 'once, in their order' "$PYTHON" "$tests/pushlog.py" srv.keep once ordered "len(n) == $written"
else
	skip 'a full disk' 'no file system can be mounted'
fi
kill "$server"
finish
