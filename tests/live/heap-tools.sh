#!/bin/sh
# cprof convert: heap profiles that the real tools write on this machine have the totals that these
# report, and names.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need "$PYTHON"
prog=$PROG/allocs

# library NAME: its path, or nothing
library() {
	ldconfig -p 2>/dev/null | sed -n "s|.*$1[^ ]* .*x86-64.* => ||p; s|.*$1[^ ]* .*AArch64.* => ||p" | head -n 1
}
# sum FILE TYPE: of all samples
sum() {
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" "$1" \
		"print(sum(s[1][[t[0] for t in p.sample_types].index('$2')] for s in p.samples)) or True"
}

jemalloc=$(library libjemalloc.so.2)
if [ -n "$jemalloc" ] && command -v jeprof >/dev/null; then
	MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:14,prof_prefix:je LD_PRELOAD=$jemalloc "$prog" held
	file=$(ls je.*.heap 2>/dev/null)
fi
if [ -n "$file" ]; then
	run "$CPROF" convert -o j.pb.gz "$file"
	is "$status" 0 'jemalloc: converted'
	jeprof --text --show_bytes "$prog" "$file" >jeprof.keep 2>/dev/null
	want=$(sed -n 's/^Total: \([0-9]*\) B$/\1/p' jeprof.keep)
	got=$(sum j.pb.gz inuse_space)
	# fractions of each stack are rounded by one and cut by the other
	check "jemalloc: $got bytes, jeprof has $want" test "$((got > want ? got - want : want - got))" -le 50
	profile 'jemalloc: functions have names' j.pb.gz "cum('by_malloc') > 0" "cum('by_reallocarray') > 0"
else
	skip 'jemalloc' 'no libjemalloc.so.2 with profiling, or no jeprof'
fi

tcmalloc=$(library libtcmalloc.so.4)
if [ -n "$tcmalloc" ] && command -v google-pprof >/dev/null; then
	HEAPPROFILE=$PWD/gp LD_PRELOAD=$tcmalloc "$prog" held 2>/dev/null
	run "$CPROF" convert -o g.pb.gz gp.0001.heap
	is "$status" 0 'gperftools: converted'
	google-pprof --text --show_bytes "$prog" gp.0001.heap >pprof.keep 2>/dev/null
	is "$(sum g.pb.gz inuse_space)" "$(sed -n 's/^Total: \([0-9]*\) B$/\1/p' pprof.keep)" \
		'gperftools: the bytes in use are those of google-pprof'
	profile 'gperftools: functions have names' g.pb.gz "cum('by_malloc') > 0" "cum('thread_allocates') > 0"
else
	skip 'gperftools' 'no libtcmalloc.so.4 or google-pprof'
fi

# bytes TEXT: what heaptrack_print shows, such as 72.07M, in units of 10 KB
bytes() {
	"$PYTHON" -c "
import re, sys
number, unit = re.fullmatch(r'([0-9.]+)([BKMG])', '$1').groups()
print(round(float(number) * {'B': 1, 'K': 1e3, 'M': 1e6, 'G': 1e9}[unit] / 1e4))"
}
if command -v heaptrack_print >/dev/null && heaptrack -o ht "$prog" peak >/dev/null 2>&1; then
	file=$(ls ht.zst ht.gz 2>/dev/null)
	run "$CPROF" convert -o h.pb.gz "$file"
	is "$status" 0 'heaptrack: converted'
	heaptrack_print "$file" >print.keep 2>/dev/null
	is "$(sum h.pb.gz alloc_objects)" "$(sed -n 's/^calls to allocation functions: \([0-9]*\).*/\1/p' print.keep)" \
		'heaptrack: the calls are those of heaptrack_print'
	peak=$(sed -n 's/^peak heap memory consumption: //p' print.keep)
	is "$(($(sum h.pb.gz peak_space) + 5000))" "$(($(bytes "$peak") * 10000 + ($(sum h.pb.gz peak_space) + 5000) % 10000))" \
		"heaptrack: the peak is that of heaptrack_print, $peak"
	profile 'heaptrack: functions at the peak' h.pb.gz "cum('by_calloc') > 0.2" "cum('thread_allocates') == 0"
else
	skip 'heaptrack' 'heaptrack is not installed, or cannot record here'
fi

if command -v valgrind >/dev/null && valgrind --tool=dhat --dhat-out-file=dhat.json "$prog" peak >/dev/null 2>&1 &&
	[ -s dhat.json ]; then
	run "$CPROF" convert -o d.pb.gz dhat.json
	is "$status" 0 'DHAT: converted'
	for pair in tb:alloc_space tbk:alloc_objects eb:inuse_space gb:peak_space gbk:peak_objects; do
		is "$(sum d.pb.gz "${pair#*:}")" "$("$PYTHON" -c "
import json
print(sum(x['${pair%:*}'] for x in json.load(open('dhat.json'))['pps']))")" "DHAT: ${pair#*:} is the sum of ${pair%:*}"
	done
	profile 'DHAT: functions at the peak' d.pb.gz "cum('by_calloc') > 0.2" "cum('by_realloc') > 0.2"
else
	skip 'DHAT' 'valgrind is not installed, or cannot run this program'
fi
rm -f ./*.pb.gz ./*.heap
finish
