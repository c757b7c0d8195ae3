#!/bin/sh
# The times in a profile are those at which samples were taken, not those at which it was written:
# windows follow each other without a gap, also on a busy machine.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# Delays the children that write files; ends by itself.
cat >hog.py.keep <<'END_OF_HOG'
import os, time
try:
    os.nice(-4)
except OSError:
    pass
end = time.monotonic() + 60
while time.monotonic() < end:
    pass
END_OF_HOG
busy() {
	hogs=
	for _ in 1 2; do
		background "$PYTHON" hog.py.keep
		hogs="$hogs $pid"
	done
}
idle() {
	for hog in $hogs; do
		kill -KILL "$hog"
	done
}

# lines.py: the JSON lines of all windows, and the files that they name
cat >lines.py.keep <<'END_OF_LINES'
import datetime, json, os, re, sys
sys.path.insert(0, os.path.join(os.environ["CPROF_SOURCE_ROOT"], "tests"))
import pprof

windows = sorted((json.loads(line) for line in open("out")), key=lambda w: w["start_time_ns"])
events = [e for w in windows for e in w["events"]]


def total(key):
    return sum(e[key] for e in events)


def follow():
    """Each window begins where the one before it ends: a microsecond for two readings of a clock."""
    gaps = [b["start_time_ns"] - a["end_time_ns"] for a, b in zip(windows, windows[1:])]
    assert len(gaps) >= 5 and all(abs(gap) < 100000 for gap in gaps), gaps
    span = windows[-1]["end_time_ns"] - windows[0]["start_time_ns"]
    durations = sum(w["duration_ns"] for w in windows)
    assert abs(durations - span) < span / 1000, (durations, span)


def files():
    """A file has the times of its window, and its end in its name."""
    n = 0
    for w in windows:
        for e in w["events"]:
            if not e["file"]:
                continue
            p = pprof.Profile(e["file"])
            assert (p.time_nanos, p.duration_nanos) == (w["start_time_ns"], w["duration_ns"])
            stamp = re.search(r"\.(\d{14})(\d\d)\.pb\.gz$", e["file"])
            named = datetime.datetime.strptime(stamp.group(1), "%Y%m%d%H%M%S").timestamp()
            named += int(stamp.group(2)) / 100
            assert abs(named - w["end_time_ns"] / 1e9) < 0.03, (e["file"], w["end_time_ns"])
            n += 1
    assert n >= 3, n


def add_up():
    """Each event was delivered in one window, or reported as lost in one."""
    assert total("counted") == total("samples") + total("lost_counted"), events
    assert total("samples") >= int(sys.argv[2]), total("samples")


def clock():
    """One thread has no more samples than its window has time."""
    for w in windows:
        for e in w["events"]:
            assert e["value"] <= w["duration_ns"] * 1.01 + 3e6, (w["duration_ns"], e["value"])


globals()[sys.argv[1]]()
END_OF_LINES
busy
for scope in task cpu; do
	if [ $scope = cpu ] && ! is_root; then
		skip 'windows of whole CPUs' 'needs root'
		continue
	fi
	ring=16M
	is_root || ring=256k
	run "$CPROF" record --json -q --scope $scope -e page-faults -c 1 --call-graph none --ring-size $ring \
		--switch-output=50ms -o "$scope.pb.gz" -- \
		sh -c "for i in 1 2 3 4 5 6; do '$PROG/pagefaulter' 2000 2; sleep 0.1; done >&2"
	is "$status" 0 "$scope: status 0"
	check "$scope: windows follow each other, and add up to the whole time" \
		"$PYTHON" lines.py.keep follow
	check "$scope: the files say the same" "$PYTHON" lines.py.keep files
	[ $scope = cpu ] ||
		check "$scope: no sample is lost or counted twice" "$PYTHON" lines.py.keep add_up 24000
done
run "$CPROF" record --json -q --scope task -e task-clock -F 999 --call-graph none \
	--switch-output=50ms -o clock.pb.gz -- sh -c "'$PROG/spin' 1 3000 >&2"
is "$status" 0 'a clock: status 0'
check 'a clock: windows follow each other' "$PYTHON" lines.py.keep follow
check 'a clock: no window has more samples than time' "$PYTHON" lines.py.keep clock

idle

# Snapshots begin together; each ends when it is taken.
cat >snapshots.py.keep <<'END_OF_SNAPSHOTS'
import json
windows = [json.loads(line) for line in open("out")]
assert len(windows) == 4, len(windows)
assert len({w["start_time_ns"] for w in windows}) == 1, windows
for w, signalled in zip(windows, open("signals.keep")):
    late = w["end_time_ns"] - int(signalled)
    assert w["end_time_ns"] - w["start_time_ns"] == w["duration_ns"] and 0 <= late < 2e8, late
END_OF_SNAPSHOTS
background "$PROG/spin" 4 1000000
target=$pid
n_snapshots() {
	[ "$(wc -l <out)" -ge "$1" ]
}
snapshots() {
	: >signals.keep
	start_cprof record --json -q -e cpu-clock --snapshot-signal=USR1 -o t.pb.gz -p "$target"
	for n in 1 2 3; do
		let_use "$target" 50
		date +%s%N >>signals.keep
		kill -USR1 "$cprof_pid"
		wait_for 60 n_snapshots $n
	done
	let_use "$target" 50
	date +%s%N >>signals.keep
	kill -INT "$cprof_pid"
	end_cprof
	is "$status" 0 'snapshots: status 0'
	check 'snapshots: each ends at its signal' "$PYTHON" snapshots.py.keep
}
if is_root; then
	attempts 3 snapshots
else
	skip 'snapshots: each ends at its signal' 'without a real-time priority it waits'
fi
kill -KILL "$target"

# The sum of all runs is not longer than they took.
before=$(date +%s%N)
run "$CPROF" record -q --repeat 3 -e cpu-clock -F 4000 -o runs.pb.gz -- "$PROG/spin" 1 20
after=$(date +%s%N)
is "$status" 0 '--repeat: status 0'
profile '--repeat: the durations of the runs' runs.pb.gz "0 < p.duration_nanos <= $after - $before"
finish
