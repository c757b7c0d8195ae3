#!/bin/sh
# Labels set by a program: each sample has the labels of its own moment.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root

# Each task runs under its own label, so the function of a sample determines its label.
agrees="agree('task', r'labelled_(\\w+)$')"
# A machine that leaves cprof no time for 256 changes of a label loses some. The file says how many.
complete="$agrees >= 0.999 or unlabelled() > 0 and $agrees >= max(0.9, 0.999 - unlabelled())"
never_wrong="agree('task', r'labelled_(\\w+)$', True) == 1"

labelled() {
	name=$1
	shift
	run "$CPROF" record -e cpu-clock -F 4999 -o l.pb.gz "$@"
	is "$status" 0 "$name: recorded"
	profile "$name: all samples but the reported ones have the label of their moment, and no sample has a wrong one" \
		l.pb.gz \
		'n > 1000' "$complete" "$never_wrong"
}
attempts 3 labelled 'eight threads, 50 us to 5 ms' -- "$PROG/labelled" 8 4000 50 5000
attempts 3 labelled 'eight threads, 50 us' -- "$PROG/labelled" 8 2000 50 50

forked() {
	run "$CPROF" record -e cpu-clock -F 4999 -o f.pb.gz -- "$PROG/labelled" 8 3000 50 5000 fork
	profile 'after fork: a child has its parent'"'"'s labels, and then its own' f.pb.gz \
		"agree('task', r'labelled_(\\w+)$') >= 0.97" "$never_wrong" "labels('of') == {'parent', 'child'}" \
		"label_share('of', 'parent') > 0.002" "label_share('of', 'child') > 0.002"
}
attempts 3 forked

thousand() {
	run "$CPROF" record -e cpu-clock -F 4999 -o t.pb.gz -- "$PROG/labelled" 1000 4000 50 5000
	profile '1000 threads: all samples but the reported ones have their label' t.pb.gz \
		"$complete" "$never_wrong"
}
attempts 3 thousand

# Attach after labels were set, and detach before the program ends.
attached() {
	background "$PROG/labelled" 8 4000 50 5000
	let_use "$pid" 300
	labelled 'attached late, detached early' --duration 2 -p "$pid"
}
attempts 3 attached

# A program in its own pid namespace knows its threads by other numbers.
if unshare -p -f true 2>/dev/null; then
	run "$CPROF" record -e cpu-clock -F 4999 -o ns.pb.gz -- unshare -p -f "$PROG/labelled" 4 3000 50 5000
	profile 'in a pid namespace: all samples but the reported ones have their label' ns.pb.gz \
		"$complete" "$never_wrong"
else
	skip 'in a pid namespace: all samples but the reported ones have their label' 'no pid namespaces'
fi

# with built-in labels of the same name
run "$CPROF" record -e cpu-clock --label task=bench -o same.pb.gz -- "$PROG/labelled" 2 500 1000 5000
profile 'a program label with the key of a --label becomes app.KEY' same.pb.gz \
	"label_share('task', 'bench') == 1" \
	"len(labels('app.task')) > 2"
finish
