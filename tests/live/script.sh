#!/bin/sh
# Both ways from one perf.data to a profile count the same samples of the same functions: cprof
# import, and cprof convert of the output of perf script.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need perf

# leaves PROFILE PROGRAM: samples by innermost function, of the program's own functions.  perf names
# some entries of the PLT after the function before them, which is _init.
leaves() {
	nm "$2" | awk '$2 ~ /^[tT]$/ && $3 != "_init" { print $3 }' >own.keep
	"$CPROF" report --folded --sample-type 0 "$1" | awk '
		NR == FNR { own[$1] = 1; next }
		{ n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, "") }
		$0 in own { sum[$0] += n }
		END { for (name in sum) print name, sum[name] }' own.keep - | sort
}

for program in 'serial 30' 'parallel 20' 'forks 20'; do
	name=${program% *}
	# shellcheck disable=SC2086 # words
	perf record -q -N --no-bpf-event -e cpu-clock:u -F 999 -g -o perf.keep -- "$PROG"/$program >log.keep 2>&1 ||
		skip_all 'perf record does not work here'
	perf script -i perf.keep --no-inline >text.keep 2>log.keep
	run "$CPROF" import -q -o import.pb.gz perf.keep
	is "$status" 0 "$name: imported"
	run "$CPROF" convert --from script -o script.pb.gz text.keep
	is "$status" 0 "$name: converted"
	check "$name: cprof check --for pprof accepts the converted file" \
		"$CPROF" check --for pprof script.pb.gz
	leaves import.pb.gz "$PROG/$name" >import.keep
	leaves script.pb.gz "$PROG/$name" >script.keep
	check "$name: there are samples" test -s script.keep
	is "$(cat script.keep)" "$(cat import.keep)" "$name: the same samples in each function"
done
finish
