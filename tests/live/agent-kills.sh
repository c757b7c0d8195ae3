#!/bin/sh
# cprof agent is killed at random moments while its pusher sends: nothing is sent twice, the order is
# kept, and lost windows are counted and reported.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-push" ] || skip_all 'cprof was built without libcurl'
need_perf
is_root || skip_all 'recording all processes needs root'

tests=$CPROF_SOURCE_ROOT/tests
kills=${CPROF_AGENT_KILLS:-16}
bin=$(dirname "$CPROF")
cp "$PROG/spin" myservice
background ./myservice 2 1000000
mine=$pid
port=$(free_port)
background "$PYTHON" "$tests/pushserver.py" pyroscope "$port" srv.keep
server=$pid
wait_for 30 test -e srv.keep/ready || fail 'the stand-in starts'
mkdir state.keep
mkdir -m 700 spool.keep
background "$bin/cprof-push" --spool spool.keep --state state.keep -q --format pyroscope "http://127.0.0.1:$port"
pusher=$pid
# The file changes when a recorder begins, and with each window.
"$PYTHON" "$tests/pushkill.py" --changes 2 --late 1.5 "$kills" spool.keep/lost "$bin/cprof-agent" -q \
	-s window=1s -s spool="$T/spool.keep" >kills.keep 2>&1
sed 's/^/# /' kills.keep
like kills.keep "^$kills kills, 0 had ended" 'killed at random moments, and started again each time'
background "$bin/cprof-agent" -q -s window=1s -s spool="$T/spool.keep"
agent=$pid
counter() {
	sed -n "s/^$1=//p" spool.keep/lost
}
before=$(counter windows)
has_windows() {
	[ "$(counter windows)" -ge $((before + 2)) ]
}
wait_for 30 has_windows || fail 'recording goes on'
kill -TERM "$agent"
wait "$agent" 2>/dev/null
is_empty() {
	[ "$(find spool.keep -name '[0-9]*.pb.gz' | wc -l)" -eq 0 ]
}
wait_for 60 is_empty && pass 'all that was written is sent' || fail 'all that was written is sent'
kill -TERM "$pusher"
wait "$pusher" 2>/dev/null
"$bin/cprof-push" --spool spool.keep --state state.keep -q --once --format pyroscope "http://127.0.0.1:$port"
windows=$(counter windows)
failed=$(counter windows_failed)
echo "# $windows windows, $failed of them of killed recorders"
[ "$failed" -gt 0 ] && [ "$failed" -le "$kills" ] && pass 'a lost window for a kill' ||
	fail "a lost window for a kill: $failed"
check 'none was taken twice, and in their order' "$PYTHON" "$tests/pushlog.py" srv.keep \
	'len({(p["start"], str(p["labels"])) for p in profiles}) == len(profiles)' \
	'[p["start"] for p in profiles] == sorted(p["start"] for p in profiles)' 'not refused'
check 'windows are there or counted' "$PYTHON" "$tests/pushlog.py" srv.keep \
	"$windows - $failed <= len({p['start'] for p in profiles}) <= $windows"
check 'the losses are reported' "$PYTHON" "$tests/pushlog.py" srv.keep "lost_total >= $failed"
is "$(find spool.keep -name '.tmp-*' ! -name .tmp-lost | wc -l)" 0 'nothing is half-written'
kill "$server" "$mine"
finish
