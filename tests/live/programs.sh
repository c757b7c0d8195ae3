#!/bin/sh
# Real programs: names wherever a symbol table exists, and complete stacks.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need sqlite3 gcc go redis-server redis-benchmark redis-cli


# owed NAME BINARY FILE MAPPING: 99 % of the frames are named where a symbol table exists
# (distributions strip the symbol table of functions that are not exported)
owed() {
	if readelf -SW "$2" | grep -q '\.symtab'; then
		profile "$1: 99 % of its own frames are named" "$3" "named('$4') >= 0.99"
	else
		echo "# $2 has no symbol table: no names are owed"
	fi
}

cat >work.sql.keep <<'END'
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
	INSERT INTO t SELECT (i * 7919) % 1000000, printf('%08x', i) FROM n;
CREATE INDEX t_a ON t(a);
SELECT count(*), max(x.b || y.b) FROM t x JOIN t y ON x.a = y.a;
END
run "$CPROF" record -e cpu-clock -o sqlite.pb.gz -- sqlite3 -batch :memory: '.read work.sql.keep'
is "$status" 0 'sqlite3: recorded'
like out '^1000000\|' 'sqlite3: its output passes through'
library=$(ldd "$(command -v sqlite3)" | sed -n 's/.*\(\/[^ ]*libsqlite3[^ ]*\).*/\1/p')
profile "sqlite3: enough samples, in ${library##*/}" sqlite.pb.gz 'n > 500' \
	"user_frames('libsqlite3') > 0 or user_frames('/sqlite3') > 0"
profile 'sqlite3: every frame has a name, or file and offset' sqlite.pb.gz "'' not in names"
owed sqlite3 "${library:-$(command -v sqlite3)}" sqlite.pb.gz sqlite

cat >work.py.keep <<'END'
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(29)
for i in range(200): json.dumps({str(k): [k] * 5 for k in range(2000)}, sort_keys=True)
words = re.findall(r'\w+', 'the quick brown fox ' * 50000)
print(len(sorted(words)))
END
run "$CPROF" record -e cpu-clock -o python.pb.gz -- /usr/bin/python3 work.py.keep
is "$status" 0 'python3: recorded'
profile 'python3: enough samples, most of them in Python functions' python.pb.gz 'n > 100' \
	"anywhere('^py::|_PyEval_EvalFrameDefault') > 0.5" "anywhere('^py::') > 0.3" "'' not in names"
owed python3 /usr/bin/python3 python.pb.gz '/python3'

# A program with symbols and frame pointers throughout: the Go runtime and library.
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
)

func main() {
	word := regexp.MustCompile(`[a-z]+([0-9]+)`)
	n := 0
	for i := 0; i < 1200; i++ {
		m := map[string][]int{}
		for k := 0; k < 500; k++ {
			m[fmt.Sprintf("key%d", k*i)] = []int{k, i, k * i}
		}
		text, _ := json.Marshal(m)
		found := word.FindAllString(string(text), -1)
		sort.Strings(found)
		n += len(found)
	}
	fmt.Println(n)
}
END
HOME=$T GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -o goprogram.keep main.go
run "$CPROF" record -e cpu-clock -o go.pb.gz -- ./goprogram.keep
is "$status" 0 'a Go program: recorded'
profile 'a Go program: 99 % of the frames are named, 95 % of the stacks complete' go.pb.gz \
	'n > 200' \
	"named('/goprogram') >= 0.99" "anywhere(r'^regexp\.') > 0.1" \
	"roots(r'^(runtime\.|_rt0_|_start|start_thread|.*clone)') > 0.95"

# A stripped Go program has no symbols, so the ends of its stacks identify its roots.
HOME=$T GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -ldflags '-s -w' -o gostripped.keep main.go
run "$CPROF" record --json -e cpu-clock -o gostripped.pb.gz -- ./gostripped.keep
is "$status" 0 'a stripped Go program: recorded'
check 'a stripped Go program: 70 % of the stacks are complete, without CFI and symbols' \
	"$PYTHON" - out <<'END'
import json, sys
ends = json.loads(open(sys.argv[1]).read().splitlines()[-1])["stack_ends"]
sys.exit(ends["root"] < 0.7 * sum(ends.values()))
END

cat >unit.c.keep <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
int f(int x) { int s = 0; for (int i = 0; i < x; i++) { s += i * x; if (s & 4) s ^= strlen("abc"); } return s; }
int main(int argc, char **argv) { return printf("%d %f\n", f(argc), sqrt(argc)); }
END
cat >build.sh.keep <<'END'
i=0
while [ $i -lt 25 ]; do
	gcc -O2 -x c -c -o /dev/null unit.c.keep || exit 1
	i=$((i + 1))
done
END
run "$CPROF" record -e cpu-clock -o gcc.pb.gz -- sh build.sh.keep
is "$status" 0 'gcc: a storm of short processes is recorded'
profile 'gcc: compiler and assembler have samples' gcc.pb.gz 'n > 500' \
	"{'cc1', 'as'} <= labels('process_name')" "len(labels('pid')) > 25"
profile 'gcc: 99 % of the frames in libc and the loader are named' gcc.pb.gz \
	"named('/(libc|ld-linux)[^/]*$') >= 0.99"
if is_root; then
	cat >measure.py.keep <<'END'
import resource, subprocess
subprocess.run(["sh", "build.sh.keep"], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("cpu_ns %d" % ((used.ru_utime + used.ru_stime) * 1e9))
END
	all_of_gcc() {
		run "$CPROF" record -e cpu-clock -F 4999 -o gccall.pb.gz -- /usr/bin/python3 measure.py.keep
		profile 'gcc: 95 % of the CPU time is in the profile' gccall.pb.gz \
			"total >= 0.95 * $(truth)"
	}
	attempts 3 all_of_gcc
fi

port=$(free_port)
redis-server --port $port --save '' --daemonize no --bind 127.0.0.1 >redis.keep 2>&1 &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 redis-cli -p $port ping
redis-benchmark -p $port -q -n 100000000 -t set,get,lpush -P 16 >/dev/null 2>&1 &
tap_pids="$tap_pids $!"
let_use $pid 200
start_cprof record -e cpu-clock --labels thread_name -o redis.pb.gz -p $pid
let_use $pid 1500
kill -INT "$cprof_pid"
end_cprof
is "$status" 0 'redis-server: recorded under load'
binary=$(readlink -f /proc/$pid/exe)
profile 'redis-server: enough samples, all threads' redis.pb.gz 'n > 500' \
	"any('redis' in x for x in labels('thread_name'))"
profile 'redis-server: every frame has a name, or file and offset' redis.pb.gz "'' not in names"
profile 'redis-server: 99 % of the frames in libc and the kernel are named' redis.pb.gz \
	"named('/(libc|ld-linux)[^/]*$') >= 0.99" "not user_frames('^.kernel') or named('^.kernel') > 0.99"
owed redis-server "$binary" redis.pb.gz redis
check 'redis-server: it keeps serving' redis-cli -p $port ping
finish
