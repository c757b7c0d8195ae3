#!/bin/sh
# A Go program is named and its stacks are whole, also when it was stripped of everything.
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
	profile "$kind: inlined calls are in a chain" g.pb.gz "chain('main.leaf', 'main.middle', 'main.outer')"
	profile "$kind: files and lines" g.pb.gz \
		"any(f.endswith('/prog/golang.go') and l == $(grep -n 'return middle(7, n)' "$CPROF_SOURCE_ROOT/tests/prog/golang.go" | cut -d: -f1) for f, l in lines('main.outer'))"
	profile "$kind: stacks begin where goroutines and threads do" g.pb.gz \
		"roots(r'^(runtime\\.(goexit|mstart|mcall|rt0_go)(\\.abi0)?|_rt0_.*)\$') > 0.95"
	# Go before 1.24 writes no GNU build id; its own will do.
	if [ "$kind" = bare ]; then
		run "$CPROF" record -q -e cpu-clock --user --no-symbols -o later.pb.gz -- "./$kind.keep"
		run "$CPROF" symbolize -v later.pb.gz
		is "$status" 0 "$kind: completed later"
		like err "bare.keep': .*[0-9]+ by .gopclntab" "$kind: by what"
		unlike err "bare.keep': [0-9]+ by .gopclntab; no" "$kind: nothing else is asked for"
		profile "$kind: by its build id" later.pb.gz "anywhere('^main.outer\$') > 0.8" \
			"[len(m.build_id) >= 30 for m in p.mappings.values() if m.file.endswith('/bare.keep')] == [True]"
	fi
done
finish
