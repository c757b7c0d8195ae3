#!/bin/sh
# Debug files from servers: a real one, and servers that are slow, fail or lie. Only on request.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need debuginfod
DEBUGINFOD_CACHE_PATH=$T/cache
export DEBUGINFOD_CACHE_PATH
unset DEBUGINFOD_URLS

mkdir served.keep
objcopy --only-keep-debug "$PROG/inlines" served.keep/inlines.debug
objcopy --strip-all "$PROG/inlines" bare.keep
is_named="path('innermost', 'middle', 'outermost', 'main') > 0.8"
is_bare="leaf(r'^\\[bare.keep\\]\\+0x') > 0.8"

# record_from NAME OPTION...: records the stripped program; $status, err, d.pb.gz
record_from() {
	rm -rf "$T/cache"
	run timeout 100 "$CPROF" record -e cpu-clock -o d.pb.gz "$@" -- ./bare.keep 100
}

if ! "$CPROF" record --debuginfod -e cpu-clock -o d.pb.gz -- ./bare.keep 2 2>&1 | grep -q 'DEBUGINFOD_URLS'; then
	skip_all 'needs a cprof built with libdebuginfod'
fi
record_from --debuginfod
like err 'DEBUGINFOD_URLS is not set' '--debuginfod without servers: a warning'
profile '--debuginfod without servers: the profile is written' d.pb.gz "$is_bare"
record_from --debuginfod=auto
unlike err 'debuginfod' '--debuginfod=auto without servers: no warning'

listens() {
	"$PYTHON" -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)"
}
port=$(free_port)
background debuginfod -p "$port" -d :memory: -F "$T/served.keep" >server.keep 2>&1
id=$(readelf -n "$PROG/inlines" | sed -n 's/.*Build ID: //p')
indexed() {
	"$PYTHON" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/buildid/$id/debuginfo', timeout=5).read(1)"
}
if wait_for 60 indexed; then
	DEBUGINFOD_URLS=http://127.0.0.1:$port/
	export DEBUGINFOD_URLS
	record_from --debuginfod
	is "$status" 0 'a real server: recorded'
	like err "debug file of '.*bare.keep' in" 'a real server: cprof reports the fetched file'
	profile 'a real server: functions, inlined calls and lines' d.pb.gz "$is_named"
	record_from --debuginfod=auto
	profile '--debuginfod=auto: the same' d.pb.gz "$is_named"
	record_from
	profile 'without --debuginfod the server gets no request' d.pb.gz "$is_bare"
	check 'without --debuginfod nothing is cached' test ! -e "$T/cache"
	rm -rf "$T/cache"
	run "$CPROF" top --debuginfod --batch 3 -d 500ms -e cpu-clock -- ./bare.keep 1000
	like out ' innermost$' 'cprof top --debuginfod fetches the file'
	"$CPROF" record -q -e cpu-clock --no-symbols -o later.pb.gz -- ./bare.keep 100
	run "$CPROF" symbolize --debuginfod later.pb.gz
	profile 'cprof symbolize --debuginfod fetches the file' later.pb.gz "$is_named"
else
	fail 'the server has the file'
	diag <server.keep
fi

# A server that answers in each way, depending on the first part of the path.
cat >server.py.keep <<'END'
import http.server, socketserver, sys, time

asked = []

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind = self.path.split("/")[1]
        if kind == "slow":
            self.send_response(200)
            self.send_header("Content-Length", "100000000")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 100)
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:
                return
        if kind == "huge":
            self.send_response(200)
            self.send_header("Content-Length", str(100 << 30))
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 1000)
                    time.sleep(0.01)
            except OSError:
                return
        if kind == "several" and not asked:
            asked.append(self.path)
            build_id = self.path.split("/")[3]
            data = open(f"several.keep/{build_id}", "rb").read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        if kind in ("mute", "several"):
            time.sleep(60)
            return
        if kind == "fail":
            self.send_error(500)
            return
        data = open(sys.argv[2], "rb").read() if kind == "lie" else b"\x7fELF" + b"junk" * 100
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
port=$(free_port)
background "$PYTHON" server.py.keep "$port" "$PROG/serial"
wait_for 60 listens "$port"
# Several files: the hottest one first, with one time limit, and a list of the skipped files. The
# server answers the first request and keeps the others waiting.
if command -v gcc >/dev/null; then
	mkdir several.keep
	for name in hot warm; do
		cat >$name.c <<-END
		static volatile unsigned long sink;
		void ${name}_work(unsigned long n)
		{
			for (unsigned long i = 0; i < n; i++)
				sink += i * i;
		}
		END
		gcc -g -O1 -shared -fPIC "-Wl,--build-id=sha1" -o lib$name.so $name.c
		objcopy --only-keep-debug lib$name.so "several.keep/$(readelf -n lib$name.so | sed -n 's/.*Build ID: //p')"
	done
	cat >two.c <<'END'
