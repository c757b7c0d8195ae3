#!/bin/sh
# Programs that record the memory of other processes with libcprof: Start, Snapshot and Stop.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
LIB=$(readlink -f "$CPROF_BUILD_ROOT/lib/preload/libcprof-alloc.so")

all_promises() {
	run "$@" "$PROG/heaprecorder" "$LIB"
	is "$status" 0 "$who: recorded"
	is "$(grep -c ': yes' out)" 10 "$who: ten promises"
	unlike out ': no ' "$who: no promise is broken"
	profile "$who: a snapshot has what is in use" before.pb.gz "total == 1 << 20" "leaf('keep_first') == 1" \
		"p.default_sample_type == 'inuse_space'"
	profile "$who: the next profile has what is in use at its end, and its own allocations" after.pb.gz \
		"total == 2 << 20" "leaf('keep_second') == 1" "count('keep_first') == 0" "count('keep_second') == 1"
	profile "$who: changes since then are negative for what was freed" changes.pb.gz \
		"sum(s[1][3] for s in p.samples if s[2]['bytes'] == 1 << 20) == -(1 << 20)" \
		"sum(s[1][3] for s in p.samples if s[2]['bytes'] == 2 << 20) == 2 << 20"
	profile "$who: allocations" alloc.pb.gz "total == 3 << 20" \
		"p.sample_types == [('alloc_objects', 'count'), ('alloc_space', 'bytes')]"
	rm -f ./*.pb.gz
}

who=$(id -un)
all_promises
if is_root; then
	chmod 777 .
	who='an ordinary user'
	all_promises as_nobody
fi
finish
