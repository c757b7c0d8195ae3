#!/bin/sh
# Profiles on request, over HTTP: cprof serve with curl and go tool pprof as clients.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-serve" ] || skip_all 'cprof was built without libmicrohttpd'
command -v curl >/dev/null || skip_all 'curl is not installed'

port=$(free_port)
socket=$T/serve.keep
# start_serve LOG OPTION...: sets $serve_pid
start_serve() {
	serve_log=$1
	shift
	rm -f "$serve_log"
	env --default-signal=INT,TERM,HUP "$CPROF" serve "$@" 2>"$serve_log" &
	serve_pid=$!
	tap_pids="$tap_pids $serve_pid"
	wait_for 30 grep -q listening "$serve_log"
}
start_serve serve.log.keep -l "$socket" -l "127.0.0.1:$port"
is "$(grep -c listening serve.log.keep)" 2 'it says where it listens'
is "$(stat -c %a "$socket")" 600 'others cannot use the socket'

# get PATH [OPTION...]: the body to the file body.keep, the headers to head.keep; sets $code
get() {
	get_path=$1
	shift
	code=$(curl -s --max-time 100 -g --unix-socket "$socket" -o body.keep -D head.keep \
		-w '%{http_code}' "$@" "http://localhost$get_path")
	export run_command="curl $get_path $*"
}
metric() {
	curl -s --unix-socket "$socket" http://localhost/metrics | sed -n "s/^$1 //p"
}
no_recording() {
	[ "$(metric cprof_recordings)" = 0 ]
}

# ---- pages ----
get /-/healthy
is "$code $(cat body.keep)" '200 ok' '/-/healthy'
get /debug/pprof/
is "$code" 200 'an index for people'
like body.keep 'href="/debug/pprof/profile\?seconds=5"' 'the index has links'
for path in /debug/pprof/threadcreate /debug/pprof/nothing /nothing /debug/pprof/r01D1; do
	get "$path"
	is "$code" 404 "$path does not exist"
done
get /debug/pprof/profile -X POST
is "$code" 405 'only GET and HEAD'
like head.keep '^allow: GET, HEAD' 'what is allowed'
get '/debug/pprof/profile?seconds=100' --head
is "$code" 200 'HEAD records nothing'

# ---- profiles ----
background "$PROG/spin" 1 600000
target=$pid
get "/debug/pprof/profile?seconds=1&pid=$target"
is "$code" 200 'a profile of a process'
like head.keep '^content-type: application/octet-stream' 'its type'
check 'a valid profile' "$CPROF" check body.keep
profile 'its functions have names' body.keep 'total > 0' "cum('main') > 0.9"
get "/debug/pprof/profile?seconds=0.5&event=timer&hz=500&pid=$target"
is "$code" 200 'event=timer&hz='
profile 'the rate is the requested one' body.keep '1.5e6 < p.period < 2.5e6'
get "/debug/pprof/cpu_clock?seconds=0.3&period=1ms&comm=spin"
is "$code" 200 'an event by its path, period=, comm='
get "/debug/pprof/page_faults?seconds=0.3&pid=$target"
is "$code" 200 'a window without samples is a profile'
like head.keep '^x-cprof-samples: 0' 'it says that it is empty'
check 'the empty profile is valid' "$CPROF" check body.keep
# A cgroup for the target, where that is allowed.
folder=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/self/mounts | head -n 1)
parent=$(sed -n 's/^0:://p' "/proc/$target/cgroup")
group=${parent%/}/cprof-serve-test-$$
if [ -n "$folder" ] && mkdir "$folder$group" 2>/dev/null; then
	tap_cleanup='echo "$target" >"$folder$parent/cgroup.procs"; rmdir "$folder$group"'
	echo "$target" >"$folder$group/cgroup.procs"
	get "/debug/pprof/profile?seconds=0.5&cgroup=$group"
	is "$code" 200 'cgroup='
	profile 'the processes of the cgroup' body.keep 'total > 0' "cum('main') > 0.9"
	eval "$tap_cleanup"
	tap_cleanup=:
