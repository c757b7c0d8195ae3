#!/bin/sh
# JIT code has names from maps and jitdump: those of the time of the sample, in any namespace.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# The files in /tmp that a run leaves, by the pid that the program printed.
clean() {
	clean_pid=$(sed -n 's/^pid \([0-9]*\) .*/\1/p' "$T/out")
	[ -z "$clean_pid" ] || rm -f "/tmp/perf-$clean_pid.map" "/tmp/jit-$clean_pid.dump"
}

# record MODE ARG...: our own JIT compiler in that mode
JIT_DIR=$T
export JIT_DIR
record() {
	record_mode=$1
	shift
	run "$CPROF" record -e cpu-clock --user -o j.pb.gz "$@" -- "$PROG/jit" "$record_mode" 200
	clean
}

record none
is "$status" 0 'no map: recorded'
memory=$(sed -n 's/.* memory //p' out)
profile 'no map: JIT code is called [jit], with its region' j.pb.gz \
	"leaf(r'^\\[jit\\] $memory\$') > 0.9"

record map
is "$status" 0 'map: recorded'
profile 'map: functions have the names of the map' j.pb.gz \
	"leaf(r'^jit_alpha\\(int, char\\)\$') > 0.4" "leaf('^jit_beta\$') > 0.4"
record map-grow
profile 'map: entries that are added later are read' j.pb.gz \
	"leaf('^jit_alpha') > 0.4" "leaf('^jit_beta\$') > 0.4"
record map-replace
profile 'map: two functions at one address are distinguished by time' j.pb.gz \
	"leaf('^jit_alpha') > 0.3" "leaf('^jit_beta\$') > 0.3"
# .NET and others keep their code in an unnamed file or in /dev/shm, which are not ELF files.
record map-memfd
is "$status" 0 'map of code in a memfd: recorded'
profile 'map of code in a memfd: functions are named' j.pb.gz \
	"leaf('^jit_alpha') > 0.35" "leaf('^jit_beta\$') > 0.35"
if findmnt -no OPTIONS /dev/shm 2>/dev/null | grep -q noexec || [ ! -w /dev/shm ]; then
	skip 'map of code in /dev/shm: functions are named' 'needs a /dev/shm that code may run in'
else
	record map-shm
	profile 'map of code in /dev/shm: functions are named' j.pb.gz \
		"leaf('^jit_alpha') > 0.35" "leaf('^jit_beta\$') > 0.35"
fi

record dump
is "$status" 0 'jitdump: recorded'
profile 'jitdump: functions have names, even if they are moved or replaced' j.pb.gz \
	"leaf('^jit_alpha\$') > 0.4" "leaf('^jit::beta\$') > 0.2" "leaf('^jit_gamma\$') > 0.2"
profile 'jitdump: functions have lines and files' j.pb.gz \
	"('/src/alpha.jit', 11) in lines('jit_alpha')" "('/src/beta.jit', 21) in lines('jit::beta')" \
	"not [f for f, l in lines('jit_gamma') if f]"
record dump-late
profile 'jitdump: a file written at the end names earlier samples' j.pb.gz \
	"leaf('^jit_alpha\$') > 0.3" "leaf('^jit::beta\$') > 0.15" "leaf('^jit_gamma\$') > 0.1"
if "$CPROF" record -q -e cpu-clock --user --call-graph dwarf -o u.pb.gz -- true 2>u.keep ||
	! grep -q 'registers' u.keep; then
	record dump-unwind --call-graph dwarf
	profile 'jitdump: stacks are unwound by its call frame information' j.pb.gz \
		"path('jit_inner', 'jit_outer', 'run') > 0.8"
else
	skip 'jitdump: stacks are unwound by its call frame information' 'needs user registers'
fi

# A process that runs before cprof attaches, and its fork.
background "$PROG/jit" map 100000
jit_pid=$pid
wait_for 60 test -s "/tmp/perf-$jit_pid.map"
run "$CPROF" record -q -e cpu-clock --user --duration 0.3 -o a.pb.gz -p "$jit_pid"
profile 'attach: a map written before is read' a.pb.gz "leaf('^jit_alpha') > 0.9"
kill "$jit_pid"
rm -f "/tmp/perf-$jit_pid.map"

