#!/bin/sh
# Several runs of a command: one profile, and how much they differ.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

repeated() {
	run "$CPROF" record -e cpu-clock --json -o r.pb.gz --repeat 4 -- "$PROG/serial" 100
	is "$status" 0 'four runs: recorded'
	is "$(grep -c '^cpu_ns' out)" 4 'four runs: the command ran four times'
	sed '/^cpu_ns/d' out >runs.json.keep
	profile 'four runs: their profile is that of all' r.pb.gz 'n > 2000' "near(A=1/55, E=5/55, J=10/55)"
	check 'four runs: shares, each with an error that holds the truth' "$PYTHON" - runs.json.keep <<'END'
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
like err '^ +(1[4-9]|2[0-2])\.[0-9]+ .* J$' 'and shows the spread'
check 'the checker has nothing to say about it' "$CPROF" check r.pb.gz

rm -f ./*.pb.gz
run "$CPROF" record -q -e cpu-clock --repeat 2 -o s.pb.gz -- sh -c "'$PROG/spin' 3 60; exit 5"
is "$status" 5 'the status of the command'
check 'with a profile' test -s s.pb.gz
rm -f s.pb.gz
run "$CPROF" record -e cpu-clock --repeat 2 -o none.pb.gz -- ./nothere
is "$status" 1 'a command that is not there: status 1'
like err 'nothere' 'it is named'
no_files 'nothing is left'
is "$(find /tmp -maxdepth 1 -name 'cprof-repeat-*' -user "$(id -u)")" '' 'nor in /tmp'
finish
