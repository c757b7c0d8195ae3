#!/bin/sh
# The examples of the man pages work as they are, as root and as an ordinary user.  Files, programs
# and servers that they name exist; only times are shortened, and what needs another machine is left
# out by name.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gzip sqlite3 jq make go curl perf setpriv

mkdir bin.keep
ln -s "$CPROF" bin.keep/cprof
printf '#!/bin/sh\nexec cat\n' >bin.keep/flamegraph.pl
chmod 755 bin.keep/flamegraph.pl
PATH=$T/bin.keep:$PATH

# PAGE, prompt and command of each example, separated by tabs.
cat >examples.py.keep <<'END'
import glob, os, re
for path in sorted(glob.glob(os.environ["CPROF_SOURCE_ROOT"] + "/man/*.[17]")):
    command = None
    for line in open(path, encoding="utf-8"):
        for old, new in (("\\&", ""), ("\\(dq", '"'), ("\\-", "-"), ("\\e", "\\")):
            line = line.replace(old, new)
        line = line.rstrip("\n")
        if command:
            command = command.rstrip("\\") + " " + line.strip()
        else:
            m = re.match(r"(?:\.Dl )?([$#]) (\S.*)$", line) or re.match(r"\.Dl ()(cprof .*)$", line)
            if not m or ".Dl" not in line and not re.match(r"[$#] (cprof|go|curl|find|perf) ", line):
                continue
            prompt, command = m.group(1) or "$", m.group(2)
        if command.endswith(("\\", "|")):
            continue
        print(os.path.basename(path), prompt, command, sep="\t")
        command = None
END
"$PYTHON" examples.py.keep >list.keep
check 'there are examples to try' test "$(wc -l <list.keep)" -ge 80

# What the examples name.  A server works for a millisecond, ten times per second.
servers='nginx java server myserver redis-server mariadbd'
cat >work.keep <<'END'
while :; do
	i=0
	while [ $i -lt 1000 ]; do i=$((i + 1)); done
	sleep 0.1
done
END
prepare() {
	mkdir -p build/rootfs build/debug profiles
	cp "$PROG/spin" sort
	printf '#!/bin/sh\nexec %s held\n' "$PROG/allocs" >prog
	cp "$PROG/shortthreads" short
	seq 20000 >words
	echo 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300000) SELECT count(i) FROM n;' >q.sql
	echo 'int unwind(int n) { return n < 2 ? n : unwind(n - 1) + unwind(n - 2); }' >unwind.c
	printf 'all check:\n\t./program >/dev/null\n' >Makefile
	printf '#!/bin/sh\nexec %s 2 300 >/dev/null\n' "$PROG/spin" >program
	chmod 755 prog program
	cp program old
	cp program new
	"$CPROF" record -q -e cpu-clock --label service_name=shop --labels process_name,pid,tid,thread_name,cgroup \
		-o x.pb.gz -- ./program >/dev/null
	"$@" perf record -q -g -o perf.data ./program >/dev/null 2>&1
	for name in old new cpu server hour-1 hour-2 out.1 out.2 cprof.cpu-clock profiles/a before after all; do
		cp x.pb.gz "$name.pb.gz"
	done
	cp "$CPROF_SOURCE_ROOT/tests/fuzz/corpus/heaptrack/prof.txt" heaptrack.prog.1234.zst
	cp "$CPROF_SOURCE_ROOT/tests/fuzz/corpus/jemalloc/prof.heap" jeprof.1234.0.f.heap
	: >busy.txt
}

# Examples that need what is not here: containers, a collector, a source tree, npm, Go's labels and
# locks, a PMU, functions of a certain program; golabels.sh, goroutines.sh and waits*.sh have programs for those.
is_elsewhere() {
	case $1 in
	*docker\ * | *kubectl\ * | *https://* | *127.0.0.1:4318* | *tests/run\ * | *npm\ * | *'-e cpu-clock' | \
		*uncore_imc* | *instructions:u* | *memcpy* | *'^parse$'* | *handler* | \
		*go::created_by* | *'-e block'* | *block.pb.gz* | *block,mutex*) return 0 ;;
	esac
	return 1
}

# Shorter, and with the process ids and folders of this test.
adapted() {
	printf '%s\n' "$1" | sed -E "s/(--duration|sleep) [0-9.]+/\1 0.3/; s/seconds=10/seconds=1/; s/-j4//
		s/ (4711|4242|1234)( |\$)/ $server_pid\2/; s/--repeat [0-9]+/--repeat 3/; s/-r 10/-r 2/
		s/interval 5s/interval 200ms/; s,/srv/profiles[^ ]*|find spool,find profiles,; s,find find,find,
		s,/usr/share/dict/words,words,; s/-p NAME/-p server/; s/--older-than 10m/--older-than 1ms/
		s/--debuginfod //; s/:6060/:$port/"
}

start_servers() {
	for name in $servers; do
		cp /bin/dash "$name"
		background "$@" env LD_PRELOAD="$alloc" "./$name" "$T/work.keep"
		server_pids="$server_pids $pid"
		[ "$name" != server ] || server_pid=$pid
	done
}

# paste_all HOW [WRAPPER...]: in this folder
paste_all() {
	how=$1 server_pids=
	shift
	[ $# -eq 0 ] || chown 65534:65534 .
	prepare "$@"
	[ $# -eq 0 ] || chown -R 65534:65534 .
	start_servers "$@"
	while IFS='	' read -r page prompt command; do
		[ "$prompt" = '$' ] || { is_root && [ $# -eq 0 ]; } || continue
		! is_elsewhere "$command" || continue
		command=$(adapted "$command")
		want=0
		case $command in
		'cprof serve -l'*'&')
			background "$@" sh -c "exec ${command%&}" 2>serve.keep
			server_pids="$server_pids $pid"
			wait_for 5 grep -q . serve.keep
			continue
			;;
		'cprof doctor'*) want='0|1|2' ;;
		*' --http'*) command="timeout 2 $command --no-browser" want=124 ;;
		*'pprof -http : '*) command="PPROF_BROWSER=true BROWSER=true timeout 4 $command" want='0|124' ;;
		'cprof top '*--batch*) ;;
		'cprof top '*) command="cprof top --batch 1 --interval 200ms ${command#cprof top }" ;;
		*--fail-if*) want='0|3' ;;
		*check\ --for*) "$CPROF" record -q -e cpu-clock --labels none -o cprof.cpu-clock.pb.gz -- ./program >/dev/null ;;
		*'record --scope task ./short'*) want='0|1' ;;
		esac
		case $command in
		*_base\ old* | *--diff\ old*) cp x.pb.gz old.pb.gz ;;
		esac
		run "$@" sh -c "$command" </dev/null
		check "$how: $page: $command" sh -c "case $status in $want) ;; *) exit 1 ;; esac"
	done <"$T/list.keep"
	# shellcheck disable=SC2086 # a list
	kill -KILL $server_pids 2>/dev/null
}

alloc=$(find "$CPROF_BUILD_ROOT/lib/preload" -name 'libcprof-alloc.so' | head -n 1)
port=$((20000 + $$ % 20000))
mkdir own.keep other.keep
cd own.keep || exit 99
paste_all 'this user'
if is_root; then
	cd "$T/other.keep" || exit 99
	HOME=$T/other.keep
	export HOME
	port=$((port + 1))
	paste_all 'an ordinary user' setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
fi
cd "$T" || exit 99
finish
