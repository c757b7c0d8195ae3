#!/bin/sh
# Profiles from a spool to servers: cprof push against stand-ins that apply the servers' own rules.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-push" ] || skip_all 'cprof was built without libcurl'

tests=$CPROF_SOURCE_ROOT/tests
"$CPROF" record -q -F 997 -o one.keep -- "$PROG/spin" 1 200 >spin.keep

# start_server FORMAT [OPTION...]: sets $port and $server; its folder is srv.keep
start_server() {
	server_format=$1
	shift
	rm -rf srv.keep
	port=$(free_port)
	background "$PYTHON" "$tests/pushserver.py" "$server_format" "$port" srv.keep "$@"
	server=$pid
	wait_for 30 test -e srv.keep/ready || echo "# the stand-in does not start"
}
stop_server() {
	kill "$server"
	wait "$server" 2>/dev/null
}
# The folders of a new pusher.
new_spool() {
	rm -rf spool.keep state.keep srv.keep/log srv.keep/requests srv.keep/refused
	mkdir -m 700 spool.keep state.keep
	behave
}
spool() {
	"$PYTHON" "$tests/pushspool.py" spool.keep one.keep "$@" || fail 'the spool is written'
}
# behave [LINE...]: what the server does with the next requests
behave() {
	mkdir -p srv.keep
	printf '%s\n' "$@" | sed '/^$/d' >srv.keep/behave
}
push() {
	run "$CPROF" push --spool spool.keep --state state.keep --once --format "$server_format" "$@"
}
to() {
	echo "http://127.0.0.1:$port"
}
# taken NAME EXPRESSION...: see pushlog.py
taken() {
	taken_name=$1
	shift
	check "$taken_name" "$PYTHON" "$tests/pushlog.py" srv.keep "$@"
}
left() {
	find spool.keep -name '*.pb.gz' | wc -l
}
# counter NAME: of the newest slot of the state
counter() {
	"$PYTHON" "$tests/pushstate.py" state.keep/state "$1"
}

# ---- usage ----
for words in '' '--format nothing http://a' '--format otlp' '--format otlp ftp://a' '--format otlp http://' \
	'--format otlp http://a:b@c' '--format otlp http://a/?b' '--format otlp http://a http://b' \
	'--format otlp --unsure maybe http://a' '--format otlp --user me http://a' \
	'--format otlp --token-file t http://example.org'; do
	# shellcheck disable=SC2086 # a list of words
	run "$CPROF" push $words
	is "$status" 64 "usage: push $words"
done
server_format=otlp port=1
run "$CPROF" push --format otlp --spool nowhere --state . http://127.0.0.1:1
is "$status" 1 'no spool'
like err "cannot open the spool 'nowhere'" 'the message names it'

