#!/bin/sh
# A Go program has names and complete stacks, even when it is fully stripped.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need go

HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE
for kind in twin bare barepie; do
	flags=
	mode=exe
	[ "$kind" = twin ] || flags='-s -w'
	[ "$kind" != barepie ] || mode=pie
	go build -buildmode="$mode" -ldflags="$flags" -o "$kind.keep" \
		"$CPROF_SOURCE_ROOT/tests/prog/golang.go" || {
		fail "$kind: builds"
		continue
	}
	run "$CPROF" record -q -e cpu-clock --user -o g.pb.gz -- "./$kind.keep"
	is "$status" 0 "$kind: recorded"
	profile "$kind: functions are named" g.pb.gz "anywhere('^main.outer\$') > 0.8" \
		"named('$kind') > 0.99"
	profile "$kind: inlined calls have one frame each" g.pb.gz \
		"chain('main.leaf', 'main.middle', 'main.outer')"
	profile "$kind: frames have files and lines" g.pb.gz \
		"any(f.endswith('/prog/golang.go') and l == $(grep -n 'return middle(7, n)' "$CPROF_SOURCE_ROOT/tests/prog/golang.go" | cut -d: -f1) for f, l in lines('main.outer'))"
	profile "$kind: stacks begin where goroutines and threads do" g.pb.gz \
		"roots(r'^(runtime\\.(goexit|mstart|mcall|rt0_go)(\\.abi0)?|_rt0_.*)\$') > 0.95"
	# Go before 1.24 writes no GNU build id; Go's own is sufficient.
	if [ "$kind" = bare ]; then
		run "$CPROF" record -q -e cpu-clock --user --no-symbols -o later.pb.gz -- "./$kind.keep"
		run "$CPROF" symbolize -v later.pb.gz
		is "$status" 0 "$kind: cprof symbolize succeeds"
		like err "bare.keep': .*[0-9]+ by the runtime's table" \
			"$kind: cprof symbolize -v names the runtime's table"
		unlike err "bare.keep': [0-9]+ by the runtime's table; no" "$kind: the table is the only source"
		profile "$kind: cprof symbolize finds the file by its build id" later.pb.gz \
			"anywhere('^main.outer\$') > 0.8" \
			"[len(m.build_id) >= 30 for m in p.mappings.values() if m.file.endswith('/bare.keep')] == [True]"
	fi
done

# The work of the runtime on a thread's stack continues with the goroutine that caused it.
churn() {
	run "$CPROF" record -v --scope "$2" -e cpu-clock -o c.pb.gz -- "./churn$1.keep"
	is "$status" 0 "garbage$1, scope $2: recorded"
	profile "garbage$1, scope $2: stacks begin where goroutines and threads do" c.pb.gz \
		"roots(r'^runtime\\.(goexit|morestack|mcall|mstart|rt0_go|clone)') > 0.9"
	profile "garbage$1, scope $2: stacks of the runtime's work begin there, too" c.pb.gz \
		"anywhere(r'^runtime\\.systemstack') > 0.02" \
		"roots(r'^runtime\\.systemstack') < 0.3 * anywhere(r'^runtime\\.systemstack')"
	profile "garbage$1, scope $2: the garbage collector's worker is below its goroutine" \
		c.pb.gz \
		"through(r'^runtime\\.gcBgMarkWorker\\.func', r'^runtime\\.systemstack', r'^runtime\\.gcBgMarkWorker\$', r'^runtime\\.goexit') >= 0.7 * anywhere(r'^runtime\\.gcBgMarkWorker\\.func')"
	profile "garbage$1, scope $2: frames of the goroutine are below the runtime's work" \
		c.pb.gz \
		"part(lambda r: any(n.startswith('runtime.systemstack') for n in r[0]) and 'main.grow' in r[0]) > 0.001" \
		"part(lambda r: 'main.grow' in r[0]) < 1.05 * sum(through('main.grow\$', f'main.{a}\$', f'main.work{b}\$', 'runtime.goexit') for a, b in (('left', 'Left'), ('right', 'Right')))"
	profile "garbage$1, scope $2: each closure on a thread's stack is below the function that made it" \
		c.pb.gz \
		"part(lambda r: any(c.startswith('runtime.systemstack') and re.search('[.]func[0-9]+\$', a) and b != a[:a.rindex('.func')] for a, c, b in zip(r[0], r[0][1:], r[0][2:]))) < 0.001"
}
check 'garbage: the program builds' \
	go build -o churn.keep "$CPROF_SOURCE_ROOT/tests/prog/gochurn.go"
check 'garbage: the stripped program builds' go build -ldflags='-s -w' -o churn-s.keep \
	"$CPROF_SOURCE_ROOT/tests/prog/gochurn.go"
attempts 3 churn '' auto
attempts 3 churn -s auto
attempts 3 churn -s task

# C code also runs on a thread's stack, and Go code called from it on the goroutine's stack again.
into_c() {
	run "$CPROF" record -q --scope "$1" --user -e cpu-clock -o cgo.pb.gz -- ./cgo.keep
	is "$status" 0 "cgo, scope $1: recorded"
	profile "cgo, scope $1: C code is below the goroutine that called it" cgo.pb.gz \
		"part(lambda r: r[0][:1] == ['burnC']) > 0.2" \
		"part(lambda r: r[0][:2] == ['burnC', 'outerC'] and 'runtime.asmcgocall' in r[0] and 'main.intoC' in r[0] and r[0][-1] == 'runtime.goexit') > 0.7 * part(lambda r: r[0][:1] == ['burnC'])"
	profile "cgo, scope $1: Go code called from C is below both" cgo.pb.gz \
		"part(lambda r: r[0][:1] == ['main.burnGo']) > 0.2" \
		"part(lambda r: 'runtime.cgocallback' in r[0] and 'main.thereAndBack' in r[0] and r[0][-1] == 'runtime.goexit') > 0.95 * part(lambda r: r[0][:1] == ['main.burnGo'])"
}
check 'cgo: the program builds' go build -o cgo.keep "$CPROF_SOURCE_ROOT/tests/prog/gocgo.go"
attempts 3 into_c auto
attempts 3 into_c task
finish
