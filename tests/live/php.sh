#!/bin/sh
# PHP functions in samples of threads that run, in waits and in snapshots.  Other versions than the installed one are
# those in CPROF_PHPS, separated by spaces.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need php
P=$CPROF_SOURCE_ROOT/tests/prog

# spins COMMAND...: starts the program with the grammar
spins() {
	start_ready "$@" -n "$P/phpgrammar.php" 1200
}

for php in php ${CPROF_PHPS:-}; do
	version=$("$php" -n -r 'echo PHP_VERSION;')
	spins "$php"
	record_pid a.pb.gz 2.5
	cp "$T/out" a.json
	run "$PYTHON" -c 'import json, sys
j = json.load(open("a.json"))
n = j["functions_exact"] + j["functions_remembered"] + j["functions_innermost"]
assert (n > j["functions_unknown"] and j["functions_of"] == "php " + sys.argv[1] and
        j["functions_refused"] is None and j["functions_ns"] > 0)' "$version"
	is "$status" 0 "$version: the summary has their shares"
	check "$version: stacks are possible ones, with their lines" \
		"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pygrammar.py" php a.pb.gz \
		'wrong <= 0.005 * samples' 'complete >= 0.5 * samples' 'native <= 0.4 * samples' \
		'set(labels) <= {"exact", "remembered", "innermost", "unknown", None}' \
		'labels["exact"] and labels["exact"] + labels["remembered"] <= complete + innermost' \
		'lines["leaf"] <= {0, 2, 3, 4, 5, 6} and lines["c"] <= {0, 8, 9, 10} and lines["b"] <= {0, 12, 13, 14} and lines["a"] <= {0, 16, 17, 18}'
	[ "$php" = php ] || kill -KILL "$pid"

	# waits
	mkfifo in.keep
	exec 9<>in.keep
	waits_before=$pid
	rm -f ready.keep
	"$php" -n "$P/phpwaits.php" own.json <in.keep >ready.keep 9>&- &
	pid=$!
	tap_pids="$tap_pids $pid"
	wait_for 60 grep -q ready ready.keep
	wait_for 60 grep -q '^State:.*sleeping' "/proc/$pid/status"
	run "$CPROF" snapshot -p "$pid" --json
	check "$version: all functions of a thread that waits, with files and lines" \
		"$CPROF_SOURCE_ROOT/tests/vmwaits.py" php:: own.json out 'equal == 1 and not others' \
		'labels == {"exact"}' "functions == {'threads': 1, 'unknown': 0, 'text': 'php $version'}" '"execute_ex" not in native'
	run "$CPROF" record -e off-cpu --duration 1 -o w.pb.gz -p "$pid"
	profile "$version: the same in waits" w.pb.gz "label_share('php::stack', 'exact') > 0.5" \
		"cum('php::App\\\\Node::enter') > 0.5" "lines('php::App\\\\wait') and all(n == 23 for f, n in lines('php::App\\\\wait'))"
	kill -KILL "$pid"
	pid=$waits_before
	exec 9>&-
	rm -f in.keep own.json
done

record_pid only.pb.gz 1 --interpreter=only
profile 'only: and one native function at most' only.pb.gz "label_share('php::stack', 'unknown') < 0.6" \
	"all(len([n for n in r[0] if not n.startswith(('php::', '[callers'))]) <= 1 for r in rows if r[2].get('php::stack') in ('exact', 'remembered'))"
for option in interpreter=none runtime-names=off; do
	record_pid none.pb.gz 0.5 "--$option"
	profile "$option: native stacks" none.pb.gz "not any(n.startswith('php::') for n in names)" \
		"anywhere('^execute_ex\$') > 0.9" "labels('php::stack') <= {None}"
done
record_pid mixed.pb.gz 1 --interpreter=mixed
profile 'mixed: the loop, too' mixed.pb.gz "through('^php::', '^execute_ex') > 0.4"
finish