# ---- each of the servers takes it ----
for format in pyroscope parca otlp; do
	if [ $format = parca ] && ! "$PYTHON" -c 'import grpc' 2>/dev/null; then
		skip "$format" 'python3-grpcio is not installed'
		continue
	fi
	start_server $format
	new_spool
	spool count=100 services=7 start="$(($(date +%s) - 1000))"
	push --label region=north "$(to)"
	is "$status" 0 "$format: sent"
	is "$(left)" 0 "$format: the spool is empty"
	taken "$format: all of them, once, in their order, in few requests, by the rules" \
		once ordered 'len(n) == 100' 'not refused' 'requests <= 3'
	taken "$format: with labels" 'all(p["labels"]["region"] == "north" for p in profiles)' \
		'all(p["labels"].get("hostname", p["labels"].get("host.name")) == "testhost" for p in profiles)' \
		'set(p["service"] for p in profiles) == set("service%d" % i for i in range(7))'
	cpu=$("$PYTHON" "$tests/pprof.py" one.keep 'print(total)' 2>/dev/null | sed -n '/^[0-9]*$/p' | tail -n 1)
	[ -n "$cpu" ] && taken "$format: with their values" "sums('cpu') == 100 * $cpu"
	is "$(counter delivered)" 100 "$format: counted"
	[ $format != otlp ] || check 'otlp: with the same stacks and threads' "$PYTHON" "$tests/otlp.py" srv.keep/body one.keep

	# An answer for each of the failures.
	denied=401 wrong=404 busy=503 refused=422 large=413 broken=500
	[ $format = parca ] && denied=16 wrong=12 busy=14 refused=3 large='8 message larger than max' broken=13
	for status_words in "$busy" "$denied" "$wrong" "$broken"; do
		new_spool
		spool count=3
		behave "$status_words"
		push "$(to)"
		is "$status $(left)" '1 3' "$format: $status_words keeps the profiles"
		push "$(to)"
		is "$status $(left)" '0 0' "$format: and they are sent later"
	done
	# "many" wants a number alone.
	new_spool
	spool count=6 services=3 first=201
	behave "many $refused" "service service1 $refused" "service service1 $refused" \
		"service service1 $refused" "service service1 $refused" "service service1 $refused" \
		"service service1 $refused"
	push "$(to)"
	is "$status $(left)" '0 0' "$format: a request that is refused is split"
	is "$(counter refused)" 2 "$format: refused ones are counted"
	taken "$format: the others are delivered, once, in their order" once 'missing(201, 206) == 2' \
		'[i for i in n if 200 < i < 300] == [201, 203, 204, 206]' 'lost == 2'
	new_spool
	spool count=2 first=301
	behave "$large" "$large"
	push "$(to)"
	is "$(counter too_large)" 1 "$format: one that is too large is counted"
	taken "$format: the other one is delivered" once '302 in n' '301 not in n'
	if [ $format != parca ]; then
		new_spool
		spool count=2 first=401
		behave silent
		push "$(to)"
		is "$(counter unsure) $(left)" '2 0' "$format: no answer: not sent again, and counted"
		taken "$format: the server has them once" once 'missing(401, 402) == 0'
		new_spool
		spool count=2 first=501
		behave silent
		push --unsure send "$(to)"
		is "$(counter unsure) $(left)" '0 2' "$format: no answer, --unsure send: kept"
		new_spool
		spool count=1 first=601
		behave "422 push rate limit exceeded"
		push "$(to)"
		is "$(left)" 1 "$format: a rate limit is not a refusal"
	fi
	stop_server
done

# ---- times ----
start_server pyroscope
new_spool
spool count=2
behave 'after 3'
began=$(date +%s)
env --default-signal=TERM,HUP "$CPROF" push --spool spool.keep --state state.keep --format pyroscope "$(to)" \
	2>push.log.keep &
pusher=$!
tap_pids="$tap_pids $pusher"
empty_now() { [ "$(left)" -eq 0 ]; }
wait_for 60 empty_now
[ $(($(date +%s) - began)) -ge 3 ] && pass 'Retry-After is obeyed' || fail 'Retry-After is obeyed'
like push.log.keep 'the server is busy \(429\).*trying again in' 'it says what it waits for'
like push.log.keep 'answers again, after 1 failed request' 'and that it is over'
spool count=3 first=11
wait_for 30 empty_now
taken 'new profiles are sent as they come' once ordered 'missing(11, 13) == 0'
# gone and back
stop_server
spool count=50 first=21 files=40 services=5
failed_now() { grep -q 'cannot reach the server' push.log.keep; }
wait_for 30 failed_now
background "$PYTHON" "$tests/pushserver.py" pyroscope "$port" srv.keep
server=$pid
kill -HUP "$pusher"
wait_for 60 empty_now
taken 'a server that comes back gets what the spool has kept, in order' once ordered 'missing(21, 70) == 10'
kill -TERM "$pusher"
wait "$pusher"
is $? 0 'SIGTERM ends it'
push "$(to)"
taken 'what the recorder has lost is reported, once' 'lost == lost_total == 10'
push "$(to)"
taken 'and not again' 'lost == 10'
run "$CPROF" push --spool spool.keep --state state.keep --format pyroscope "$(to)" --timeout 0
is "$status" 64 'no timeout of nothing'
stop_server

