#!/bin/sh
# Java and JavaScript side by side: both have names, and a sample costs as much as alone.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/runtimes.sh"
need_perf
need java node

spin java
java=$pid
spin node
let_use "$pid" 500
let_use "$java" 500
per_sample() {
	run "$CPROF" record --json -e cpu-clock --user -F 999 --duration 0.8 -o beside.pb.gz -p "$1"
	"$PYTHON" -c 'import json
j = json.load(open("out"))
print(j["own_cpu_s"] / j["events"][0]["samples"] * 1e6)'
}
beside() {
	a=$(per_sample "$java") b=$(per_sample "$pid") both=$(per_sample "$java,$pid")
	check "side by side: $both us of CPU time per sample, alone $a and $b" \
		"$PYTHON" -c "import sys; sys.exit($both > 1.5 * max($a, $b))"
	# V8 may inline all of them into the script itself
	profile 'and both have names' beside.pb.gz "anywhere('^Spin[.]') > 0.2" \
		"anywhere('^(once|round)\$|^[(]anonymous spin[.]js:') > 0.2" "anywhere(r'^\\[jit\\]') < 0.05"
}
attempts 3 beside
finish
