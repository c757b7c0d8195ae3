#!/bin/sh
# A recording of the whole machine, with programs of all languages side by side: each has its functions.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/runtimes.sh"
need_perf
need_root

pids=
for language in $(languages); do
	spin "$language"
	pids="$pids $language:$pid"
done
for one in $pids; do
	let_use "${one#*:}" 300
done

# share LANGUAGE PID: of the samples of a process, those with functions of its program
share() {
	case $1 in
	python) functions="'py::run'" ;;
	php) functions="'php::run', 'php::{main}'" ;;
	ruby) functions="'rb::run'" ;;
	java) functions="'Spin.'" ;;
	node) functions="'once', 'round', '(anonymous spin.js'" ;;
	esac
	echo "sum(r[1] for r in rows if r[2].get('pid') == '$2' and any(n.startswith(($functions,)) for n in r[0])) > 0.5 * sum(r[1] for r in rows if r[2].get('pid') == '$2') > 0"
}
together() {
	run "$CPROF" record -a -e cpu-clock --user -F 999 --duration 3 -o all.pb.gz
	is "$status" 0 'the whole machine is recorded'
	for one in $pids; do
		profile "${one%:*} has its functions" all.pb.gz "$(share "${one%:*}" "${one#*:}")"
	done
}
attempts 3 together
finish
