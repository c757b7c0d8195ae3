#!/bin/sh
# An imported recording has the same samples, sums and addresses that perf shows.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need perf
perf record -q -o probe.data -e cpu-clock -- "$PROG/spin" >/dev/null 2>&1 ||
	skip_all 'perf record does not work here'
perf evlist -i probe.data | grep -q ':u$' && skip_all 'perf may record user code only'
# perf keeps its caches below the home folder
HOME=$T/home.keep
export HOME
mkdir "$HOME"

# recorded NAME OPTION...: NAME.data of a program with some threads and calls
recorded() {
	recorded_name=$1
	shift
	perf record -q -N --no-bpf-event -o "$recorded_name.data" "$@" >perf.log 2>&1 || {
		sed 's/^/# perf: /' perf.log
		return 1
	}
}

# same NAME EVENT FILE leaf|chains WHAT: cprof and perf agree
same() {
	check "$5: the same number of samples, sum and addresses as perf script" "$PYTHON" \
		"$CPROF_SOURCE_ROOT/tests/import.py" "$1.data" "$2" "$3" "$4"
}

# imported NAME: NAME.data -> NAME.pb.gz or NAME.<event>.pb.gz
imported() {
	run "$CPROF" import --kernel-addresses -o "$1.pb.gz" "$1.data"
	is "$status" 0 "$1: import succeeds"
}

recorded fp -e cpu-clock -F 999 -g -- "$PROG/serial" 60
imported fp
same fp cpu-clock fp.pb.gz chains 'frame pointers'
like err 'samples of cpu-clock, .* of CPU time -> fp.pb.gz' 'import prints a line for the event'
profile 'import: functions have names' fp.pb.gz \
	"cum('main') > 0.9" "'imported: fp.data, perf ' in comments" "'scope: task' in comments"
checker=$(find "$CPROF_BUILD_ROOT" -name pprof-check -type f -perm /100 | head -n 1)
check 'the profile is valid' "$checker" fp.pb.gz

recorded dwarf -e cpu-clock -F 499 --call-graph dwarf,8192 -- "$PROG/serial" 60
imported dwarf
same dwarf cpu-clock dwarf.pb.gz leaf 'registers and stack copies'
profile 'stack copies are unwound to the root' dwarf.pb.gz \
	"cum('main') > 0.9" "roots('_start') > 0.9"
run "$CPROF" import --call-graph fp -q -o byfp.pb.gz dwarf.data
profile '--call-graph fp does not unwind stack copies' byfp.pb.gz "cum('main') < 0.1"
run "$CPROF" import --call-graph none -q -o none.pb.gz dwarf.data
profile '--call-graph none keeps only the sampled address' none.pb.gz \
	'all(len(s[0]) == 1 for s in p.samples)'
is "$(cat err)" '' '-q prints nothing'

if recorded group -e '{cpu-clock,page-faults}:S' -g -- "$PROG/pagefaulter"; then
	imported group
	same group cpu-clock group.cpu-clock.pb.gz leaf 'the leader of a group'
	same group page-faults group.page-faults.pb.gz leaf 'its other event'
else
	skip 'groups' 'perf cannot record one'
fi

recorded several -e cpu-clock,task-clock -e page-faults -c 100000 -g -- "$PROG/pagefaulter"
run "$CPROF" import --kernel-addresses -o several.pb.gz several.data
is "$status" 0 'several events: import succeeds'
for event in cpu-clock task-clock page-faults; do
	[ ! -f "several.$event.pb.gz" ] ||
		same several $event several.$event.pb.gz leaf "$event of several"
done
check 'several events: each has a file' \
	test -f several.cpu-clock.pb.gz -a -f several.task-clock.pb.gz

if recorded tracepoint -e context-switches -c 1 -e sched:sched_switch -g -- "$PROG/forks" 60; then
	run "$CPROF" import -o tracepoint.pb.gz tracepoint.data
	is "$status" 0 'a tracepoint and a software event: import succeeds'
	# There may have been no switch; then there is nothing to compare.
	for event in sched:sched_switch context-switches; do
		file=tracepoint.$(echo $event | tr : -).pb.gz
		[ ! -f "$file" ] || same tracepoint $event "$file" leaf "$event"
	done
else
	skip 'tracepoints' 'perf cannot record sched:sched_switch'
fi

# 997 Hz: at 199 Hz the samples are in step with a server that works each 5 ms
if recorded system -a -e cpu-clock -F 997 -g -- "$PROG/forks" 60; then
	imported system
	same system cpu-clock system.pb.gz leaf 'all CPUs'
	profile 'labels distinguish the processes' system.pb.gz "len(labels('pid')) > 1"
else
	skip 'all CPUs' 'perf may not record them'
fi

