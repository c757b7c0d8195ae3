#!/bin/sh
# An import by several threads writes the same bytes as by one.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need perf
perf record -q -o probe.data -e cpu-clock -- "$PROG/spin" >/dev/null 2>&1 ||
	skip_all 'perf record does not work here'
HOME=$T/home.keep
export HOME
mkdir "$HOME"

# recorded NAME OPTION...: NAME.data
recorded() {
	recorded_name=$1
	shift
	perf record -q -N --no-bpf-event -o "$recorded_name.data" "$@" >perf.log 2>&1 || {
		sed 's/^/# perf: /' perf.log
		return 1
	}
}

# same FILE WHAT OPTION...: threads change nothing
same() {
	file=$1 what=$2
	shift 2
	for n in 1 2 4 7; do
		run "$CPROF" import --threads $n -q --no-symbols -o "by$n.pb.gz" "$@" "$file"
		cp err "err$n"
		echo "$status" >>"err$n"
	done
	for n in 2 4 7; do
		check "$what: $n threads write the same profile" cmp by1.pb.gz "by$n.pb.gz"
		check "$what: and report the same" cmp err1 "err$n"
	done
}

run "$CPROF" import --threads 0 probe.data
is "$status" 64 'no thread is too few'
run "$CPROF" import -v --threads 3 -o probe.pb.gz probe.data
like err 'the file is imported by 3 threads' '-v names their number'
run "$CPROF" import -v -o probe.pb.gz probe.data
unlike err 'the file is imported by' 'a small file needs no further threads'

recorded threads -e cpu-clock -F 2000 --call-graph dwarf,8192 -- "$PROG/parallel"
same threads.data 'ten threads with stack copies'
recorded short -e cpu-clock -F 9000 --call-graph dwarf,1024 -- "$PROG/forks" 60
same short.data 'many processes, and copies that are too short'
same short.data 'by frame pointers' --call-graph fp
recorded two -e cpu-clock,page-faults -c 100000 -g -- "$PROG/parallel"
run "$CPROF" import --threads 4 -q -o two.pb.gz two.data
is "$status" 0 'two events are imported'
if recorded packed -z -e cpu-clock -g -- "$PROG/parallel"; then
	run "$CPROF" import -q -o probe.pb.gz packed.data
	if [ "$status" = 0 ]; then
		same packed.data 'compressed records'
	else
		skip 'compressed records' 'this build cannot read them'
	fi
else
	skip 'compressed records' 'this perf cannot write them'
fi
if recorded folder --threads -e cpu-clock -F 999 -g -- "$PROG/parallel"; then
	same folder.data 'a folder with a file per CPU'
else
	skip 'a folder with a file per CPU' 'this perf cannot write it'
fi

size=$(wc -c <threads.data)
head -c $((size * 2 / 3)) threads.data >cut.data
same cut.data 'the readable part of a damaged file'

perf record -q -o - -e cpu-clock -g -- "$PROG/spin" 2>perf.log >stream.data
run sh -c 'cat stream.data | "$CPROF" import -v --threads 4 -o stream.pb.gz -'
is "$status" 0 'a stream is imported'
unlike err 'the file is imported by' 'by one thread'
finish
