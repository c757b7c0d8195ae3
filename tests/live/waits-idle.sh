#!/bin/sh
# Threads that only wait for work: their labels, and how reports leave them out.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

background "$PROG/idlers" 100
sleep 0.5
run "$CPROF" record -e off-cpu --duration 1 -o i.pb.gz -p "$pid"
kill "$pid"
is "$status" 0 'recorded'
profile 'pools and loops have their labels' i.pb.gz \
	"labels('idle') == {'pool', 'event-loop'}" \
	"abs(label_share('idle', 'pool') - 2 / 4) < 0.02" \
	"0.05 < label_share('idle', 'event-loop') < 0.2"
run "$CPROF" report --json i.pb.gz
check 'what waits for something else is shown' "$PYTHON" - <<'END'
import json
t = json.load(open("out"))
rows = {x["name"]: x for x in t["functions"]}
second = t["duration_ns"]
assert abs(rows["fetch"]["flat"] - second) < 0.02 * second, rows
assert 0.3 * second < rows["handler"]["flat"] < 0.7 * second, rows
assert "bioProcessBackgroundJobs" not in rows and "aeApiPoll" not in rows, rows
assert abs(t["idle"]["pool"] - 2 * second) < 0.02 * second, t["idle"]
assert 0.3 * second < t["idle"]["event-loop"] < 0.7 * second, t["idle"]
assert sum(t["states"].values()) == t["total"] == sum(t["pools"].values()), t
END
run "$CPROF" report i.pb.gz
like out '^Idle, not shown: pool 2[.0-9]*s, event-loop .* \(--idle shows it\)$' 'their sum is shown'
like out '^States: blocked 1\.' 'so are the states'
like out '^Threads: reader 1' 'and the threads'
is "$(grep -A1 ' flat% ' out | tail -n 1 | sed 's/.* //')" fetch 'the table begins with the longest wait'
run "$CPROF" report --idle --by pool i.pb.gz
like out ' bio-#$' '--idle shows idle threads, and --by pool adds them up'
run "$CPROF" record -e block --duration 1 -o b.pb.gz -- "$PROG/idlers" 0.5
run "$CPROF" report b.pb.gz
like out '^Idle, not shown: pool ' 'idle pools are left out of contention, too'

# ---- who gives them work

truth() {
	awk -v name="$1" '$1 == name { print $2 }' out
}

# Both waits end in a signal of the same thread, but only one of them was a wait for it.
fed() {
	run "$CPROF" record -e mutex -o f.pb.gz -- "$PROG/feeder" 1
	profile 'a wake-up of an idle worker is idle, too' f.pb.gz "labels('idle') == {'pool'}" \
		"label_share('idle', 'pool') == cum('submit') > 0.3" "cum('answer') > 0.3" \
		"abs(cum('submit') * total / 1e9 - $(truth work)) < 0.02 * total / 1e9" \
		"abs(cum('answer') * total / 1e9 - $(truth result)) < 0.02 * total / 1e9" \
		"all(set(r[2]) <= {'waiter', 'idle', 'tid', 'thread_name'} for r in rows)" \
		"len({(tuple(map(id, r[3])), tuple(sorted(r[2].items()))) for r in rows}) == len(rows)"
	run "$CPROF" report f.pb.gz
	like out '^Idle, not shown: pool [0-9]' 'reports show its sum'
	like out ' answer$' 'and who released what others needed'
	unlike out ' submit$' 'but not who gave it work'
	run "$CPROF" report --idle f.pb.gz
	like out ' submit$' 'unless --idle is given'
}
if is_root && "$CPROF" record -q -e mutex -o f.pb.gz -- true 2>err; then
	attempts 3 fed
else
	skip 'who gives idle threads work' 'needs root and tracefs'
fi

# ---- live

run "$CPROF" top --batch 2 -d 400ms --wall -- "$PROG/idlers" 5
is "$status" 0 'cprof top --wall'
like out '^[0-9.]+ threads: .*blocked [0-9.]+%.*; idle: [0-9.]+ threads, hidden \(i\)$' \
	'it shows the states, and how many threads are idle'
like out '%.* fetch$' 'and where threads wait'
unlike out 'samples .* per sample' 'waits have no rate'
# What such a thread ran, and lacked a CPU for, is no idle time.
check 'but not idle ones' awk '
	/ threads: / {
		for (i = 1; i < NF; i++)
			if ($i ~ /^(running|preempted|runnable|disk)$/)
				busy += $(i + 1)
		n++
	}
	/ bioProcessBackgroundJobs$/ { at = $2 + 0 }
	END { exit !(n && at <= busy + 0.01) }' out
run "$CPROF" top --batch 1 -d 400ms --off-cpu --idle -- "$PROG/idlers" 5
like out ' bioProcessBackgroundJobs$' '--idle shows these, too'
like out 'threads, included \(i\)$' 'and says so'

# ---- real programs

# idle_is PROGRAM PID SHARE: at least that part of its threads' time is recognised as idle
idle_is() {
	run "$CPROF" record -e off-cpu --duration 0.5 --children -o p.pb.gz -p "$2"
	profile "$1: idle" p.pb.gz "1 - label_share('idle', None) >= $3"
}
if command -v redis-server >/dev/null; then
	background redis-server --port 0 --unixsocket "$T/redis.sock" --save ''
	wait_for 20 test -S "$T/redis.sock"
	idle_is redis "$pid" 0.99
	kill "$pid"