perf record -q -o - -e cpu-clock -g -- "$PROG/serial" 60 2>perf.log >stream.data
imported stream
same stream cpu-clock stream.pb.gz chains 'a stream in a file'
run sh -c '"$CPROF" import -q -o - - <stream.data >stdin.pb.gz'
is "$status" 0 'import from stdin to stdout'
run sh -c 'cat stream.data | "$CPROF" import -q -o piped.pb.gz -'
is "$status" 0 'import through a pipe'
same stream cpu-clock piped.pb.gz chains 'a stream through a pipe'

# Losses that affect more than 5 % of the samples; the record of perf is put in after the fact.
"$PYTHON" - <<'END'
import struct
data = open("stream.data", "rb").read()
at = struct.unpack_from("<Q", data, 8)[0]
EXIT, LOST, EXIT_BYTES = 4, 2, 32
while at < len(data):
    kind, misc, size = struct.unpack_from("<IHH", data, at)
    if kind == EXIT:
        sample_id = data[at + EXIT_BYTES:at + size]
        for name, n in ("few", 1), ("many", 10**6):
            lost = struct.pack("<IHHQQ", LOST, 0, 24 + len(sample_id), 0, n) + sample_id
            open(name + ".data", "wb").write(data[:at] + lost + data[at:])
        break
    at += size
END
run "$CPROF" import -q -o few.pb.gz few.data
is "$status:$(cat err)" '0:' '-q does not warn of few losses'
run "$CPROF" import -q -o many.pb.gz many.data
is "$status" 0 'many losses: import succeeds'
like err '^cprof import: warning: 1000000 samples lost' '-q warns of many losses'
run "$CPROF" import -o few.pb.gz few.data
like err '^  1 samples? lost' 'without -q, few losses are reported, too'

if recorded packed -z -e cpu-clock -g -- "$PROG/serial" 60; then
	run "$CPROF" import -o packed.pb.gz packed.data
	if grep -q libzstd err; then
		is "$status" 1 'without libzstd compressed records are refused'
	else
		is "$status" 0 'compressed records: import succeeds'
		same packed cpu-clock packed.pb.gz chains 'compressed records'
	fi
else
	skip 'compressed records' 'this perf cannot write them'
fi

# ---- a live recording agrees

# agrees MODE OPTION...: of a program with known shares, cprof record and perf record
agrees() {
	mode=$1
	shift
	perf record -q -N --no-bpf-event -o both.data -F 997 "$@" -- "$PROG/serial" 100 >perf.log 2>&1
	run "$CPROF" import -q -o both.pb.gz both.data
	run "$CPROF" record -q -e cpu-clock:u -F 997 --call-graph "$mode" -o live.pb.gz -- \
		"$PROG/serial" 100
	check "record live and import of perf's file agree: $mode" "$PYTHON" \
		"$CPROF_SOURCE_ROOT/tests/agree.py" both.pb.gz live.pb.gz
	rm -f both.data both.pb.gz live.pb.gz
}
attempts 3 agrees fp -e cpu-clock:u -g
attempts 3 agrees dwarf -e cpu-clock:u --call-graph dwarf

# ---- a folder with a file for each CPU

if recorded folder --threads -e cpu-clock -F 499 -g -- "$PROG/parallel"; then
	imported folder
	same folder cpu-clock folder.pb.gz chains 'perf record --threads'
	cp -R folder.data folder.cut
	size=$(wc -c <folder.cut/data.0)
	head -c $((size - 4)) folder.data/data.0 >folder.cut/data.0
	run "$CPROF" import -o cutfolder.pb.gz folder.cut
	is "$status" 1 'a folder with a damaged file: status 1'
	like err "'folder.cut/data.0' is damaged" \
		'a folder with a damaged file: the message names the file'
	profile 'a folder with a damaged file: the other files are imported' cutfolder.pb.gz 'n > 0'
	rm -rf folder.data folder.cut cutfolder.pb.gz
else
	skip 'perf record --threads' 'this perf cannot'
fi

# ---- files of this machine

cp "$PROG/serial" prog.keep
recorded moved -e cpu-clock -g -- "$T/prog.keep" 40
mkdir -p "root.keep$T"
mv prog.keep "root.keep$T/prog.keep"
rm -rf "$HOME/.debug"
run "$CPROF" import -v -o moved.pb.gz moved.data
like err "'$T/prog.keep' is missing" '-v reports a missing file'
profile 'a missing file: no names, but its build id' moved.pb.gz \
	"all(m.build_id for m in p.mappings.values() if m.file.endswith('prog.keep'))" \
	"'main' not in names"
run "$CPROF" import -q --symfs root.keep -o symfs.pb.gz moved.data
profile '--symfs finds a moved file' symfs.pb.gz "cum('main') > 0.5"
run "$CPROF" import -o moved.pb.gz moved.data
like err "user frames have no names; missing files: .*'$T/prog.keep'" \
	'by default, import reports what it could not name, and why'
