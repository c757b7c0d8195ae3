#!/bin/sh
# report computes the same numbers as pprof, for people and for scripts; and other tools read the
# profiles that cprof writes.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need go protoc
tools=$CPROF_BUILD_ROOT/tests/tools
p=$T/sample.pb.gz
# go wants a home for its build cache
export HOME="$T" PPROF_TMPDIR="$T" PPROF_BINARY_PATH="$T"

check 'a sample profile' "$tools/pprof-sample" "$p"
run "$tools/pprof-check" "$p"
is "$status$(grep -v numbers: out)" "0$p: 0 errors, 1 warnings" \
	'pprof-check only warns that one label is a number'
run "$tools/pprof-check" "$0"
is "$status" 1 'pprof-check refuses a file that is not a profile'

# ---- readers by others

gzip -dc "$p" >sample.pb
run protoc --decode=profile.Profile -I "$CPROF_SOURCE_ROOT/tests/golden" profile.proto <sample.pb
is "$status" 0 'protoc decodes the profile'
unlike out '^ *[0-9]+:' 'protoc knows all fields'
is "$(grep -c '^location {' out) $(grep -c '^function {' out) $(grep -c '^sample {' out)" '5 5 4' \
	'protoc finds all messages'
run go tool pprof -symbolize=none -raw "$p"
is "$status" 0 'pprof -raw reads the profile'
like out 'samples/count cpu/nanoseconds\[dflt\]' \
	'pprof -raw shows both sample types and the default'
like out '^ +1200 1200000000: 1 2 2 3' 'pprof -raw shows stacks'
like out 'request:\[4096 bytes\]' 'pprof -raw shows labels'
like out 'mix /src/app/hash.h:3' 'pprof -raw shows lines'
like out '1: 0x401000/0x480000/0x1000 /opt/app/bin/app 0123456789abcdef.*\[FN\]\[FL\]\[LN\]\[IN\]' \
	'pprof -raw shows mappings'
run go tool pprof -symbolize=none -traces "$p"
is "$status" 0 'pprof -traces reads the profile'
like out 'hash \(inline\)' 'pprof -traces shows inlined frames'
run go tool pprof -symbolize=none -proto -output=again.pb.gz "$p"
is "$status" 0 'pprof -proto writes the profile again'

# ---- the same numbers as pprof

cat >compare.py <<'EOF'
import json, re, sys
ours = {f["name"]: (f["flat"], f["cum"]) for f in json.load(open(sys.argv[1]))["functions"]}
theirs = {}
for line in open(sys.argv[2]):
    m = re.match(r" *(-?\d+)\D* +\S+% +\S+% +(-?\d+)\D* +\S+%  (.*?)( \((partial-)?inline\))?$", line)
    if m:
        theirs[m.group(3)] = (int(m.group(1)), int(m.group(2)))
print(ours, theirs, sep="\n")
sys.exit(ours != theirs or not ours)
EOF
for type in samples cpu; do
	"$CPROF" report --json --limit 0 --sample-type "$type" "$p" >ours.json
	go tool pprof -symbolize=none -top -nodecount=0 -nodefraction=0 -unit=ns \
		-sample_index="$type" "$p" >theirs 2>/dev/null
	check "$type: the same flat and cum values as pprof" "$PYTHON" compare.py ours.json theirs
	"$CPROF" report --json --limit 0 --sample-type "$type" again.pb.gz >again.json
	check "$type: the same values from the profile that pprof wrote" cmp ours.json again.json
done
rm -f again.pb.gz sample.pb ours.json again.json theirs compare.py "$T"/pprof*
# From here on, refusals check that no file is left behind, except this one.
mv "$p" kept.keep
p=kept.keep

# ---- the table

run "$CPROF" report "$p"
is "$status$(cat err)" 0 'report: status 0, no message'
like out '^Type: cpu \(nanoseconds\)$' 'report: the table has the default sample type'
like out '^Total: 1487ms \(59.48% of the duration\)$' 'report: the table has the total'
like out '^ +1200ms +80.70% +80.70% +1200ms +80.70%  mix \(inlined\)$' \
	'report: a row has values, shares and the name'
is "$(sed -n 's/^.*[0-9]%  //p' out | tr '\n' ';')" \
	'mix (inlined);walk(Tree const*);[libstripped.so.6];ksys_read;hash (inlined);main;' \
	'report: rows are sorted by flat'
run "$CPROF" report --sort cum --limit 2 "$p"
is "$(sed -n 's/^.*[0-9]%  //p' out | tr '\n' ';')" 'main;walk(Tree const*);' \
	'--sort cum --limit 2: two rows, sorted by cum'
like out '^Showing 2 of 6 functions' '--limit: the last line counts the omitted rows'

# ---- refusals

echo 'not a profile' >text.keep
: >empty.keep
head -c 200 "$p" >cut.keep
refused 1 "cannot read 'none': No such file" 'a missing file' report none
refused 1 "text.keep.*not a valid profile" 'a text file' report text.keep
refused 1 "empty.keep.*empty" 'an empty file' report empty.keep
refused 1 "cut.keep.*truncated" 'a truncated file' report cut.keep
refused 1 "cannot read '/': Is a directory" 'a folder' report /
refused 1 "no sample type 'wall'" 'an unknown sample type' report --sample-type wall "$p"
like err '^  the types are: samples, cpu$' 'an unknown sample type: the message lists the types'
refused 64 'no FILE' 'no FILE argument' report
refused 64 "--sort 'size': it must be flat, cum or name" 'an unknown order' report --sort size "$p"
refused 64 "'many' is not a number" 'a bad limit' report --limit many "$p"
run sh -c "'$CPROF' report $p >/dev/full"
is "$status" 1 'report to a full device fails'
like err 'No space left' 'report to a full device: the message gives the reason'
finish
