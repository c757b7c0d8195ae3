#!/bin/sh
# Goroutines that wait for each other: the profile of block agrees with what they measure.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need go
need_perf

HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE
check 'the program builds' go build -o goblock.keep "$CPROF_SOURCE_ROOT/tests/prog/goblock.go"

# of SITE: its seconds by the program's own clock
of() {
	awk -v name="$1" '$1 == name { print $2 }' own
}

# agree FILE CASE: in the profile of all of the program's life
agree() {
	for site in waitLock receiveItem sendSlot waitEnd; do
		profile "$2: $site: the time is that of the program" "$1" \
			"abs(cum('main.$site') * total / 1e9 - $(of $site)) < 0.05 * $(of $site)"
	done
	# Few readings meet a wait of 0.1 ms, and another one lasts as long as two readings.
	profile "$2: waitRead: likewise" "$1" \
		"abs(cum('main.waitRead') * total / 1e9 - $(of waitRead)) < 0.3 * $(of waitRead)"
	profile "$2: waitQuick: some time of many waits" "$1" \
		"0 < cum('main.waitQuick') * total / 1e9 < 4 * $(of waitQuick)"
	profile "$2: each stack reaches the start of its goroutine" "$1" \
		"all(r[0][-1] in ('runtime.goexit', 'runtime.main') or 'runtime.goexit' in r[0]
			for r in rows if any(f.startswith('main.') for f in r[0]))"
	profile "$2: idle threads are no waits of goroutines" "$1" \
		"sum(r[1] for r in rows if not any(f.startswith('main.') for f in r[0])) < 0.02 * total"
}

launched() {
	run "$CPROF" record -q -e block -o l.pb.gz -- ./goblock.keep 2
	is "$status" 0 'launched: recorded'
	cp out own
	agree l.pb.gz launched
}
attempts 3 launched
run "$CPROF" report --info l.pb.gz
like out 'block: waits of goroutines in Go programs' 'the comments say what was measured'
like out 'block: [0-9]+ readings of goroutines, [0-9.]+ ms apart on average and [0-9]+ ms at most' \
	'and how far apart the readings were'
unlike out 'so it is not measured' 'and goroutines are not missing'
run "$CPROF" report --by wait l.pb.gz
like out 'chan receive$' 'what goroutines wait for is a label'
like out '(semacquire|sync\.Mutex\.Lock)$' 'and locks'
run "$CPROF" report l.pb.gz
like out '[0-9.]+m?s +[0-9.]+% .*(sync\.\(\*Mutex\)\.Lock|main\.waitLock)' 'waits belong to the function that waits'

# A wait lasts until the goroutine runs, as its own clock does.
check 'a program with one thread builds' go build -o goready.keep "$CPROF_SOURCE_ROOT/tests/prog/goready.go"
ready() {
	run "$CPROF" record -q -e block -o y.pb.gz -- ./goready.keep 2
	cp out own
	profile 'goroutines that are ready to run: the time is that of the program' y.pb.gz \
		"abs(cum('main.waitTurn') * total / 1e9 - $(of waitTurn)) < 0.05 * $(of waitTurn)"
	profile 'and the label says what they wait for' y.pb.gz \
		"0.2 < part(lambda r: 'main.waitTurn' in r[0] and r[2]['state'] == 'runnable') < 0.8" \
		"labels('state') == {'blocked', 'runnable'}"
}
attempts 3 ready

# Goroutines that have nothing to do are folded, except while they wait for a CPU.
check 'a program with idle goroutines builds' go build -o goidle.keep "$CPROF_SOURCE_ROOT/tests/prog/goidle.go"
run "$CPROF" record -q -e block -o d.pb.gz -- ./goidle.keep 1
profile 'goroutines that wait by design have the label idle' d.pb.gz \
	"all(part(lambda r: name in r[0] and r[2].get('idle') == value) > 0.05 and
		all(r[2].get('idle') == value for r in rows if name in r[0] and r[2]['state'] != 'runnable')
		for name, value in (('main.idleWorker', 'pool'), ('main.idleLoop', 'event-loop'), ('main.idleSignals', 'pool'),
			('main.idleForever', 'event-loop')))"
profile 'those that wait for somebody else have not' d.pb.gz \
	"not any('idle' in r[2] for r in rows if any(f.startswith('main.busy') for f in r[0]))" \
	"all(cum('main.' + name) > 0.05 for name in ('busyMain', 'busySender', 'busyWaiter'))"
run "$CPROF" report --tag 'state=^[^r]' d.pb.gz
like out '^Idle, not shown: (pool|event-loop) [0-9.]+s, .* \(--idle shows it\)$' 'a report shows their sum'
unlike out 'main\.idle' 'and leaves them out'
like out 'main\.(wait|busyWaiter)' 'but not the others'

# Attached, in the middle of its life: what waits all the time has all the time.
./goblock.keep 4 >/dev/null &
pid=$!
tap_pids="$tap_pids $pid"
run "$CPROF" record -e block,off-cpu --duration 1 -o a.pb.gz -p "$pid"
is "$status" 0 'attached: recorded'
like err 'block: waits of goroutines in process' 'attached: it says so'
profile 'attached: a goroutine that waits all the time has the whole time' a.block.pb.gz \
	"abs(cum('main.waitEnd') * total - p.duration_nanos) < 0.02 * p.duration_nanos" \
	"count('main.waitEnd') == 1"
profile 'attached: off-cpu has threads' a.off-cpu.pb.gz "cum('runtime.mcall') > 0.5" \
	"not any('main.waitEnd' in r[0] for r in rows)"
run "$CPROF" report --info a.off-cpu.pb.gz
like out 'a goroutine of Go that waits' 'attached: and says what they are not'
kill "$pid"

# Who releases a lock of Go is not seen, and nobody else is blamed.
! may_sample_kernel || ! is_root || {
	run "$CPROF" record -e block,mutex -o m.pb.gz -- ./goblock.keep 0.3
	like err 'mutex: a Go program releases its locks without the kernel' 'mutex: a message names the reason'
	unlike err 'samples of mutex, [0-9.]+ s' 'mutex: no thread is blamed for idle ones'
	run "$CPROF" record -q -e "uprobe:$T/goblock.keep:sync.(*Mutex).unlockSlow" -o u.pb.gz -- ./goblock.keep 1
	if [ "$status" = 0 ]; then
		profile 'a uprobe shows each release for which others wait' u.pb.gz \
			"abs(count('main.main.func1') - $(awk '$1 == "waitLock" { print $3 }' out)) <= 3"
	else
		skip 'a uprobe shows each release for which others wait' "$(head -n 1 err)"
	fi
}

# Quanta: samples of equal weight.
run "$CPROF" record -q -e block -c 10ms -o q.pb.gz -- ./goblock.keep 1
profile 'quanta: each sample is 10 ms' q.pb.gz \
	"all(values[1] == 10000000 * values[0] for _, values, _ in p.samples)" "total > 3e9"
finish
