#!/bin/sh
# The texts of snapshots, word by word, without numbers and without the frames of libraries, which other
# machines have differently.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

# plain FILE: without numbers, frames of libraries, and what depends on the kernel
plain() {
	sed -E -e '/^(    at |#	)/!b rest' -e '/(in_futex|f[1-5]|thread_main|[ 	]main|main\.[a-z.1]+)( \(|\+)/!d' -e ':rest' \
		-e 's:[^ (	]*/(blocked\.c|texts\.go|runtime\.go|time\.go):\1:; s/\.(c|go):[0-9]+/.\1:L/; s/^( *@).*/\1/' \
		-e "s:$T/::; s/, kernel [A-Za-z0-9_.]+//; s/, cpu [0-9]+//; s/ \(heuristic\)//; s/^[0-9]+ @.*/N @/" \
		-e 's/(tid|Process|goroutine) [0-9]+/\1 N/; s/about [0-9.]+ m?s/about T/; s/within [0-9.]+ ms/within T/' \
		-e 's/0x[0-9a-f]+/0xN/g; s/^#   [0-9]+ (exact|heuristic)/#   N exact/; s/saw [0-9]+/saw N/; s/ in goroutine N$//' "$1" | uniq
}

# golden NAME <<TEXT: the last output is that text
golden() {
	is "$status" 0 "$1: a snapshot"
	cat >golden.keep
	plain out >plain.keep
	check "$1" diff -u golden.keep plain.keep
}

in_futex='    at in_futex (blocked.c:L)
    at f1 (blocked.c:L)
    at f2 (blocked.c:L)
    at f3 (blocked.c:L)
    at f4 (blocked.c:L)
    at f5 (blocked.c:L)
    at thread_main (blocked.c:L)'
mkfifo in.keep
exec 9<>in.keep
"$PROG/blocked" 1 <in.keep >ready.keep 9>&- &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q ready ready.keep

run "$CPROF" snapshot -p "$pid"
golden 'threads: text' <<END
# 2 threads, read within T; none was stopped
#   N exact

Process N "blocked"

"blocked" tid N, sleeping for about T in read, on fd 0 in.keep
    at main (blocked.c:L)

"futex" tid N, sleeping for about T in futex, on futex 0xN
$in_futex
END
run "$CPROF" snapshot -p "$pid" --repeat 3 --every 5ms
golden 'threads: a series' <<END
# 3 snapshots, which saw N threads altogether; the last one:
# 2 threads, read within T; none was stopped
#   N exact

# 2 threads did not move in all this time:
"blocked" tid N, sleeping for about T in read, on fd 0 in.keep
"futex" tid N, sleeping for about T in futex, on futex 0xN

3 times (50.0 %):
    at main (blocked.c:L)

3 times (50.0 %):
$in_futex
END

if ! command -v go >/dev/null; then
	skip 'goroutines' 'go is not installed'
	finish
fi
HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE
check 'a Go program builds' go build -o texts.keep "$CPROF_SOURCE_ROOT/tests/prog/texts.go"
start_ready ./texts.keep
sleeper='goroutine N, sleep
    at main.main (texts.go:L)'
receiver='goroutine N, chan receive, created by main.main texts.go:L
    at main.receive (texts.go:L)'
receiver2='goroutine N [chan receive]:
main.receive(...)
	texts.go:L +0xN
created by main.main
	texts.go:L'
labelled='goroutine N, chan receive, created by main.main texts.go:L, handler=/search
    at main.receive (texts.go:L)
    at main.labelled.func1 (texts.go:L)
    at main.labelled (texts.go:L)'
run "$CPROF" snapshot -p "$pid"
golden 'goroutines: text' <<END
# 4 goroutines, read within T; none was stopped
#   N exact

Process N "texts.keep"

$sleeper

$receiver

$receiver

$labelled
END
run "$CPROF" snapshot -p "$pid" --fold
golden 'goroutines: equal stacks' <<END
# 4 goroutines, read within T; none was stopped
#   N exact

2 goroutines:
$receiver

1 goroutine:
$sleeper

1 goroutine:
$labelled
END
run "$CPROF" snapshot -p "$pid" --format=go1
golden 'goroutines: debug=1' <<END
goroutine profile: total 4
N @
#	0xN	main.receive+0xN	texts.go:L

N @
#	0xN	main.main+0xN	texts.go:L

N @
# labels: {"handler":"/search"}
#	0xN	main.receive+0xN	texts.go:L
#	0xN	main.labelled.func1+0xN	texts.go:L
#	0xN	main.labelled+0xN	texts.go:L

END
run "$CPROF" snapshot -p "$pid" --format=go2
golden 'goroutines: debug=2' <<END
goroutine N [sleep]:
time.Sleep(...)
	time.go:L +0xN
main.main(...)
	texts.go:L +0xN

$receiver2

$receiver2

goroutine N [chan receive]:
main.receive(...)
	texts.go:L +0xN
main.labelled.func1(...)
	texts.go:L +0xN
runtime/pprof.Do(...)
	runtime.go:L +0xN
main.labelled(...)
	texts.go:L +0xN
created by main.main
	texts.go:L
END
finish