else
	skip 'cgroup=' 'it takes the right to create a cgroup'
fi
get "/debug/pprof/threads?pid=$target"
is "$code" 200 'what the threads are doing'
check 'a valid profile of threads' "$CPROF" check body.keep
get "/debug/pprof/wall?seconds=0.5&pid=$target"
is "$code" 200 'wall-clock time'

# ---- errors ----
# refused PATH CODE REGEX
refused() {
	get "$1"
	is "$code" "$2" "$1: $2"
	like body.keep "$3" "$1: the reason"
}
refused '/debug/pprof/profile?seconds=9999' 400 'seconds=9999: give seconds, from'
refused '/debug/pprof/profile?seconds=0' 400 'give seconds'
refused '/debug/pprof/profile?seconds=-1' 400 'give seconds'
refused '/debug/pprof/profile?seconds=1&seconds=2' 400 'given twice'
refused '/debug/pprof/profile?nonsense=1' 400 'no such parameter'
refused '/debug/pprof/profile?seconds=1&event=%24(id)' 400 'unknown event'
refused '/debug/pprof/profile?event=cycles:q' 400 '^    *\^'
refused "/debug/pprof/profile?seconds=1&event=cpu-clock,page-faults&pid=$target" 400 'several events'
refused '/debug/pprof/profile?pid=0' 400 'not the id of a process'
refused '/debug/pprof/profile?pid=2147483647' 404 'no process'
refused '/debug/pprof/profile?comm=there-is-none' 404 'no process has the name'
refused '/debug/pprof/profile?cgroup=/../../etc' 400 'cgroup'
refused '/debug/pprof/profile?cgroup=/there-is-none' 404 'no cgroup'
refused "/debug/pprof/profile?seconds=1&event=there-is-no-pmu/config=1/&pid=$target" 400 'there-is-no-pmu'
refused '/debug/pprof/profile?pid=1&comm=x' 400 'cannot be combined'
refused '/debug/pprof/profile?hz=9&period=9' 400 'cannot be combined'
refused '/debug/pprof/cpu_clock?event=cycles' 400 'an event of its own'
get "/debug/pprof/profile?seconds=0.2&event=cycles&pid=$target"
if [ "$code" != 200 ]; then
	unlike body.keep "'-e |--scope|--user" 'a hint names parameters, not options'
fi
refused '/debug/pprof/heap' 400 'whose profile'
refused "/debug/pprof/heap?seconds=1&pid=$target" 404 'libcprof-alloc.so'
refused "/debug/pprof/goroutine?debug=1&pid=$target" 404 'no Go program'

# ---- clients over TCP ----
if command -v go >/dev/null; then
	export PPROF_TMPDIR="$T/pprof.keep" HOME="$T/home.keep"
	run go tool pprof -top "http://127.0.0.1:$port/debug/pprof/profile?seconds=1&pid=$target"
	is "$status" 0 'go tool pprof'
	like out 'main' 'go tool pprof shows the function'
	chmod -R u+w home.keep pprof.keep 2>/dev/null
	rm -rf home.keep pprof.keep
else
	skip 'go tool pprof' 'go is not installed'
fi
url=http://127.0.0.1:$port
is "$(curl -s -o /dev/null -w '%{http_code} %{num_connects}\n' $url/-/healthy -o /dev/null $url/metrics |
	tr '\n' ' ')" '200 1 200 0 ' 'a connection serves several requests'
code_of() {
	curl -s -o /dev/null -w '%{http_code}' "$@"
}
is "$(code_of -H 'Host: evil.example' $url/-/healthy)" 403 'a foreign Host'
is "$(code_of -H 'Host: localhost' $url/-/healthy)" 200 'the Host localhost'
is "$(code_of -H 'Origin: http://evil.example' $url/metrics)" 403 'a foreign Origin'
is "$(code_of -H "Origin: $url" $url/metrics)" 200 'its own Origin'
is "$(code_of -H 'Sec-Fetch-Site: cross-site' $url/metrics)" 403 'a request from a page of another site'