# ---- two of them ----
new_spool
env --default-signal=TERM "$CPROF" push --spool spool.keep --state state.keep --format otlp "$(to)" 2>first.keep &
pusher=$!
tap_pids="$tap_pids $pusher"
wait_for 30 test -s state.keep/state
push "$(to)"
is "$status" 1 'a second pusher'
like err 'another pusher uses the state' 'and why'
kill -TERM "$pusher"

# ---- tokens and TLS ----
start_server pyroscope --tls "$tests/live/serve-cert.pem" "$tests/live/serve-key.pem" --token secret-of-the-server
new_spool
spool count=2
echo wrong-token >token.keep
chmod 600 token.keep
tls="https://localhost:$port"
push "$tls"
is "$status $(left)" '1 2' 'a certificate that nobody has signed'
like err 'nothing takes profiles there: .*certif' 'and why'
push --ca-file "$tests/live/serve-cert.pem" --token-file token.keep "$tls"
is "$status $(left)" '1 2' 'a wrong token'
like err 'denies access \(401\)' 'and why'
chmod 644 token.keep
push --ca-file "$tests/live/serve-cert.pem" --token-file token.keep "$tls"
is "$status" 1 'a token that others can read'
like err 'others can read' 'and why'
chmod 640 token.keep
echo secret-of-the-server >token.keep
push --ca-file "$tests/live/serve-cert.pem" --token-file token.keep "$tls"
is "$status $(left)" '0 0' 'TLS and a token'
spool count=1 first=9
push --ca-file "$tests/live/serve-cert.pem" --token-file token.keep "https://127.0.0.2:$port"
is "$status" 1 'another name than that of the certificate'
unlike err 'secret-of-the-server' 'no message has the token'
stop_server

if "$PYTHON" -c 'import grpc' 2>/dev/null; then
	start_server parca --tls "$tests/live/serve-cert.pem" "$tests/live/serve-key.pem" --token secret-of-the-server
	new_spool
	spool count=2
	push --ca-file "$tests/live/serve-cert.pem" "https://localhost:$port"
	is "$status $(left)" '1 2' 'gRPC without a token'
	like err 'denies access: no credentials' 'and why'
	push --ca-file "$tests/live/serve-cert.pem" --token-file token.keep "https://localhost:$port"
	is "$status $(left)" '0 0' 'gRPC with TLS and a token'
	stop_server
else
	skip 'gRPC with TLS' 'python3-grpcio is not installed'
fi

# ---- a hostile spool ----
start_server otlp
new_spool
spool count=6
cd spool.keep || exit 1
# shellcheck disable=SC2012 # names of our own
ls ./*.pb.gz | while read -r file; do
	i=$((${i:-0} + 1))
	name=${file%.pb.gz}
	case $i in
	1) rm "$file" && ln -s ../one.keep "$file" ;;
	2) rm "$file" && mkfifo "$file" ;;
	3) echo 'no equals sign' >"$name.meta" ;;
	4) head -c 100 ../one.keep >"$file" ;;
	5) ln "$file" ../linked.keep ;;
	esac
done
mkfifo 00000000000000000001-0000000001-0000000000000001.meta
: >00000000000000000002-0000000001-zzz.pb.gz
cd .. || exit 1
push "$(to)"
is "$status" 0 'files that are not profiles are dropped'
is "$(counter unreadable)" 5 'and counted'
taken 'the good one is delivered' 'n == [6]' 'lost == 5'
[ -e one.keep ] && [ -e linked.keep ] && pass 'what they lead to stays' || fail 'what they lead to stays'
mkdir dir.keep
chmod 755 dir.keep
rm -rf spool.keep && ln -s dir.keep spool.keep
push "$(to)"
is "$status" 1 'the spool is not a link'
rm spool.keep
stop_server
finish
