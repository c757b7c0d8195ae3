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
is "$(find /tmp -maxdepth 1 -name 'cprof-repeat-*' -empty -user "$(id -u)")" '' \
	'--repeat: no temporary folder is left in /tmp'

# Two commands in turns: the same ones, and one that does more in one function.  The times of single
# runs say nothing on a busy machine; the note and the labels say how it was recorded.
against() {
	run "$CPROF" record -q -e cpu-clock -F 5000 --repeat 6 --against "$1" -o new.pb.gz -- \
		"$PROG/serial" 20
	is "$status" 0 "$2: recorded"
	for name in old new; do
		run "$CPROF" report --by cprof::run --limit 0 --json $name.pb.gz
		is "$(grep -c '"name"' out)" 6 "$2: $name has six runs"
	done
}
against "old.pb.gz=$PROG/serial 20" 'against a plain command'
run "$CPROF" report --diff old.pb.gz --fail-if 'flat(*) > +5%' new.pb.gz
is "$status" 0 'the same program: the gate is silent'
like out '^Runs: 6 before, 6 now, in pairs$' 'the runs are compared in pairs'
"$CPROF" report --info old.pb.gz >old.txt
"$CPROF" report --info new.pb.gz >new.txt
like old.txt 'in pairs: 6 runs, in turns with' 'the profile says so'
is "$(grep -F 'in pairs:' old.txt)" "$(grep -F 'in pairs:' new.txt)" 'and the other one the same'
against "old.pb.gz=P='$PROG/serial'; \"\$P\" 12 >/dev/null; \"\$P\" 8" 'against a command for a shell'
run "$CPROF" record -q -e cpu-clock -F 5000 --repeat 6 \
	--against "old.pb.gz=$PROG/steps" -o new.pb.gz -- "$PROG/steps" 1000
run "$CPROF" report --diff old.pb.gz --fail-if 'flat(*) > +1%' new.pb.gz
is "$status" 3 'twice the work in one function: the gate fires'
like err "'hash' went from" 'it names the function'
run "$CPROF" report --diff old.pb.gz --absolute --json new.pb.gz
check 'values are means of a run' "$PYTHON" - out <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["base_runs"] == d["new_runs"] == 6 and d["pairs"], d
assert abs(d["total"]["base"] * 6 - d["total"]["base_raw"]) < 10, d["total"]
assert 0 <= d["rows"][0]["flat"]["chance"] < 0.01 and d["rows"][0]["name"] == "hash", d["rows"][0]
END

# Runs that were made one by one.
for i in 1 2 3; do
	"$CPROF" record -q -e cpu-clock -o "run$i.pb.gz" -- "$PROG/serial" 30 >/dev/null
done
check 'merge --runs' "$CPROF" merge --runs -o merged.pb.gz run1.pb.gz run2.pb.gz run3.pb.gz
run "$CPROF" report --diff merged.pb.gz merged.pb.gz
like out '^Runs: 3 before, 3 now$' 'its runs are compared, not in pairs'
run "$CPROF" report --diff run1.pb.gz merged.pb.gz
unlike out '^Runs:' 'a single run has no runs to compare'

usage_error() {
	run "$CPROF" record "$@" -- true
	is "$status" 64 "wrong: $*"
}
usage_error --against old.pb.gz=true
usage_error --repeat 2 --against old.pb.gz
usage_error --repeat 2 --against =true
usage_error --repeat 2 --against 'old.pb.gz= '
usage_error --repeat 2 --against a=true --against b=true
finish
