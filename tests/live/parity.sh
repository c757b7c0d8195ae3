#!/bin/sh
# Reports of recordings of cprof have the same numbers as `go tool pprof`: stacks by frame pointers
# and by CFI, inlined calls, page faults, labels, two merged recordings.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need go

export HOME="$T/home" GOPATH="$T/home/go" GOFLAGS=-mod=mod PPROF_TMPDIR="$T" PPROF_BINARY_PATH="$T"
mkdir -p home

# parity NAME FILE...: also checks that more than a few numbers were compared
parity() {
	parity_name=$1
	shift
	run "$PYTHON" "$CPROF_SOURCE_ROOT/tests/tools/parity.py" "$CPROF" "$@"
	is "$status" 0 "$parity_name: the numbers of pprof"
	like out '^[0-9]{2,} numbers compared$' "$parity_name: at least ten numbers are compared"
}

"$CPROF" record -q -e cpu-clock --call-graph fp -o fp.pb.gz -- "$PROG/serial" 30 >/dev/null
"$CPROF" record -q -e cpu-clock --call-graph dwarf -o cfi.pb.gz -- "$PROG/inlines" 100 >/dev/null
"$CPROF" record -q -e page-faults -c 1 -o faults.pb.gz -- "$PROG/pagefaulter" >/dev/null
"$CPROF" record -q -e cpu-clock --labels pid,tid,thread_name,process_name,cpu \
	--label 'name=välue "quoted"' -o labels.pb.gz -- "$PROG/parallel" 20 >/dev/null
parity 'by frame pointers' fp.pb.gz
parity 'by CFI, with inlined calls' cfi.pb.gz
parity 'page faults' faults.pb.gz
parity 'labels' labels.pb.gz
parity 'merged' fp.pb.gz labels.pb.gz
is "$(go tool pprof -symbolize=none -tags labels.pb.gz 2>/dev/null | grep -c 'Total')" 6 'pprof sees all labels'
finish