else
	skip 'redis' 'needs redis-server'
fi
if command -v nginx >/dev/null; then
	mkdir -m 777 nginx
	cat >nginx/nginx.conf <<-END
		daemon off;
		worker_processes 2;
		error_log stderr;
		pid nginx.pid;
		events {}
		http {
			access_log off;
			client_body_temp_path body;
			proxy_temp_path proxy;
			fastcgi_temp_path fastcgi;
			uwsgi_temp_path uwsgi;
			scgi_temp_path scgi;
			server { listen unix:$T/nginx.sock; }
		}
	END
	background nginx -e stderr -p "$T/nginx/" -c "$T/nginx/nginx.conf"
	wait_for 20 test -S "$T/nginx.sock"
	sleep 0.3
	idle_is nginx "$pid" 0.99
	profile 'nginx: both of its workers are event loops, its master waits for signals' p.pb.gz \
		"cum('ngx_process_events_and_timers') > 0.6" "cum('ngx_master_process_cycle') > 0.99"
	kill "$pid"
else
	skip 'nginx' 'needs nginx'
fi

# PostgreSQL refuses to run as root.
postgres=$(for bin in /usr/lib/postgresql/*/bin; do echo "$bin"; done | tail -n 1)
not_root=
is_root && not_root='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ -x "$postgres/initdb" ]; then
	chmod 777 "$T"
	# shellcheck disable=SC2086  # a list of words
	$not_root "$postgres/initdb" -D "$T/db" -A trust -N >initdb.log 2>&1 || cat initdb.log
	printf "unix_socket_directories = '%s'\nlisten_addresses = ''\n" "$T" >>db/postgresql.conf
	# shellcheck disable=SC2086
	background $not_root "$postgres/postgres" -D "$T/db"
	wait_for 40 test -S "$T/.s.PGSQL.5432"
	# It may still be starting, and refuses connections then.
	wait_for 40 "$postgres/pg_isready" -q -h "$T"
	mkfifo commands
	# shellcheck disable=SC2086
	$not_root "$postgres/psql" -q -h "$T" -d postgres <commands >/dev/null 2>&1 &
	exec 3>commands
	wait_for 40 pgrep -P "$pid" -f 'local. idle' >/dev/null
	backend=$(pgrep -P "$pid" -f 'local. idle')
	# It says so before it waits.
	wait_for 40 grep -q '^State:.S' "/proc/$backend/status"
	sleep 0.3
	idle_is PostgreSQL "$pid" 0.99
	profile 'PostgreSQL: a backend without a command, and auxiliary processes' p.pb.gz \
		"part(lambda r: r[2].get('idle') == 'event-loop' and 'PostgresMain' in r[0]) > 0.1" \
		"label_share('idle', 'pool') > 0.4"
	exec 3>&-
	kill -INT "$pid"
else
	skip 'PostgreSQL' 'needs postgresql'
fi
if command -v node >/dev/null; then
	background node -e 'require("net").createServer().listen("n.sock")'
	wait_for 20 test -S "$T/n.sock"
	idle_is node "$pid" 0.99
	kill "$pid"
else
	skip 'node' 'needs node'
fi
background /usr/bin/python3 -c '
import asyncio
async def main():
    await asyncio.start_unix_server(lambda r, w: None, "py.sock")
    await asyncio.sleep(60)
asyncio.run(main())'
wait_for 20 test -S "$T/py.sock"
idle_is 'Python (asyncio)' "$pid" 0.99
kill "$pid"
if command -v go >/dev/null; then
	cat >server.go <<-'END'
		package main

		import "net"

		func main() {
			l, err := net.Listen("unix", "go.sock")
			if err != nil {
				panic(err)
			}
			for {
				c, _ := l.Accept()
				c.Close()
			}
		}
	END
	env HOME="$T" GO111MODULE=off GOFLAGS='' GOCACHE="${PROG%/*}/gocache" go build -o server server.go
	background ./server
	wait_for 20 test -S "$T/go.sock"
	idle_is Go "$pid" 0.99
	kill "$pid"
else
	skip 'Go' 'needs go'
fi
if command -v java >/dev/null && command -v javac >/dev/null; then
	cat >Server.java <<-'END'
		import java.net.InetSocketAddress;
		import java.nio.channels.*;

		class Server {
			public static void main(String[] a) throws Exception {
				Selector s = Selector.open();
				ServerSocketChannel c = ServerSocketChannel.open();
				c.bind(new InetSocketAddress("127.0.0.1", 0));
				c.configureBlocking(false);
				c.register(s, SelectionKey.OP_ACCEPT);
				new java.io.File("java.ready").createNewFile();
				for (;;)
					s.select();
			}
		}
	END
	javac Server.java
	background java -Xshare:auto Server
	wait_for 20 test -e java.ready
	sleep 0.5
	idle_is Java "$pid" 0.99
	kill "$pid"
else
	skip 'Java' 'needs java and javac'
fi
finish
