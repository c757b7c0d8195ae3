#!/bin/sh
# Delivered and lost samples are what the kernel counted, also beside other recorders; lost samples
# belong to the target as far as that is known.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# The program's own account of its faults comes from getrusage(2).
for ring in 16M 4k; do
	run "$CPROF" record --json -q --scope task -e page-faults -c 1 --call-graph none \
		--ring-size $ring -o f.pb.gz -- sh -c "exec '$PROG/pagefaulter' 5000 10 >&2"
	if ! is_root && [ "$status" -ne 0 ]; then
		skip "rings of $ring: the counts add up" 'so large a ring needs root'
		continue
	fi
	is "$status" 0 "rings of $ring: status 0"
	is "$(json 'e["samples"] + e["lost_counted"] == e["counted"]')" True \
		"rings of $ring: delivered and lost samples are what the kernel counted"
	is "$(json "50000 <= e['counted'] <= $(sed -n 's/^faults //p' err) + 200")" True \
		"rings of $ring: which is what the program has"
	is "$(json 'e["lost"] == e["lost_max"] == e["lost_all"] == e["lost_counted"]')" True \
		"rings of $ring: lost samples are exact in scope task"
done

# A reader that is stopped; processes that end meanwhile.
background sh -c "while [ ! -e go ]; do sleep 0.02; done
	for i in 1 2 3 4; do '$PROG/pagefaulter' 1000 5 >/dev/null; done; : >finished; exec sleep 60"
start_cprof record --json --scope task -e page-faults -c 1 --call-graph none --ring-size 64k \
	-o stop.pb.gz -p "$pid"
kill -STOP "$cprof_pid"
: >go
wait_for 60 test -e finished
kill -CONT "$cprof_pid"
kill -INT "$cprof_pid"
end_cprof
is "$status" 0 'a reader that was stopped: status 0'
is "$(json 'e["lost_counted"] > 1000 and e["counted"] > 20000')" True 'it has lost samples'
is "$(json '0 <= e["samples"] + e["lost_counted"] - e["counted"] <= 400')" True \
	'they and the delivered ones are what was counted, and some records of its children'

# The samples that the ring of a CPU has lost are mostly those of others.
others() {
	background "$PROG/spin" 4 1000000
	other=$pid
	start_cprof record --json --strict --scope cpu --no-bpf -e cpu-clock -F 4000 --ring-size 16k \
		-o cpu.pb.gz -- sh -c "'$PROG/spin' 2 50 >&2; while [ ! -e ended ]; do sleep 0.05; done"
	let_use "$other" 100
	kill -STOP "$cprof_pid"
	let_use "$other" 700
	kill -CONT "$cprof_pid"
	: >ended
	end_cprof
	kill -KILL "$other"
	rm -f ended
	is "$(json 's["losses"]["lost_all"] == e["lost_counted"] > 500')" True \
		'scope cpu: the kernel has lost samples'
	is "$(json 'e["lost"] <= e["lost_max"] < e["lost_all"] / 2')" True \
		'scope cpu: most of them were not of the target'
	is "$(json '(e["samples"] + e["lost"]) * 250000 < 1.1 * s["cpu_used_ns"] + 1e7')" True \
		'scope cpu: it has no more samples than CPU time'
	is "$status" "$(json '2 if e["lost"] else 0')" 'scope cpu: --strict looks at those of the target'
	like err 'samples lost at most, as other tasks lost some, too: the number is an estimate' \
		'scope cpu: the summary says that it is an estimate'
	like err '(--scope cgroup|leave out --no-bpf), --ring-size 32K, lower -F' \
		'scope cpu: the remedy is the scope first'
	profile 'scope cpu: so does the file' cpu.pb.gz "'the number is an estimate' in comments"
}

# Samples of a software event have the time of the recorder that was first, by any clock.
cat >clock.py.keep <<'END_OF_CLOCK'
import ctypes, fcntl, mmap, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
rings = []
for cpu in range(os.cpu_count()):
    # PERF_COUNT_SW_PAGE_FAULTS, IP and TIME; disabled, use_clockid: CLOCK_REALTIME
    attr = struct.pack("<IIQQQQQ", 1, 112, 2, 1, 5, 0, 1 | 1 << 25)
    attr += struct.pack("<IIQQQQIi", 1, 0, 0, 0, 0, 0, 0, 0)
    fd = libc.syscall(number, ctypes.c_char_p(attr.ljust(112, b"\0")), -1, cpu, -1, 8)
    if fd < 0:
        continue
    rings.append(mmap.mmap(fd, 9 * mmap.PAGESIZE))
    fcntl.ioctl(fd, 0x2400, 0)
open("other", "w").close()
time.sleep(60)
END_OF_CLOCK
other_clock() {
	rm -f go other
	start_cprof record --json --scope cpu -e page-faults -c 1 --call-graph none --ring-size 16M \
		-o clock.pb.gz -- sh -c "while [ ! -e go ]; do sleep 0.05; done; '$PROG/pagefaulter' 5000 4 >&2"
	background "$PYTHON" clock.py.keep
	wait_for 60 test -e other
	: >go
	end_cprof
	kill -KILL "$pid"
	is "$status" 0 'a recorder with another clock: status 0'
	profile 'a recorder with another clock: each sample once' clock.pb.gz \
		"round(cum('touch_pages') * total) == 20000 or n >= 20000"
	is "$(json 's["losses"]["out_of_order"] < 10')" True \
		'a recorder with another clock: its times do not count'
}
if is_root; then
	attempts 3 others
	attempts 3 other_clock
else
	skip 'samples of all tasks of a CPU' 'needs root'
fi
finish