# Other namespaces: the map is below the program's root and has its pid there.
if is_root && unshare --mount --pid --fork true 2>/dev/null; then
	host=$(find /tmp -maxdepth 1 -name 'perf-[1-9].map')
	for options in '' '--scope task'; do
		cat >ns.keep <<-END
		exec 3<"$PROG/jit"
		mount -t tmpfs none /tmp
		# that folder may be below /tmp itself
		cat <&3 >/tmp/jit && chmod +x /tmp/jit && /tmp/jit map 300
		ls /tmp
		END
		# The recorder is outside, the program in its own namespaces.
		# shellcheck disable=SC2086 # words
		run "$CPROF" record $options -q -e cpu-clock --user -o ns.pb.gz -- \
			unshare --mount --pid --fork --mount-proc sh "$T/ns.keep"
		like out '^perf-[1-9]\.map$' \
			"namespaces ($options): the map has the pid of the namespace"
		profile "namespaces ($options): functions are named" ns.pb.gz \
			"leaf('^jit_alpha') > 0.35" "leaf('^jit_beta') > 0.35"
	done
	is "$(find /tmp -maxdepth 1 -name 'perf-[1-9].map')" "$host" \
		"namespaces: the host's /tmp has no new map"
	# A container whose /tmp is an absolute link, which would point outside of it.
	mkdir -p root.keep/bin root.keep/real root.keep/proc
	ln -s /real root.keep/tmp
	cp "$PROG/jit" root.keep/bin/jit
	ldd "$PROG/jit" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "root.keep$(dirname "$lib")"
		cp -L "$lib" "root.keep$lib"
	done
	run "$CPROF" record -q -e cpu-clock --user -o ch.pb.gz -- chroot root.keep /bin/jit map 200
	check 'chroot: the map is inside the root' \
		ls root.keep/real/perf-"$(sed -n 's/^pid \([0-9]*\) .*/\1/p' out)".map
	profile 'chroot: functions are named' ch.pb.gz "leaf('^jit_alpha') > 0.4" "leaf('^jit_beta') > 0.4"
else
	skip 'namespaces' 'needs root and namespaces'
fi

# cprof refuses files that anybody can have put into /tmp, says so, and writes the profile.
trick() {
	trick_why=$1
	trick_name=$2
	trick_make=$3
	cat >trick.keep <<-END
	map=/tmp/perf-\$\$.map
	rm -rf "\$map"
	$trick_make
	exec "$PROG/jit" none 200
	END
	run timeout 60 "$CPROF" record -e cpu-clock --user -o t.pb.gz -- sh "$T/trick.keep"
	is "$status" 0 "$trick_name: recorded"
	like err "perf-[0-9]+\\.map' $trick_why" \
		"$trick_name: cprof reports that it refused the map"
	profile "$trick_name: the refused map gives no names" t.pb.gz "leaf(r'^\\[jit\\] 0x') > 0.9"
	rm -rf "/tmp/perf-$(sed -n 's/^pid \([0-9]*\) .*/\1/p' out).map"
}
echo '0 ffffffffffff evil' >evil.keep
# shellcheck disable=SC2016 # for the inner shell
{
	trick 'is a symbolic link' 'a symbolic link' "ln -s '$T/evil.keep' \"\$map\""
	trick 'is not a regular file' 'a FIFO' 'mkfifo "$map"'
	trick 'is not a regular file' 'a folder' 'mkdir "$map"'
	trick 'is older than the process' 'a file of an earlier process' \
		"cp '$T/evil.keep' \"\$map\"; touch -d '2001-01-01' \"\$map\""
	if is_root; then
		trick 'belongs to another user' "another user's file" \
			"cp '$T/evil.keep' \"\$map\"; chown 65534 \"\$map\""
	else
		skip "another user's file" 'needs root'
	fi
}

# A map that is truncated and rewritten while cprof reads it.
cat >rewrite.keep <<END
map=/tmp/perf-\$\$.map
(i=0; while [ \$i -lt 40 ]; do : >"\$map"; echo '0 fffffffffffff everything' >>"\$map"; printf '%s' 'zz half a li' >>"\$map"; i=\$((i + 1)); sleep 0.01; done) &
exec "$PROG/jit" none 500
END
run "$CPROF" record -e cpu-clock --user -o w.pb.gz -- sh "$T/rewrite.keep"
is "$status" 0 'a map that changes while it is read: recorded'
sleep 0.2
clean

# Real ones.
if command -v node >/dev/null; then
	echo 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } f(30)' >plain.js.keep
	run "$CPROF" record -e cpu-clock --user --runtime-names=off -o u.pb.gz -- node plain.js.keep
	like err 'JavaScript code without names.*perf-basic-prof' \
		'node without options: the summary names the language and the remedy'
	profile 'node without options: the file has the share' u.pb.gz \
		"re.search('names: [0-9.]+ % of the profile is in JavaScript code', comments)"
	cat >hot.js.keep <<'END'
function hotInner(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function hotOuter(n) { let t = 0; for (let i = 0; i < n; i++) t ^= hotInner(20000); return t; }
const end = process.cpuUsage().user + 800000;
let x = 0;
while (process.cpuUsage().user < end) x ^= hotOuter(10);
console.log('pid ' + process.pid + ' ' + x);
END
	# (Names of files in node 20's dumps are sometimes unrelated bytes.)
	for mode in --perf-basic-prof --perf-prof '--perf-prof --perf-prof-unwinding-info'; do
		# shellcheck disable=SC2086 # options
		run "$CPROF" record -q -e cpu-clock --user -o n.pb.gz -- node $mode hot.js.keep
		clean
		is "$status" 0 "node $mode: recorded"
		profile "node $mode: functions are named, with their script" n.pb.gz \
			"anywhere(r'^(JS|LazyCompile|Function):.hot(Inner|Outer) .*hot.js.keep:[12]:') > 0.5" \
			"any('hotOuter' in f.name and f.start_line == 2 for f in p.functions.values())"
	done
	rm -f jit-*.dump isolate-*.log
else
	skip 'node' 'needs node'
fi
finish
