#!/bin/sh
# What newcomers typed, and did not understand at first.  Each command as this user and, if that is
# root, as an ordinary one; tests/cli/wrong-uses has the wrong ones.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

mkdir bin.keep
cp "$CPROF" bin.keep/cprof
cp "$PROG/spin" spinner
chmod 755 bin.keep/cprof spinner
ln -s ../spinner bin.keep/spinner
chmod 777 "$T"
PATH=$T/bin.keep:$PATH
HOME=$T
export HOME

java_home=
mkdir classes.keep
cat >classes.keep/Hot.java <<'END'
public class Hot {
	static long work(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * i % 7; return s; }
	public static void main(String[] a) { long t = 0; for (int i = 0; i < 150; i++) t += work(1000000); System.out.println(t); }
}
END
if command -v java >/dev/null && java -XX:TieredStopAtLevel=1 -m \
	jdk.compiler/com.sun.tools.javac.Main -d classes.keep classes.keep/Hot.java 2>/dev/null; then
	java_home=yes
	chmod 755 classes.keep
	chmod 644 classes.keep/*.class
fi

# language NAME PROGRAM [ARG...]: the functions of the language have names, or a line says which
# interpreter hides them, and what helps
language() {
	name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$how: $name" "needs $1"
		return
	fi
	# shellcheck disable=SC2086 # a wrapper or nothing
	run $user cprof record -e cpu-clock -o language.pb.gz -- "$@"
	is "$status" 0 "$how: $name: recorded"
	cp err summary
	run cprof report --sort cum --limit 0 language.pb.gz
	if [ "$named" ] && grep -Eq "  $named" out; then
		pass "$how: $name: functions have names"
	else
		like summary " % of it is in $name's interpreter, without $name functions: [a-z]" \
			"$how: $name: the summary says so, and what helps"
	fi
	rm -f language.pb.gz summary
}

commands() {
	# Exit statuses are those of the command, with samples or without.
	# shellcheck disable=SC2086
	for command in 'true|0' 'sh -c "exit 7"|7'; do
		run $user sh -c "cprof record -e cpu-clock -o status.pb.gz -- ${command%|*}"
		is "$status" "${command#*|}" "$how: cprof record ${command%|*}: the command's status"
		rm -f status.pb.gz
	done

	named='' language Perl perl -e 'for ($i = 0; $i < 6000000; $i++) { $x += $i }'
	# shellcheck disable=SC2016
	named=php::work language PHP php -r \
		'function work() { for ($i = 0; $i < 9000000; $i++) $x = $i; } work();'
	named=rb:: language Ruby ruby -e '5000000.times { |i| i + 1 }'
	named=py:: language Python python3 -c 'for i in range(5000000): x = i'
	# shellcheck disable=SC2016
	named=work language JavaScript node -e \
		'function work(n) { let s = 0; for (let i = 0; i < n; i++) s += i * i % 7; return s }
		for (let i = 0; i < 60; i++) work(1000000)'
	if [ "$java_home" ]; then
		named=Hot.work language Java java -cp "$T/classes.keep" Hot
	else
		skip "$how: Java" 'needs a JDK'
	fi
	named='' language Lua lua5.4 -e 'for i = 1, 50000000 do x = i end'

	# A program with several names, as Debian's redis-server, which is a link to redis-check-rdb.
	ln -sf ../spinner bin.keep/a-server
	# shellcheck disable=SC2086
	run $user cprof record -e cpu-clock -o link.pb.gz -- a-server 2 60
	is "$status" 0 "$how: a program by a link: recorded"
	run cprof report link.pb.gz
	like out '^File: .*/spinner$' "$how: a program by a link: the file"
	like out '^Process: a-server$' "$how: a program by a link: the name of the process"
	run cprof report --json link.pb.gz
	like out '"process": "a-server"' "$how: a program by a link: and in JSON"
	rm -f link.pb.gz
	# shellcheck disable=SC2086
	run $user sh -c "cprof record -e cpu-clock -o lines.pb.gz -- sh -c 'spinner 2 30
		exit 0'"
	run cprof report --info lines.pb.gz
	like out '^command: .*spinner 2 30.n' "$how: lines of a command are in one line of --info"
	rm -f lines.pb.gz

	# The idioms of perf: a process while a command runs, and -g, which changes nothing.
	# shellcheck disable=SC2086
	run $user cprof record -e cpu-clock -F 999 -g -o idiom.pb.gz -p "$spin" -- sleep 1
	is "$status" 0 "$how: record -F 999 -g -p PID -- sleep"
	unlike err 'Try .*--help' "$how: and without a complaint"
	for command in 'record -h' 'help record' 'record --help'; do
		# shellcheck disable=SC2086
		run $user cprof $command
		is "$status" 0 "$how: cprof $command"
		like out 'Usage: cprof record' "$how: cprof $command: is the help of record"
	done
	# shellcheck disable=SC2086
	run $user sh -c 'cat idiom.pb.gz | cprof report'
	is "$status" 0 "$how: cat FILE | cprof report"
	like err "^cprof report: [a-z]*.pb.gz [(]the newest .*'-' is stdin" "$how: and says which FILE"
	for command in true 'sh -c "exit 7"'; do
		# shellcheck disable=SC2086
		run $user sh -c "cprof record -q -p $spin -o timed.pb.gz -- $command"
		is "$status" "$(sh -c "$command"; echo $?)" "$how: -p PID -- $command: its status"
		rm -f timed.pb.gz
	done
	# shellcheck disable=SC2086
	run $user cprof record -q --no-command-line -o secret.pb.gz -- spinner 2 30 --password=hunter2
	check "$how: --no-command-line: no secret is in the file" \
		sh -c '! gzip -dc secret.pb.gz | grep -q hunter2'
	rm -f secret.pb.gz
	rm -f idiom.pb.gz
}

