#!/bin/sh
# Functions of each language in processes of other users, in containers and in another root: they
# have names, or one line says how many samples have none, why, and what to do.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/runtimes.sh"
need_perf
need_root
need setpriv unshare

chmod 777 "$T"
cp "$CPROF" cprof.keep
chmod 755 cprof.keep

# until_used COMMAND...: kills the process $pid as soon as it has used 0.3 s of CPU time more
until_used() {
	{
		let_use "$pid" 300
		kill -KILL "$pid"
	} &
	"$@"
	wait $!
}

# with_perfmon FILE: as another user, who may record but not read memory
with_perfmon() {
	until_used run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+perfmon \
		--ambient-caps=+perfmon "$T/cprof.keep" record -e cpu-clock --user -F 999 -o "$1" -p "$pid"
	is "$status" 0 "recorded: $1"
}

for language in $(languages); do
	spin "$language" setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
	attempts 3 recorded "$language" "$language: the process of another user, as root"
	until_used run as_nobody "$T/cprof.keep" record -e cpu-clock --user -F 999 -o own.pb.gz -p "$pid"
	is "$status" 0 'recorded: own.pb.gz'
	profile "$language: as that user" own.pb.gz "anywhere('^(py|php|rb)::|^Spin[.]|^(loop|round|once|fib)\$') > 0.5"

	spin "$language"
	let_use "$pid" 300
	with_perfmon other.pb.gz
	unnamed other.pb.gz "$language: without the right to read memory"
	is "$(cat err out | grep -Ec 'in [1-9][0-9]* samples?: process [0-9]+: its memory may not be read: it belongs to user 0: run cprof as that user, or grant CAP_SYS_PTRACE$')" 1 \
		"$language: one line says in how many samples, why, and what to do"
	rm -f ./*.pb.gz
done
finish
