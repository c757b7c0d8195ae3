#!/bin/sh
# Goroutines from outside are what the program says about itself, and the program does not notice.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need go

HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE

# begin NAME ARGS...: starts the program, with its input open, and waits until it is ready
begin() {
	begin_name=$1
	shift
	mkfifo "$begin_name.in"
	# the shell empties the file later than the wait for its text begins
	rm -f "$begin_name.out"
	exec 7<>"$begin_name.in"
	"./$begin_name.keep" "$@" <"$begin_name.in" >"$begin_name.out" 7>&- &
	pid=$!
	tap_pids="$tap_pids $pid"
	check "$begin_name: the program is ready" wait_for 60 grep -q ready "$begin_name.out"
}

end() {
	exec 7>&-
	check "$begin_name: the program has not noticed it, and ends by itself" wait "$pid"
	rm -f "$begin_name.in"
}

build() {
	build_name=$1
	shift
	check "$build_name: builds" go build -o "$build_name.keep" "$@"
}

P=$CPROF_SOURCE_ROOT/tests/prog
build plain "$P/gowaits.go"
build bare -buildmode=pie -ldflags='-s -w' "$P/gowaits.go"
for kind in plain bare; do
	begin $kind wait 300 150 $kind.own
	run "$CPROF" snapshot -p "$pid" --format=go2
	is "$status" 0 "$kind: a snapshot"
	cp out $kind.go2
	check "$kind: equal to the program's own text" "$P/gowaits.py" $kind.own $kind.go2
	[ $kind = plain ] || {
		end
		continue
	}
	run "$CPROF" snapshot -q -p "$pid" -o g.pb.gz
	is "$status" 0 "$kind: a profile"
	profile "$kind: one sample for each goroutine" g.pb.gz "n == 302"
	run "$CPROF" report --by go::created_by g.pb.gz
	like out '300 .*main\.main .*gowaits\.go:[0-9]+' "$kind: by creator"
	run "$CPROF" report --by number g.pb.gz
	like out ' 15$' "$kind: labels of the program"
	run "$CPROF" snapshot -p "$pid" --format=go1
	like out '^goroutine profile: total 302$' "$kind: the text of debug=1"
	like out '^# labels: \{"kind":"labelled", "number":"15"\}$' "$kind: with labels"
	check "$kind: go tool pprof reads it" go tool pprof -top out
	run "$CPROF" snapshot -p "$pid"
	like out '^goroutine [0-9]+, chan receive .*created by main\.main ' "$kind: goroutines are the default"
	run "$CPROF" snapshot -p "$pid" --threads
	like out 'in futex' "$kind: its threads"
	run "$CPROF" snapshot -p "$pid" --older-than 1h --format=go2
	unlike out . "$kind: nothing waits for an hour"
	run "$CPROF" snapshot -p "$pid" --older-than 1h
	like out '^# 0 goroutines' "$kind: the text names goroutines"
	like out '^# left out: 30[0-9] that have not' "$kind: the others are counted"
	run "$CPROF" snapshot -p "$pid" --threads --older-than 1h --json
	like out '"entries":\[\]' "$kind: nor do its threads"
	end
done

# A version that cprof does not know: the layout is that of the debug information.
sed 's/go1\.[0-9][0-9]*\.\([0-9]\)/go1.99.\1/g' plain.keep >later.keep
chmod +x later.keep
strip -s -o bare-later.keep later.keep
go version later.keep >version
like version ': go1\.99\.' "later: has another version"
begin later wait 300 50 later.own
run "$CPROF" snapshot -p "$pid" --format=go2
is "$status" 0 "later: a snapshot"
cp out later.go2
check "later: equal to the program's own text" "$P/gowaits.py" later.own later.go2
end
check "its layout is the known one" "$PROG/golayout" plain.keep "$(go env GOVERSION)"

# Without debug information the layout is proven, or refused.
begin bare-later wait 100 20 bare-later.own
run "$CPROF" snapshot -p "$pid" --format=go2
if [ "$status" = 0 ]; then
	cp out bare-later.go2
	check "stripped: a proven layout is right" "$P/gowaits.py" bare-later.own bare-later.go2
else
	like err 'the layout of goroutines in go1\.99\.[0-9]+ is unknown' "stripped: the version is named"
fi
end

build cgo "$P/gowaitsc.go"
begin cgo wait 60 5 cgo.own
run "$PROG/goshot" "$pid" go2
cp out cgo.go2
check "cgo: equal to the program's own text" "$P/gowaits.py" cgo.own cgo.go2
end

# Stacks of goroutines that move, while the garbage collector runs and stacks grow and shrink.
begin plain churn 200 30
run "$PROG/goshot" "$pid" go2
cp out churn.go2
check "churn: each stack is one that the program can have" "$P/gowaits.py" --possible churn.go2 200
end

# Goroutines that run are sampled; those that wait for a CPU were interrupted anywhere.
begin plain spin 3 30
run_all() {
	run "$CPROF" snapshot -p "$pid" --format=go2
	cp out spin.go2
	is "$(grep -c '^main\.spin' spin.go2)" 3 "spin: each goroutine has its stack"
}
attempts 5 run_all
end

run "$CPROF" snapshot -p $$ --goroutines
is "$status" 1 "a shell has no goroutines"
like err 'runs no Go program' "the reason"
finish