background "$PROG/spin" 2 1000000 >/dev/null
spin=$pid
how='this user' user=
commands
if is_root; then
	run cprof record -e cpu-clock -F 99 -a -g -o all.pb.gz -- sleep 0.3
	is "$status" 0 'root: record -F 99 -a -g -- sleep'
	run cprof report all.pb.gz
	unlike out '^File: .kernel' 'root: the whole machine is not called the kernel'
	rm -f all.pb.gz

	# A reader that is late loses samples, most of them of other tasks.
	background "$PROG/spin" 2 1000000 >/dev/null
	other=$pid
	start_cprof record -e cpu-clock -F 8000 --scope cpu --no-bpf --ring-size 64k -o lost.pb.gz \
		-p "$spin"
	let_use "$spin" 200
	kill -STOP "$cprof_pid"
	let_use "$spin" 700
	kill -CONT "$cprof_pid"
	kill -INT "$cprof_pid"
	end_cprof
	like err 'samples? lost.*(--scope (task|cgroup)|leave out --no-bpf)' \
		'root: the advice against lost samples names what keeps other tasks out'
	run cprof report lost.pb.gz
	like out '^Missing: .*lost' 'root: a report of the file says what was lost'
	rm -f lost.pb.gz

	kill -KILL "$spin" "$other"
	paranoid 2
	cp "$PROG/spin" bin.keep/spin
	background setpriv --reuid=65534 --regid=65534 --clear-groups "$T/bin.keep/spin" 2 1000000 \
		>/dev/null
	spin=$pid
	how='an ordinary user' user=as_nobody
	commands

	run as_nobody cprof record --json -e cpu-clock -o dd.pb.gz -- \
		dd if=/dev/zero of=/dev/null bs=64 count=1000000
	is "$status" 0 'an ordinary user: dd'
	like err 'the target used .* of CPU time in total: .* was spent in the' \
		'an ordinary user: dd: the time in the kernel is reported'
	run cprof report dd.pb.gz
	like out '^Missing: .*kernel' 'an ordinary user: dd: by a report of the file, too'
	rm -f dd.pb.gz
fi
finish
