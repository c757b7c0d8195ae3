#!/bin/sh
# unwind.sh BUILD_DIR [CAPTURE_DIR]
#
# Captures stacks of programs that are installed on this machine and unwinds them with cprof,
# libdwfl and libunwind. Prints nanoseconds per frame, and how many stacks equal those of libdwfl or
# differ for a reason in tests/unwind/NOTES.md; fails if that is less than 99.5 % for a program.
# Captures stay in CAPTURE_DIR, if given, and are reused.

set -u
build=${1:?"usage: unwind.sh BUILD_DIR [CAPTURE_DIR]"}
stackcap=$build/tests/tools/stackcap
bench=$build/tests/tools/bench-unwind
source=$(cd "$(dirname "$0")/../.." && pwd)
for tool in "$stackcap" "$bench"; do
	if ! [ -x "$tool" ]; then
		echo "unwind.sh: '$tool' was not built (it needs libunwind's headers)" >&2
		exit 1
	fi
done
if [ $# -gt 1 ]; then
	dir=$2
	mkdir -p "$dir" || exit 1
else
	dir=$(mktemp -d) || exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"; [ $# -gt 1 ] || rm -rf "$dir"' EXIT

# capture NAME HZ STACK_BYTES COMMAND...: if the command is installed
capture() {
	name=$1 hz=$2 bytes=$3
	shift 3
	[ -e "$dir/$name.cap" ] && return
	if ! command -v "$1" >/dev/null; then
		echo "unwind.sh: $name skipped: no $1" >&2
		return
	fi
	"$stackcap" -F "$hz" -s "$bytes" -n 4000 -o "$dir/$name.cap" "$@" \
		>/dev/null 2>"$work/log" || cat "$work/log" >&2
}

cat >"$work/load.sql" <<'END'
create table t(a integer primary key, b, c);
insert into t with recursive x(i) as (select 1 union all select i + 1 from x where i < 200000)
  select i, i * 7919 % 100003, hex(i) from x;
create index ib on t(b);
select count(*) from t x join t y on x.b = y.a where x.c like '%3%';
END
cat >"$work/load.py" <<'END'
import re, json
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
for i in range(6):
    fib(20)
    s = json.dumps({str(k): [k] * 5 for k in range(20000)})
    json.loads(s)
    re.sub(r'(\d)+x?', 'y', s)
    sorted(range(100000), key=lambda x: -x)
END
cat >"$work/load.cc" <<'END'
#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
static int deep(int n) { if (!n) throw std::runtime_error("x"); return deep(n - 1) + 1; }
int main()
{
	std::map<std::string, int> m;
	std::regex re("a+b(c|d)*e");
	long h = 0;
	for (int i = 0; i < 100000; i++) {
		m["k" + std::to_string(i * 7919 % 65537)] += i;
		if (i % 50 == 0) { try { deep(20); } catch (std::exception &) { h++; } }
		if (i % 20 == 0) h += std::regex_search("xxaaabcdcdcdez" + std::to_string(i), re);
	}
	std::vector<std::string> v;
	for (auto &p : m) v.push_back(p.first);
	std::sort(v.begin(), v.end());
	return h + v.size() == 0;
}
END

capture sqlite 5000 16384 sqlite3 :memory: ".read $work/load.sql"
capture python 5000 16384 /usr/bin/python3 "$work/load.py"
capture gcc 5000 32768 gcc -O2 -I"$source" -I"$source/lib" -D_GNU_SOURCE -c \
	"$source/symbolize/cfi/cfi-run.c" -o /dev/null
capture clang 5000 32768 clang++ -O2 -c "$work/load.cc" -o /dev/null
cat >"$work/load.js" <<'END'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let sum = 0;
for (let i = 0; i < 4; i++) {
    sum += fib(24);
    const rows = Array.from({ length: 50000 }, (_, k) => ({ k, s: 'x' + (k * 7919 % 50021) }));
    rows.sort((a, b) => a.s < b.s ? -1 : 1);
    sum += JSON.parse(JSON.stringify(rows)).length;
    sum += 'abc'.repeat(10000).replace(/b+/g, 'x').length;
}
console.log(sum);
END
capture node 2000 16384 node "$work/load.js"
cat >"$work/Load.java" <<'END'
import java.util.*;
public class Load {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] args) {
		long h = 0;
		for (int r = 0; r < 20; r++) {
			h += fib(27);
			Map<String, Integer> m = new TreeMap<>();
			for (int i = 0; i < 60000; i++)
				m.merge("k" + (i * 7919 % 50021), i, Integer::sum);
			List<String> v = new ArrayList<>(m.keySet());
			v.sort(Comparator.comparing(s -> s.substring(1)));
			h += v.hashCode();
		}
		System.out.println(h);
	}
}
END
capture java 2000 16384 java -XX:+PreserveFramePointer "$work/Load.java"
capture openssl 2000 16384 openssl speed -seconds 1 rsa2048 sha256
# the capture needs its program, so keep both
if ! [ -e "$dir/cxx.cap" ] && g++ -O2 -o "$dir/cxx" "$work/load.cc"; then
	capture cxx 5000 16384 "$dir/cxx"
fi
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	cat >"$work/redis.sh" <<-END
	redis-server --port 0 --unixsocket $work/redis.sock --save "" >/dev/null &
	server=\$!
	while ! [ -S $work/redis.sock ]; do sleep 0.05; done
	redis-benchmark -s $work/redis.sock -n 40000 -q >/dev/null
	kill \$server
	wait
	END
	capture redis 2000 16384 sh "$work/redis.sh"
fi

first=
for file in /usr/lib/*/libLLVM*.so* /usr/lib/llvm-*/lib/libLLVM*.so*; do
	[ -f "$file" ] && first="-f $file" && break
done
# shellcheck disable=SC2086 # two words or none
"$bench" $first -a 99.5 "$dir"/*.cap
