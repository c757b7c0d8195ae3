#!/bin/sh
# cprof convert: heap profiles of allocators and of other profilers, as these wrote them.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
corpus=$CPROF_SOURCE_ROOT/tests/fuzz/corpus
tools=$CPROF_SOURCE_ROOT/tests/tools

run "$CPROF" convert -o j.pb.gz "$corpus/jemalloc/prof.heap"
is "$status" 0 'jemalloc: converted'
like err '[0-9]+ of [0-9]+ addresses have no name; 0 of [0-9]+ files were found' 'jemalloc: files that are not here are reported'
profile 'jemalloc: types, values corrected for sampling, mappings' j.pb.gz \
	"p.sample_types == [('inuse_objects', 'count'), ('inuse_space', 'bytes')]" \
	"p.period == 65536 and p.default_sample_type == 'inuse_space'" \
	"sorted(s[1][1] for s in p.samples) == [115363, 1254937, 15728640, 45545820]" \
	"sorted(s[1][0] for s in p.samples) == [1, 5, 410, 1225]" \
	"p.mappings[1].file == '/opt/example/prog' and p.mappings[1].offset == 0x1000" \
	"all('jemalloc' not in s[0][0].mapping.file for s in p.samples)"

run "$CPROF" convert -o g.pb.gz "$corpus/gperftools/prof.heap"
is "$status" 0 'gperftools: converted'
profile 'gperftools: every block' g.pb.gz \
	"p.sample_types[0] == ('alloc_objects', 'count') and p.sample_types[3] == ('inuse_space', 'bytes')" \
	"[sum(s[1][i] for s in p.samples) for i in range(4)] == [2910, 72500000, 1405, 56000000]" \
	"p.period == 1"
run "$CPROF" convert -o s.pb.gz "$corpus/gperftools/sampled"
profile 'gperftools: values of its sampler are corrected' s.pb.gz "p.period == 1000" \
	"[s[1] for s in p.samples] == [[500, 1001, 500, 1001]]"

run "$CPROF" convert -o h.pb.gz "$corpus/heaptrack/prof.txt"
is "$status" 0 'heaptrack: converted'
profile 'heaptrack: all, at the end and at the peak' h.pb.gz \
	"p.sample_types[4:] == [('peak_objects', 'count'), ('peak_space', 'bytes')]" \
	"p.default_sample_type == 'peak_space'" \
	"[sum(s[1][i] for s in p.samples) for i in range(6)] == [17, 12480704, 4, 400000, 13, 12476704]" \
	"path('site_a', 'main') > 0 and share('site_c') == 12000000 / 12476704"
gzip -c "$corpus/heaptrack/prof.txt" >h.gz
run "$CPROF" convert -o z.pb.gz h.gz
check 'heaptrack: packed by gzip' cmp h.pb.gz z.pb.gz
run "$CPROF" convert --to folded h.gz "$corpus/heaptrack/prof.txt"
like out '^_start;__libc_start_main_impl;__libc_start_call_main;main;site_c 24000000$' 'two files are added up'
run "$CPROF" convert --to folded --sample-type alloc_objects "$corpus/heaptrack/two"
like out '^0x1 1$|^\[main\] 1$|main.* 1$' 'heaptrack: version 2'

run "$CPROF" convert -o d.pb.gz "$corpus/dhat/prof.json"
is "$status" 0 'dhat: converted'
profile 'dhat: all, at the end and at the peak' d.pb.gz \
	"[sum(s[1][i] for s in p.samples) for i in range(6)] == [2910, 72500000, 1405, 56000000, 2410, 72000000]" \
	"path('malloc', 'site_b', 'main') == 40 / 72"

for each in jemalloc:version:heap_v3 gperftools:kind:growthz "dhat:copy:mode 'copy'"; do
	file=${each#*:}
	run "$CPROF" convert -o x.pb.gz "$corpus/${each%%:*}/${file%%:*}"
	is "$status" 1 "${each%%:*}: another kind is refused"
	like err "${each##*:}.* not supported" "${each%%:*}: by its name"
done
printf 'v 10500 4\n' >four
run "$CPROF" convert -o x.pb.gz four
like err "version 4 of heaptrack's files is not supported" 'heaptrack: another version is refused'
printf '{"dhatFileVersion":9,"mode":"heap"}' >nine
run "$CPROF" convert -o x.pb.gz nine
like err "version 9 of DHAT's files is not supported" 'dhat: another version is refused'
printf 'v 10400 3\nX ./a\nx 5 ./a\n' >raw
run "$CPROF" convert -o x.pb.gz raw
like err 'heaptrack_interpret' 'heaptrack: raw data are refused with the remedy'
head -c 700 "$corpus/dhat/prof.json" >short.json
run "$CPROF" convert -o x.pb.gz short.json
like err 'not complete JSON' 'dhat: a cut file'
check 'nothing was written' test ! -e x.pb.gz
run "$CPROF" convert -o x.pb.gz "$corpus/dhat/prof.json" "$corpus/heaptrack/prof.txt"
like err 'is a recording of heaptrack, not a heap profile of DHAT' 'formats are not mixed'
if [ -x "$tools/check.py" ]; then
	check 'the profiles are valid' "$CPROF" check j.pb.gz g.pb.gz h.pb.gz d.pb.gz
fi
rm -f ./*.pb.gz
finish
