#!/bin/sh
# Code that comes into the kernel, and goes, while it is recorded has names: BPF programs.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
run "$PROG/bpfprog" 1
[ "$status" -eq 0 ] || skip_all "BPF programs: $(cat out)"
run "$CPROF" record -e cpu-clock -F 2999 --scope cpu -o b.pb.gz -- "$PROG/bpfprog" 400
is "$status" 0 'recorded'
if grep -q 'cprof_test' /proc/kallsyms; then
	echo '# it is still there'
fi
profile 'a BPF program that is gone has its name' b.pb.gz \
	"anywhere('^bpf_prog_[0-9a-f]+_cprof_test\$') > 0.05"
profile 'and is a part of the kernel of its own' b.pb.gz \
	"'[bpf]' in {m.file for m in p.mappings.values()}"

# What would give more names is told.
cp "$PROG/inlines" bare.keep
strip bare.keep
run "$CPROF" record -v -e cpu-clock -o v.pb.gz -- ./bare.keep 50
like err "symbols of '.*/bare.keep': .*no debug information for build id [0-9a-f]+: compile it with -g" \
	'-v: what is not of a package has to be compiled anew'
sqlite=$(command -v sqlite3) || sqlite=
if [ -n "$sqlite" ] && [ -e /var/lib/dpkg/info/sqlite3.list ] &&
	[ ! -e "/usr/lib/debug/.build-id/$(readelf -n "$sqlite" | sed -n 's/.*Build ID: \(..\)\(.*\)/\1\/\2/p').debug" ]; then
	run "$CPROF" record -v -e cpu-clock --user -o v.pb.gz -- "$sqlite" :memory: \
		'with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000) select sum(x) from c'
	like err "symbols of '$sqlite': .*no debug file for build id [0-9a-f]+: Debian package sqlite3-dbgsym has it|symbols of '.*libsqlite3.so.*': .*Debian package libsqlite3-0-dbgsym" \
		'-v: the Debian package that has it is told'
else
	skip '-v: the Debian package that has it is told' 'needs sqlite3 as a Debian package'
fi
finish
