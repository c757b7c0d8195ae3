#!/bin/sh
# Ruby functions in samples of threads that run, in waits and in snapshots: Ruby 3.1 to 3.4; other versions are
# refused.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need ruby
P=$CPROF_SOURCE_ROOT/tests/prog
version=$(ruby -e 'puts RUBY_VERSION')

start_ready ruby --disable=gems "$P/rbgrammar.rb" 800

case $version in
3.[1234].*) ;;
*)
	record_pid refused.pb.gz 1
	like out "Ruby $version is not supported; 3.1 to 3.4 are" 'another version is refused'
	finish
	exit
	;;
esac

record_pid a.pb.gz 2.5
like out "\"functions_of\": \"ruby $version\"" 'the summary says whose functions they are'
check 'stacks are possible ones, with their lines' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pygrammar.py" rb a.pb.gz \
	'wrong <= 0.005 * samples' 'complete >= 0.5 * samples' 'native <= 0.4 * samples' \
	'set(labels) <= {"exact", "remembered", "innermost", "unknown", None}' \
	'labels["exact"] and labels["exact"] + labels["remembered"] <= complete + innermost' \
	'lines["leaf"] <= set(range(9)) and lines["c"] <= {0, 10, 11, 12, 13} and lines["b"] <= {0, 14, 15, 16, 17} and lines["a"] <= {0, 18, 19, 20, 21}'
record_pid only.pb.gz 1 --interpreter=only
profile 'only: and one native function at most' only.pb.gz "label_share('rb::stack', 'unknown') < 0.6" \
	"all(len([n for n in r[0] if not n.startswith(('rb::', '[callers'))]) <= 1 for r in rows if r[2].get('rb::stack') in ('exact', 'remembered'))"
for option in interpreter=none runtime-names=off; do
	record_pid none.pb.gz 0.5 "--$option"
	profile "$option: native stacks" none.pb.gz "not any(n.startswith('rb::') for n in names)" \
		"anywhere(r'^(rb_vm_exec|ruby_run_node|libruby.*|0x.*|\\[.*)\$') > 0.9" "labels('rb::stack') <= {None}"
done
kill -KILL "$pid"

start_ready ruby --disable=gems "$P/rbwaits.rb" own.json
all_sleep() {
	[ "$(cat "/proc/$pid/task/"*/status | grep -c '^State:.*sleeping')" = "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" ]
}
wait_for 60 grep -Eq 'poll|futex|^0$' "/proc/$pid/wchan"
wait_for 60 all_sleep
run "$CPROF" snapshot -p "$pid" --json
check 'all functions of threads that wait, with files and lines' \
	"$CPROF_SOURCE_ROOT/tests/vmwaits.py" rb:: own.json out 'equal == 1' 'labels <= {"exact", None}' \
	"functions == {'threads': 2, 'unknown': 0, 'text': 'ruby $version'}"
run "$CPROF" record -e off-cpu --duration 1 -o w.pb.gz -p "$pid"
profile 'the same in waits' w.pb.gz "label_share('rb::stack', 'exact') > 0.5" "cum('rb::descend') > 0.5" \
	"lines('rb::descend')"
finish
