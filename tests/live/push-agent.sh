#!/bin/sh
# From samples to a server: cprof agent as root, its pusher as another user, and stand-ins of servers.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-push" ] || skip_all 'cprof was built without libcurl'
need_perf
[ "$(id -u)" -eq 0 ] || skip_all 'the pusher must be another user than the recorder'

tests=$CPROF_SOURCE_ROOT/tests
group=$(id -gn nobody)
background "$PROG/spin" 1 600000
for format in pyroscope parca otlp; do
	if [ $format = parca ] && ! "$PYTHON" -c 'import grpc' 2>/dev/null; then
		skip "$format" 'python3-grpcio is not installed'
		continue
	fi
	rm -rf srv.keep state.keep
	mkdir state.keep
	chown nobody state.keep
	port=$(free_port)
	background "$PYTHON" "$tests/pushserver.py" $format "$port" srv.keep
	server=$pid
	wait_for 30 test -e srv.keep/ready || echo "# the stand-in does not start"
	env --default-signal=TERM,HUP "$CPROF" agent -q -s window=1s -s spool="$T/spool.keep" -s spool-group="$group" \
		-s label=region=north -s push-user=nobody \
		-s "push=--format $format --state $T/state.keep http://127.0.0.1:$port" 2>agent.log.keep &
	agent=$!
	tap_pids="$tap_pids $agent"
	several_windows() {
		[ "$(grep -c '"service": "spin"' srv.keep/log)" -ge 3 ]
	}
	wait_for 60 several_windows
	kill -TERM "$agent"
	status=0
	wait "$agent" || status=$?
	is "$status" 0 "$format: the agent ends"
	check "$format: profiles of the service arrive, with labels, and none is refused" \
		"$PYTHON" "$tests/pushlog.py" srv.keep 'sum(p["service"] == "spin" for p in profiles) >= 3' 'not refused' \
		'all(p["labels"]["region"] == "north" for p in profiles)' \
		'any("spin" in str(p["labels"].get("exe", p["labels"].get("process.executable.path"))) for p in profiles)' \
		'sum(p["sums"][1] for p in profiles if p["service"] == "spin") > 10 ** 7'
	kill "$server"
done
sed 's/^/# /' agent.log.keep
finish
