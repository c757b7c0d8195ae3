#!/bin/sh
# Several runs of a command: one profile, and how much they differ.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

repeated() {
	run "$CPROF" record -e cpu-clock --json -o r.pb.gz --repeat 4 -- "$PROG/serial" 100
	is "$status" 0 'four runs: recorded'
	is "$(grep -c '^cpu_ns' out)" 4 'four runs: the command ran four times'
	sed '/^[a-z]*_ns /d' out >runs.json.keep
	profile 'four runs: the profile has the samples of all' r.pb.gz \
		'n > 2000' "near(A=1/55, E=5/55, J=10/55)"
	check 'four runs: each function has its share and a standard error' \
		"$PYTHON" - runs.json.keep <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
f = {x["name"]: x for x in r["functions"]}
assert r["runs"] == 4 and r["functions"][0]["name"] == "J", r["functions"][:3]
for i, name in enumerate("ABCDEFGHIJ", 1):
    x = f[name]
    assert x["min"] <= x["mean"] <= x["max"] and abs(x["mean"] - i / 55) < 0.02, x
    assert abs(x["standard_error"] * 2 - x["deviation"]) < 1e-5, x
END
}
attempts 3 repeated
like err '4 runs -> r\.pb\.gz' 'the terminal names the file'
like err '^ +(1[4-9]|2[0-2])\.[0-9]+ .* J$' 'the terminal shows shares with their spread'
check 'cprof check accepts the profile' "$CPROF" check r.pb.gz

rm -f ./*.pb.gz
run "$CPROF" record -q -e cpu-clock --repeat 2 -o s.pb.gz -- sh -c "'$PROG/spin' 3 60; exit 5"
is "$status" 5 '--repeat: the status is that of the command'
check '--repeat: a command that fails has a profile' test -s s.pb.gz
rm -f s.pb.gz
run "$CPROF" record -e cpu-clock --repeat 2 -o none.pb.gz -- ./nothere
is "$status" 1 '--repeat with a missing command: status 1'
like err 'nothere' '--repeat with a missing command: the message names it'
no_files '--repeat with a missing command: no file is left'
is "$(find /tmp -maxdepth 1 -name 'cprof-repeat-*' -user "$(id -u)")" '' \
	'--repeat: no temporary folder is left in /tmp'
finish
