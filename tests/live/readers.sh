#!/bin/sh
# Third-party readers accept every file.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need go protoc

HOME=$T
export HOME PPROF_TMPDIR="$T/pprof.keep" GOTOOLCHAIN=local GOFLAGS=-mod=mod
mkdir -p "$PPROF_TMPDIR"
proto=$CPROF_SOURCE_ROOT/tests/golden/profile.proto
message=$(sed -n 's/^package \(.*\);/\1.Profile/p' "$proto")
checker=$(find "$CPROF_BUILD_ROOT" -name pprof-check -type f -perm /100 | head -n 1)

cat >work.py <<'END'
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(25))
END
"$CPROF" record -q -e cpu-clock -o serial.pb.gz -- "$PROG/serial" 60 >/dev/null
"$CPROF" record -q -e cpu-clock -o parallel.pb.gz -- "$PROG/parallel" 40 >/dev/null
"$CPROF" record -q -e cpu-clock -o forks.pb.gz -- "$PROG/forks" 100 >/dev/null
"$CPROF" record -q -e cpu-clock -F 5000 -o python.pb.gz -- /usr/bin/python3 work.py >/dev/null
"$CPROF" record -q -e page-faults -c 1 -o faults.pb.gz -- "$PROG/pagefaulter" >/dev/null
"$CPROF" record -q -e cpu-clock:u -o user.pb.gz -- "$PROG/inlines" 200 >/dev/null
"$CPROF" record -q -e cpu-clock -o dl.pb.gz --label 'name=välue "quoted"' -- "$PROG/dlopener" 60 >/dev/null
[ ! -x "$PROG/rust-v0" ] || "$CPROF" record -q -e cpu-clock -o rust.pb.gz -- "$PROG/rust-v0" >/dev/null
[ ! -x "$PROG/inlinesxx" ] || "$CPROF" record -q -e cpu-clock -o xx.pb.gz -- "$PROG/inlinesxx" >/dev/null

for file in *.pb.gz; do
	for mode in -top -raw -traces '-top -cum' -tags -comments -tree -peek=.; do
		# shellcheck disable=SC2086 # words
		run go tool pprof -symbolize=none $mode "$file"
		is "$status" 0 "$file: go tool pprof $mode"
	done
	run go tool pprof -symbolize=none -proto -output round.keep "$file"
	is "$status" 0 "$file: go tool pprof -proto"
	check "$file: the round trip keeps counts and names" "$PYTHON" - "$file" round.keep <<'END'
import os, sys
sys.path.insert(0, os.environ["CPROF_SOURCE_ROOT"] + "/tests")
import pprof
a, b = (pprof.View(pprof.Profile(x)) for x in sys.argv[1:])
assert (a.n, a.total) == (b.n, b.total), (a.n, a.total, b.n, b.total)
assert a.names == b.names, a.names ^ b.names
assert a.p.sample_types == b.p.sample_types and a.p.period == b.p.period
END
	gzip -dc "$file" >raw.keep
	run protoc --decode="$message" -I"${proto%/*}" "${proto##*/}" <raw.keep
	is "$status" 0 "$file: protoc decodes it"
	unlike out '^ *[0-9]+:' "$file: protoc knows every field"
	if [ -n "$checker" ]; then
		run "$checker" "$file"
		is "$status" 0 "$file: pprof-check accepts it"
	else
		fail "$file: there is no pprof-check in the build folder"
	fi
	profile "$file: sample types, period, times, ids and mappings follow the consumers' rules" \
		"$file" \
		"p.sample_types[0] == ('samples', 'count')" \
		"p.default_sample_type == p.sample_types[1][0]" \
		"p.period_type == p.sample_types[1]" 'p.period > 0' \
		'p.time_nanos > 1.6e18' '0 < p.duration_nanos < 3600e9' \
		"sorted(p.mappings) == list(range(1, len(p.mappings) + 1))" \
		"sorted(p.functions) == list(range(1, len(p.functions) + 1))" \
		"sorted(p.locations) == list(range(1, len(p.locations) + 1))" \
		"all(f.name for f in p.functions.values())" \
		"all(s[0] for s in p.samples)" \
		"all(s[1][0] > 0 for s in p.samples)" \
		"all(isinstance(v, str) for s in p.samples for v in s[2].values())" \
		"not re.search('executableInfo=', comments)"
done
profile 'a clock is called cpu/nanoseconds' serial.pb.gz "p.sample_types[1] == ('cpu', 'nanoseconds')"
profile 'page faults are called page_faults/count' faults.pb.gz \
	"p.sample_types[1] == ('page_faults', 'count')"
profile 'mapping 1 is the main binary, with its build id' serial.pb.gz \
	"p.mappings[1].file.endswith('/serial')" "re.fullmatch('[0-9a-f]{40}', p.mappings[1].build_id)"
profile 'mapping 1 of a script is the interpreter' python.pb.gz \
	"re.search('/python3[.0-9]*$', p.mappings[1].file)"
profile 'the comments have count, times, rate, command, kernel and version' serial.pb.gz \
	"re.search('serial', comments)" "re.search('count', comments)" "re.search('enabled', comments)" \
	"re.search('running', comments)" "re.search(r'$(uname -r | sed 's/[+.]/\\&/g')', comments)" \
	"re.search('cprof 0', comments)"
finish