#include <stdlib.h>
#include <time.h>
void hot_work(unsigned long n);
void warm_work(unsigned long n);
int main(int argc, char **argv)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 1000 * (clock_t)atoi(argv[1]);
	while (clock() < end) {
		hot_work(80000);
		warm_work(20000);
	}
	return argc != 2;
}
END
	gcc -O1 -s "-Wl,--build-id=none" -o two.keep two.c -L. -lwarm -lhot "-Wl,-rpath,$T"
	strip --strip-all libhot.so libwarm.so
	DEBUGINFOD_URLS=http://127.0.0.1:$port/several
	export DEBUGINFOD_URLS
	rm -rf "$T/cache"
	run timeout 100 "$CPROF" record -e cpu-clock --user --debuginfod --debuginfod-timeout 2 -o d.pb.gz -- \
		./two.keep 300
	is "$status" 0 'several files: recorded'
	like err "debug file of '.*libhot.so' in" 'several files: the hottest one is requested first'
	like err 'skipped, because the 2 s for all files are used up:.*libwarm.so' \
		'several files: one budget for all, and a list of the skipped files'
	unlike err 'skipped.*libhot.so' 'several files: a fetched file is not in that list'
	profile 'several files: the fetched one has lines, the skipped one only names' d.pb.gz \
		"any(f.endswith('hot.c') and l for f, l in lines('hot_work'))" \
		"lines('warm_work') == {('', 0)}"
else
	skip 'several files' 'needs gcc'
fi

for kind in slow mute; do
	DEBUGINFOD_URLS=http://127.0.0.1:$port/$kind
	export DEBUGINFOD_URLS
	record_from --debuginfod --debuginfod-timeout 2
	is "$status" 0 "a $kind server: recorded"
	like err '1 file was skipped.*2 s.*bare.keep' "a $kind server: cprof reports the skipped files"
	profile "a $kind server: the profile is written" d.pb.gz "$is_bare"
done
DEBUGINFOD_URLS=http://127.0.0.1:$port/huge
export DEBUGINFOD_URLS
record_from --debuginfod --debuginfod-timeout 60
is "$status" 0 'a server that sends 100 GiB: recorded'
like err 'larger than 4 GiB' 'a server that sends 100 GiB: cprof ends the transfer and reports it'
check 'a server that sends 100 GiB: little was stored' \
	test "$(du -sk "$T/cache" | cut -f1)" -lt 10000
profile 'a server that sends 100 GiB: the profile is written' d.pb.gz "$is_bare"
for kind in lie junk; do
	DEBUGINFOD_URLS=http://127.0.0.1:$port/$kind
	export DEBUGINFOD_URLS
	record_from --debuginfod
	like err 'does not have build id' \
		"a server that sends $([ $kind = lie ] && echo another file || echo junk): cprof reports that it refused the file"
	profile "$kind: the refused file gives no names" d.pb.gz "$is_bare"
done
DEBUGINFOD_URLS=http://127.0.0.1:$port/fail
export DEBUGINFOD_URLS
record_from -v --debuginfod
is "$status" 0 'a failing server: recorded'
like err "debuginfod: no debug file of '.*bare.keep'" 'a failing server: reported'
DEBUGINFOD_URLS=http://127.0.0.1:$(free_port)/
export DEBUGINFOD_URLS
record_from -v --debuginfod
is "$status" 0 'no server at all: recorded'
profile 'no server at all: the profile is written' d.pb.gz "$is_bare"
rm -rf "$T/cache"
finish
