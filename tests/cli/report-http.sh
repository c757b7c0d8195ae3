#!/bin/sh
# report --http: the page on this machine, with a token, until it is closed.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/browser/profiles.py" small "$T" || exit 99

# request ADDRESS [HEADER...]: the status, then the body
cat >request.py <<'END'
import http.client, sys, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
c = http.client.HTTPConnection("127.0.0.1", u.port, timeout=20)
headers = dict(h.split("=", 1) for h in sys.argv[3:])
c.putrequest(sys.argv[2], u.path, skip_host="Host" in headers)
for k, v in headers.items():
    c.putheader(k, v)
c.endheaders()
r = c.getresponse()
print(r.status, r.getheader("Cache-Control"), r.getheader("Referrer-Policy"))
sys.stdout.write(r.read().decode())
END
# alive ADDRESS SECONDS: has the page open for so long
cat >alive.py <<'END'
import http.client, sys, time, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
c = http.client.HTTPConnection("127.0.0.1", u.port)
c.request("GET", u.path + "alive")
time.sleep(float(sys.argv[2]))
END
mv request.py request.py.keep
mv alive.py alive.py.keep
serve() {
	: >err
	env -u DISPLAY -u WAYLAND_DISPLAY "$@" >out 2>err &
	server=$!
	tap_pids="$tap_pids $server"
	wait_for 20 grep -q 'ends this' err
	address=$(sed -n 's/.*the page is at //p' err)
}

serve env -u BROWSER "$CPROF" report --http cpu.pb.gz
like err '^cprof report: the page is at http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$' 'the address has a token'
like err 'no browser was opened: there is no screen' 'without a screen it says why no browser opens'
"$PYTHON" request.py.keep "$address" GET >got
is "$(head -n 1 got)" '200 no-store no-referrer' 'the page, which nobody else keeps'
like got "connect-src 'self'" 'its policy allows the connection that shows that it is open'
is "$(tail -n 1 got)" '</html>' 'it is complete'
is "$("$PYTHON" request.py.keep "$address" POST | head -n 1 | cut -c1-3)" 405 'no other method'
is "$("$PYTHON" request.py.keep "${address%?????}/" GET | head -n 1 | cut -c1-3)" 404 'not without the token'
is "$("$PYTHON" request.py.keep "$address" GET Host=evil.example | head -n 1 | cut -c1-3)" 403 'nor by another name'
is "$("$PYTHON" request.py.keep "${address}x" GET | head -n 1 | cut -c1-3)" 404 'there is nothing else'
kill -0 "$server" && pass 'it waits while no page was open' || fail 'it waits while no page was open'
"$PYTHON" alive.py.keep "$address" 0.3
wait "$server"
is $? 0 'it ends when the page is closed'

# connections without the token, a new one every second
cat >others.py.keep <<'END'
import socket, sys, time, urllib.parse
at = "127.0.0.1", urllib.parse.urlparse(sys.argv[1]).port
kept = []
for _ in range(120):
    kept.append(socket.create_connection(at))
    time.sleep(1)
END
serve "$CPROF" report --http --no-browser cpu.pb.gz
"$PYTHON" others.py.keep "$address" 2>others.keep &
others=$!
tap_pids="$tap_pids $others"
"$PYTHON" alive.py.keep "$address" 0.3
wait "$server"
wait "$others"
like others.keep 'ConnectionRefusedError' 'connections of others do not keep it running'

serve "$CPROF" report --http --no-browser cpu.pb.gz
unlike err 'no browser' '--no-browser opens none'
"$PYTHON" alive.py.keep "$address" 30 &
tap_pids="$tap_pids $!"
"$PYTHON" alive.py.keep "$address" 0.1
sleep 3
kill -0 "$server" && pass 'it goes on while one of two pages is open' || fail 'it goes on while one of two pages is open'
kill -TERM "$server"
wait "$server"
is $? 0 'a signal ends it'

# The browser gets a file that leads to the address, which is not among its arguments.
cat >browser.keep <<'END'
#!/bin/sh
stat -c %a "$1" >"$T/mode.keep"
cp "$1" "$T/leads.keep"
echo "$1" >"$T/name.keep"
END
chmod +x browser.keep
export T
serve env BROWSER="$T/browser.keep" "$CPROF" report --http cpu.pb.gz
wait_for 20 test -s name.keep
is "$(cat mode.keep)" 600 'the browser gets a file that only this user reads'
like leads.keep "url=$address" 'which leads to the page'
"$PYTHON" request.py.keep "$address" GET >got
check 'once the page was shown the file is removed' test ! -e "$(cat name.keep)"
kill -TERM "$server"
wait "$server"

port=$(free_port)
serve "$CPROF" report --http="$port" --no-browser --diff base.pb.gz cpu.pb.gz
like err "127\\.0\\.0\\.1:$port/" 'the port can be chosen'
run "$CPROF" report --http="$port" --no-browser cpu.pb.gz
is "$status" 1 'a port that is in use is an error'
like err "cannot listen at 127\\.0\\.0\\.1:$port: Address already in use" 'which is named'
kill -TERM "$server"
wait "$server"
run "$CPROF" report --http=0 cpu.pb.gz
is "$status" 64 'not a port'
run "$CPROF" report --http --html x.html cpu.pb.gz
is "$status" 64 '--http and --html cannot be combined'
run "$CPROF" report --no-browser cpu.pb.gz
is "$status" 64 '--no-browser needs --http'
finish
