#!/bin/sh
# Labels of goroutines: exact ones are never wrong, late ones not more often than cprof says.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need go

HOME=$T GO111MODULE=off GOFLAGS='' GOCACHE=${PROG%/*}/gocache
export HOME GO111MODULE GOFLAGS GOCACHE
P=$CPROF_SOURCE_ROOT/tests/prog

# Other versions: GO_VERSIONS names commands that are used like go.
go build -o labels.keep "$P/golabels.go" || fail 'builds'
# a stack that was joined to an earlier one proves nothing
right="agree('handler', r'main\\.(burn\\d)\$', True, lambda labels: 'stack' not in labels)"
labelled="part(lambda r: 'handler' in r[2]) / anywhere(r'^main\\.burn\\d\$')"

record() {
	run "$CPROF" record -e cpu-clock --json -o l.pb.gz "$@"
	is "$status" 0 "recorded: $*"
}

# exact NAME MODE EVERY_US SECONDS [SHARE]: that share has a label
exact() {
	record --go-labels=exact -- "./$1.keep" "$2" "$3" "$4"
	profile "$1: $2 every $3 us: most samples have a label, and no label is wrong" l.pb.gz \
		'n > 50' "$right == 1" "$labelled > ${5:-0.8}" "labels('go::labels') == set()"
}

# late NAME EVERY_US: the labels of a moment some ms later
late() {
	record --go-labels=late -- "./$1.keep" switch "$2" 1
	profile "$1: every $2 us: of labels read late not more are wrong than it says" l.pb.gz \
		"$labelled > 0.8" "1 - $right <= $(json 's["go_late_wrong_max"]')" \
		"all('go::labels' in r[2] for r in rows if 'handler' in r[2])" \
		"'go::labels=late' in comments"
}

# The first samples are older than the first reading, the more of them the busier the machine.
rare() {
	record -- ./labels.keep switch 200000 1
	profile 'rare changes are exact by default' l.pb.gz "$right == 1" "$labelled > 0.8"
	check 'and nothing prevents it' json_is 's["go_exact"] > 0 and s["go_not_exact"] is None'
}

# elsewhere a goroutine is late until it was read for the first time
inherit=0.5
[ "$(uname -m)" = x86_64 ] && inherit=0.8
record --go-labels=exact -- ./labels.keep switch 1000 0.2
if json_is 's["go_not_exact"] is None'; then
	attempts 3 exact labels switch 100 0.5
	attempts 3 exact labels switch 10000 0.7
	attempts 3 exact labels 'do' 1000 0.5
	# goroutines that end before they are read
	attempts 3 exact labels request 3000 1
	# goroutines that inherit labels, and most of which end before they are read
	attempts 3 exact labels inherit 200000 1.2 "$inherit"
	[ "$(uname -m)" != x86_64 ] || attempts 3 exact labels inherit 5000 0.7 0.8
	for go in ${GO_VERSIONS:-}; do
		name=labels-$(basename "$go")
		"$go" build -o "$name.keep" "$P/golabels.go"
		exact "$name" switch 1000 1
		exact "$name" switch 1000000 2
		exact "$name" 'do' 10000 1
		exact "$name" request 3000 1
		late "$name" 10000
	done

	attempts 3 rare

	record -v -- ./labels.keep rate 1000000 1.5
	check 'a million changes per second are too expensive to report' \
		json_is '"CPU time" in s["go_not_exact"] and s["go_late"] > 0'
	check 'which it found out for less than 2 % of the time' \
		json_is 's["go_changes_ns"] < 0.02 * s["cpu_used_ns"]'
	profile 'their labels are read late' l.pb.gz "labels('go::labels') == {'late'}"
else
	for what in 100 10000 1000000; do
		skip "exact labels: $what" "$(json 's["go_not_exact"]')"
	done
fi
attempts 3 late labels 1000
attempts 3 late labels 50000

record --go-labels=off -- ./labels.keep switch 10000 0.3
profile 'off: no labels' l.pb.gz "labels('handler') == set()"

record --go-goroutines -- ./labels.keep switch 50000 0.5
profile 'numbers of goroutines' l.pb.gz "len(labels('go::goroutine')) >= 2" \
	"part(lambda r: 'go::goroutine' in r[2]) > 0.7"

# The labels of waiting threads, and go tool pprof.
run "$CPROF" record -q -e wall --go-labels=late -o w.pb.gz -- ./labels.keep wait 20000 1
profile 'waits of a goroutine in a system call have its labels' w.pb.gz \
	"part(lambda r: r[2].get('handler') == 'pause') > 0.1"
record --go-labels=late -- ./labels.keep switch 100000 0.6
check 'go tool pprof chooses by label' sh -c \
	'go tool pprof -tagfocus=handler=burn1 -top l.pb.gz 2>/dev/null | grep -q main.burn1'

if go build -o c.keep "$P/golabelsc.go" 2>/dev/null; then
	record -- ./c.keep 1.6
	profile 'cgo: C code has the labels of its goroutine' l.pb.gz \
		"part(lambda r: 'handler' in r[2]) > 0.7" \
		"1 - agree('handler', r'(burnc\\d)\$', True) <= max(0.02, $(json 's["go_late_wrong_max"]'))"
else
	skip 'cgo: C code has the labels of its goroutine' 'no C compiler for cgo'
fi
finish