like err '--symfs DIR' 'and what helps'

# perf --symfs DIR,flat; nothing contradicts a file if no build id was recorded
cp "$PROG/serial" prog.keep
recorded noid -B -e cpu-clock -g -- "$T/prog.keep" 40
mkdir flat.keep far.keep
mv prog.keep flat.keep
run "$CPROF" import -q --symfs flat.keep -o flat.pb.gz moved.data
profile '--symfs finds a file by its name' flat.pb.gz "cum('main') > 0.5"
run "$CPROF" import --symfs flat.keep -o flat.pb.gz noid.data
like err "'.*/flat.keep/prog.keep' is used without proof" 'without a build id, there is a warning'
profile 'and there are names' flat.pb.gz "cum('main') > 0.5"
echo text >far.keep/prog.keep
run "$CPROF" import --symfs far.keep -o far.pb.gz noid.data
is "$status" 0 'a text below --symfs: import succeeds'
like err "far.keep/prog.keep' is not a program or library" 'and says that it is no program'
cp "$PROG/threads" far.keep/prog.keep
run "$CPROF" import --symfs far.keep -o far.pb.gz moved.data
like err "far.keep/prog.keep' is not the file that was recorded" 'another build id contradicts a file'
profile 'which gives no names' far.pb.gz "'main' not in names"

cp "$PROG/threads" prog.keep
run "$CPROF" import -o wrong.pb.gz moved.data
is "$status" 0 'a replaced file: import succeeds'
like err "prog.keep' is not the file that was recorded" 'a replaced file is reported'
profile 'a replaced file gives no names' wrong.pb.gz "'main' not in names"
id=$(readelf -n "root.keep$T/prog.keep" 2>/dev/null | sed -n 's/^ *Build ID: //p')
if [ -n "$id" ]; then
	dir=cache.keep/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-)
	mkdir -p "$dir"
	cp "root.keep$T/prog.keep" "$dir/elf"
	run "$CPROF" import -q --debug-dir cache.keep -o byid.pb.gz moved.data
	profile '--debug-dir finds a moved file by its build id' byid.pb.gz "cum('main') > 0.5"
else
	skip '--debug-dir finds a moved file by its build id' 'needs readelf and build ids'
fi

# ---- options, refusals, damage

run "$CPROF" import -q --label job=7 --labels pid,cpu -o labels.pb.gz fp.data
profile '--label and --labels set the labels' labels.pb.gz \
	"labels('job') == {'7'}" "labels('pid') and labels('cpu')" \
	"not labels('thread_name')"
run "$CPROF" import --json -q -o json.pb.gz fp.data
check '--json prints the summary as JSON' "$PYTHON" -c 'import json, sys
s = json.load(open("out"))
assert s["damage"] is None and s["events"][0]["event"] == "cpu-clock" and s["files"] > 0, s'
rm -f ./*.pb.gz
size=$(wc -c <fp.data)
head -c $((size / 2)) fp.data >cut.keep
run "$CPROF" import -o cut.pb.gz cut.keep
is "$status" 1 'half a file: status 1'
like err "'cut.keep' is damaged: it ends at offset" 'half a file: the message has the offset'
profile 'half a file: the readable part is imported' cut.pb.gz 'n > 0'
rm -f cut.pb.gz
for f in ./*.data; do mv "$f" "$f.keep"; done
rm -f perf.log
echo "hello, world, how are you?" >text.keep
: >empty.keep
refused 1 "not a perf.data file" 'a text' import text.keep
refused 1 "empty" 'an empty file' import empty.keep
refused 1 "none.*No such file" 'a missing file' import none
refused 1 "Is a directory" 'a folder without data files' import /
refused 1 "through a pipe|not a perf.data file|empty" 'a terminal or nothing' import - </dev/null
refused 1 "symfs" 'a missing folder' import --symfs none fp.data.keep
refused 64 'no FILE' 'no file' import
refused 64 'more than one' 'two files' import a b
refused 64 "lbr or none" 'an unknown call graph' import --call-graph x fp.data.keep
refused 1 "'fp.data.keep' has no call stacks of branch records" 'no LBR stacks in the file' \
	import --call-graph lbr fp.data.keep
refused 1 "'fp.data.keep' has no registers" 'no stack copies in the file' \
	import --call-graph dwarf fp.data.keep
refused 1 'calls cannot be recorded|no hardware PMU|PMU' 'no LBR stacks to record' \
	record --call-graph lbr -e cpu-clock -- true
refused 64 "cgroup" 'a label that is not in the file' import --labels cgroup fp.data.keep
refused 64 'KEY=VALUE' 'a bad label' import --label x fp.data.keep
refused 64 'both write to stdout' '--json -o -' import --json -o - fp.data.keep
finish