# ---- many clients ----
before=$(metric cprof_recordings_total)
check 'a hundred clients of one process all get a profile' "$PYTHON" - "$socket" "$target" <<'END'
import socket, sys
clients = []
for i in range(100):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"GET /debug/pprof/profile?seconds=1&pid=%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
              % sys.argv[2].encode())
    clients.append(s)
for s in clients:
    s.settimeout(90)
    answer = b""
    while True:
        some = s.recv(65536)
        if not some:
            break
        answer += some
    assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
    assert b"\x1f\x8b" in answer
END
is "$(($(metric cprof_recordings_total) - before))" 1 'they share one recording'

# Each has a window of its own, cut from the same recording.
before=$(metric cprof_recordings_total)
window() {
	curl -s --max-time 100 --unix-socket "$socket" -o "$1" \
		"http://localhost/debug/pprof/profile?seconds=$2&pid=$target"
}
window long.keep 3 &
long=$!
sleep 0.7
window short.keep 1 &
short=$!
wait "$long" "$short"
is "$(($(metric cprof_recordings_total) - before))" 1 'two windows, one recording'
check 'the long window is valid' "$CPROF" check long.keep
check 'the short window is valid' "$CPROF" check short.keep
profile 'the long window is whole' long.keep 'p.duration_nanos >= 3e9' 'total <= p.duration_nanos * 1.1'
profile 'the short window is shorter' short.keep '1e9 <= p.duration_nanos' 'total <= p.duration_nanos * 1.1'

# A client that leaves ends its recording.
curl -s --unix-socket "$socket" -o /dev/null "http://localhost/debug/pprof/profile?seconds=200&pid=$target" &
client=$!
some_recording() {
	[ "$(metric cprof_recordings)" = 1 ]
}
check 'a long recording runs' wait_for 30 some_recording
kill "$client"
wait "$client" 2>/dev/null
check 'it ends when its client leaves' wait_for 30 no_recording

# Different recordings run side by side, up to the limit.
clients=
for i in 1 2 3 4; do
	curl -s --unix-socket "$socket" -o /dev/null \
		"http://localhost/debug/pprof/profile?seconds=200&hz=10$i&pid=$target" &
	clients="$clients $!"
done
four_recordings() {
	[ "$(metric cprof_recordings)" = 4 ]
}
check 'four recordings run' wait_for 30 four_recordings
get "/debug/pprof/profile?seconds=1&hz=200&pid=$target"
is "$code" 503 'a fifth one is refused'
like head.keep '^retry-after: [0-9]' 'it says when to try again'
for client in $clients; do
	kill "$client"
done
check 'they end' wait_for 30 no_recording

# Half-open connections keep nobody out; neither do clients that do not read.
check 'a thousand half-open connections' "$PYTHON" - "$socket" <<'END'
import resource, socket, sys, time
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    return s
half = []
for i in range(1000):
    half.append(connect())
    try:
        half[-1].sendall(b"GET /metr" if i % 2 else b"")
    except BrokenPipeError:
        pass
lazy = connect()
lazy.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
begin = time.monotonic()
s = connect()
s.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
answer = s.recv(4096)
print("# answered after %.3f s" % (time.monotonic() - begin))
assert answer.startswith(b"HTTP/1.1 200"), answer
END

# ---- the target ends; the end of the server ----
background "$PROG/spin" 1 600000
short_lived=$pid
curl -s --max-time 100 --unix-socket "$socket" -o ended.keep -w '%{http_code}' \
	"http://localhost/debug/pprof/profile?seconds=200&pid=$short_lived" >code.keep &
