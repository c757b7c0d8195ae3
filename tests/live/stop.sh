#!/bin/sh
# Every way to end a recording gives a complete, valid file; a second SIGINT leaves no file.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

background "$PROG/spin" 4 1000000
target=$pid

for number in INT TERM HUP; do
	start_cprof record -e cpu-clock -o $number.pb.gz -p "$target"
	let_use "$target" 200
	kill -$number "$cprof_pid"
	end_cprof
	is "$status" 0 "SIG$number, attached: status 0"
	profile "SIG$number, attached: the profile is complete" $number.pb.gz \
		'n > 20' "cum('recurse') > 0.98"
	check "SIG$number, attached: the target keeps running" kill -0 "$target"
done
is "$(cut -d' ' -f3 /proc/"$target"/stat)" R 'after three recordings the target is running'
is "$(awk '/^TracerPid/ { print $2 }' /proc/"$target"/status)" 0 \
	'after three recordings the target is not traced'

for number in INT TERM HUP; do
	start_cprof record -e cpu-clock -o c$number.pb.gz -- "$PROG/spin" 4 1000000
	child=$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)
	let_use "$child" 200
	kill -$number "$cprof_pid"
	wait_for 60 test -e c$number.pb.gz
	kill -KILL "$child" 2>/dev/null
	end_cprof
	profile "SIG$number, command: the profile is complete" c$number.pb.gz 'n > 20' \
		"cum('recurse') > 0.98"
done

# Ctrl-C in a terminal signals both processes.
cat >ctrlc.py.keep <<'END'
import os, signal, subprocess, sys, time
# Shells start background jobs with Ctrl-C ignored, which their children inherit.
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.DEVNULL)
def child_ms():
    try:
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            child = f.read().split()[0]
        with open("/proc/%s/comm" % child) as f:
            if f.read() != "spin\n":
                return 0
        with open("/proc/%s/stat" % child) as f:
            return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) * 10
    except (OSError, IndexError):
        return 0
end = time.monotonic() + 60
while child_ms() < 200 and time.monotonic() < end:
    time.sleep(0.02)
os.killpg(p.pid, signal.SIGINT)
print(p.wait(timeout=60))
END
run "$PYTHON" ctrlc.py.keep "$CPROF" record -e cpu-clock -o ctrlc.pb.gz -- "$PROG/spin" 4 1000000
like out '^130$' 'Ctrl-C: the status is that of the command'
profile 'Ctrl-C: the profile is complete' ctrlc.pb.gz 'n > 20' "cum('recurse') > 0.98"

rm -f ./*.pb.gz
for n in 1 2 3; do
	start_cprof record -e cpu-clock -F 20000 -o twice.pb.gz -p "$target"
	let_use "$target" 100
	kill -INT "$cprof_pid"
	sleep 0.15
	kill -INT "$cprof_pid" 2>/dev/null
	end_cprof
	if [ -e twice.pb.gz ]; then
		profile "two SIGINT, run $n: the second came too late, and the file is complete" \
			twice.pb.gz 'n > 20'
	else
		check "two SIGINT, run $n: aborted, status $status" test "$status" -ne 0
	fi
	rm -f twice.pb.gz
	no_files "two SIGINT, run $n: no partial file"
done

# timeout(1) signals its child, and then the process group.
timeouts() {
	for number in INT TERM; do
		n_written=0
		for n in 1 2 3 4 5 6 7 8; do
			timeout -s $number 0.3 "$CPROF" record -q -e cpu-clock -F 20000 -o t.pb.gz -p "$target"
			[ -e t.pb.gz ] && n_written=$((n_written + 1))
			rm -f t.pb.gz
		done
		is $n_written 8 "timeout -s $number: the profile is complete each time"
	done
	n_written=0
	for n in 1 2 3; do	# a busy machine needs more time for the first snapshot
		timeout -s INT 1.5 "$CPROF" snapshot --repeat 100 --every 20ms -p "$target" >shown.keep
		[ -s shown.keep ] && n_written=$((n_written + 1))
	done
	is $n_written 3 'timeout -s INT: the snapshots are shown each time'
}
attempts 3 timeouts
# lasts SECONDS COMMAND...: at least this long. A busy machine takes longer.
lasts() {
	"$PYTHON" - "$@" <<'END'
import subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[2:], check=True, timeout=60)
took = time.monotonic() - start
print("took", took)
sys.exit(0 if took >= float(sys.argv[1]) else 1)
END
}
durations() {
	for duration in 0.5 500ms 0.5s; do
		check "--duration $duration" lasts 0.45 "$CPROF" record -q -e cpu-clock \
			--duration $duration -o d.pb.gz -p "$target"
		profile "--duration $duration: the file has this duration" d.pb.gz \
			'0.45e9 < p.duration_nanos < 2e9' '0 < total < 1.5e9'
	done
	check '--delay 0.4 before --duration 0.3' lasts 0.65 "$CPROF" record -q -e cpu-clock \
		--delay 0.4 --duration 300ms -o d.pb.gz -p "$target"
	profile '--delay: the time before it is left out' d.pb.gz '0 < total < 0.4e9'
}
attempts 3 durations
run "$CPROF" record -q -e cpu-clock --delay 3 -o d.pb.gz -- \
	sh -c "timeout 0.3 '$PROG/serial' 100000 >/dev/null; sleep 3; '$PROG/spin' 3 600 >/dev/null"
profile '--delay with a command: the code before it is left out' d.pb.gz "cum('A') == 0" \
	"cum('recurse') > 0.9"

# --duration ends the recording, but not the command
cut_off() {
	run timeout 60 "$CPROF" record -q -e cpu-clock --duration 0.4 -o d.pb.gz -- "$PROG/spin" 3 3000
	profile '--duration with a command: later samples are left out' d.pb.gz '0 < total < 1.2e9'
}
attempts 3 cut_off
# Not even SIGKILL leaves a partial file, if the file system supports unnamed files.
if "$PYTHON" -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)' 2>/dev/null; then
	rm -f ./*.pb.gz
	start_cprof record -e cpu-clock -o killed.pb.gz -p "$target"
	kill -KILL "$cprof_pid"
	end_cprof
	no_files 'SIGKILL: nothing is left behind'
else
	skip 'SIGKILL: nothing is left behind' 'the file system has no O_TMPFILE'
fi
finish
