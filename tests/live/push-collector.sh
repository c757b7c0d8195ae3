#!/bin/sh
# A real OpenTelemetry Collector takes and prints what cprof push sends. It is built from Debian's
# golang-opentelemetry-collector-dev, which releases up to 13 do not have, or given as CPROF_COLLECTOR;
# CPROF_GOCODE is where Debian's Go sources are, and GO the compiler.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-push" ] || skip_all 'cprof was built without libcurl'

tests=$CPROF_SOURCE_ROOT/tests
gocode=${CPROF_GOCODE:-/usr/share/gocode}
collector=${CPROF_COLLECTOR:-}
if [ -z "$collector" ]; then
	[ -d "$gocode/src/go.opentelemetry.io/collector/receiver/otlpreceiver" ] ||
		skip_all 'golang-opentelemetry-collector-dev is not installed'
	collector=$T/collector.keep
	(cd "$tests/tools/collector" && GO111MODULE=off GOPATH=$gocode GOTOOLCHAIN=local CGO_ENABLED=0 \
		"${GO:-go}" build -o "$collector" .) >build.keep 2>&1 || {
		diag <build.keep
		skip_all 'the Collector cannot be built here'
	}
fi
"$CPROF" record -q -F 997 -o one.keep -- "$PROG/spin" 2 200 >spin.keep
port=$(free_port)
cat >config.yaml.keep <<END
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:$port
exporters:
  debug:
    verbosity: detailed
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [debug]
END
"$collector" file:config.yaml.keep --feature-gates=service.profilesSupport >collector.log.keep 2>&1 &
collector_pid=$!
tap_pids="$tap_pids $collector_pid"
wait_for 60 grep -q 'Everything is ready' collector.log.keep || diag <collector.log.keep
mkdir spool.keep state.keep
"$PYTHON" "$tests/pushspool.py" spool.keep one.keep count=6 services=3
run "$CPROF" push --format otlp --once --spool spool.keep --state state.keep "http://127.0.0.1:$port"
is "$status" 0 'sent'
is "$(find spool.keep -name '*.pb.gz' | wc -l)" 0 'the Collector has taken all of them'
is "$("$PYTHON" "$tests/pushstate.py" state.keep/state refused)" 0 'it has refused no part'
profiles_printed() {
	[ "$(grep -c 'Profile #' collector.log.keep)" -ge 12 ]
}
wait_for 30 profiles_printed
is "$(grep -c 'ResourceProfiles #' collector.log.keep)" 6 'it prints six resources'
like collector.log.keep 'service.name: Str\(service2\)' 'with their services'
like collector.log.keep 'host.name: Str\(testhost\)' 'and hosts'
for word in spin_leaf recurse nanoseconds process.executable.build_id.gnu thread.id; do
	like collector.log.keep "$word" "it prints $word"
done
unlike collector.log.keep 'panic|error' 'without errors'
kill "$collector_pid"
finish