client=$!
check 'a recording runs' wait_for 30 some_recording
let_use "$short_lived" 300
kill -KILL "$short_lived"
wait "$client"
is "$(cat code.keep)" 200 'the target has ended: the profile until then'
profile 'it has samples' ended.keep 'total > 0'
run "$CPROF" serve -l "$socket"
is "$status" 1 'a second server at the same socket'
like err 'another program listens' 'it says why'
kill -TERM "$serve_pid"
wait "$serve_pid"
is "$?" 0 'SIGTERM ends it'
check 'its socket is gone' test ! -e "$socket"
start_serve serve.log.keep -l "$socket" -p "$target"
curl -s --unix-socket "$socket" -o /dev/null "http://localhost/debug/pprof/profile?seconds=200" &
client=$!
check 'a recording runs, and its server is killed' wait_for 30 some_recording
recorder=$(tr -d ' ' <"/proc/$serve_pid/task/$serve_pid/children")
kill -KILL "$serve_pid"
wait "$serve_pid" "$client" 2>/dev/null
has_ended() {
	[ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"
}
check 'the recording ends with its server' wait_for 30 has_ended "$recorder"
start_serve serve.log.keep -l "$socket" -p "$target"
get '/debug/pprof/profile?seconds=0.3'
is "$code" 200 'the socket of a killed server is replaced; -p is the target'
profile 'of that process' body.keep "cum('main') > 0.9"
get '/debug/pprof/' && like body.keep "of <code>$target</code>" 'the index names the target'
kill -TERM "$serve_pid"
wait "$serve_pid"

# ---- tokens and TLS ----
(umask 077; echo 0123456789abcdef0123 >token.keep)
echo 0123456789abcdef0123 >open.keep
run "$CPROF" serve -l "127.0.0.1:$port" --token-file open.keep
is "$status" 1 'a token that others can read'
like err 'chmod 600' 'what to do'
run "$CPROF" serve -l "0.0.0.0:$port"
is "$status" 64 'another address without a token'
like err 'needs --token-file' 'what it needs'
run "$CPROF" serve -l "0.0.0.0:$port" --token-file token.keep
is "$status" 64 'another address without TLS'
like err 'or --insecure' 'what it needs for that'
cp "$CPROF_SOURCE_ROOT/tests/live/serve-key.pem" key.keep
chmod 600 key.keep
start_serve serve.log.keep -l "0.0.0.0:$port" --token-file token.keep --tls-key key.keep \
	--tls-cert "$CPROF_SOURCE_ROOT/tests/live/serve-cert.pem" -p "$target"
url=https://127.0.0.1:$port
is "$(code_of -k $url/metrics)" 401 'TLS, no token'
is "$(code_of -k -H 'Authorization: Bearer 0123456789abcdef0124' $url/metrics)" 401 'a wrong token'
is "$(code_of -k -H 'Authorization: Bearer 0123456789abcdef0123' $url/metrics)" 200 'the token'
is "$(code_of -k -H 'Authorization: Bearer 0123456789abcdef0123' \
	"$url/debug/pprof/profile?seconds=0.3")" 200 'a profile over TLS'
kill -TERM "$serve_pid"
wait "$serve_pid"

# ---- other users ----
if [ "$(id -u)" -eq 0 ]; then
	as_nobody() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	start_serve serve.log.keep -l "127.0.0.1:$port"
	url=http://127.0.0.1:$port
	background setpriv --reuid=65534 --regid=65534 --clear-groups "$PROG/spin" 1 600000
	theirs=$pid
	wait_for 30 runs "$theirs" "$(realpath "$PROG/spin")"
	is "$(as_nobody curl -s -o /dev/null -w '%{http_code}' \
		"$url/debug/pprof/profile?seconds=0.5&pid=$theirs")" 200 'a user and his own process'
	is "$(as_nobody curl -s -w '%{http_code}' "$url/debug/pprof/profile?seconds=0.5&pid=$target" |
		tail -c 3)" 403 "a user and root's process"
	is "$(as_nobody curl -s -w '%{http_code}' "$url/debug/pprof/threads?pid=$target" |
		tail -c 3)" 403 "a user and the threads of root's process"
	is "$(code_of "$url/debug/pprof/profile?seconds=0.5&pid=$theirs")" 200 "root and a user's process"
	kill -TERM "$serve_pid"
	wait "$serve_pid"
else
	skip 'other users' 'needs root, to be several users'
fi
finish
