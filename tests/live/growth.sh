#!/bin/sh
# Where memory grows: page faults in bytes, for a command and for a running process, without rights.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# true_bytes FUNCTION: of the pages that the program says it used first there
true_bytes() {
	awk -v f="$1" '$1 == "page_bytes" { each = $2 } $1 == f { print $2 * each }' out
}

# each page
run "$CPROF" record -e page-faults --unit bytes -c 1 -o each.pb.gz -- "$PROG/newpages"
is "$status" 0 'each page fault: recorded'
blocks=$(true_bytes small_blocks) region=$(true_bytes touch_region)
profile 'each page fault: the bytes of both places are right within 1 %' each.pb.gz \
	"p.sample_types[1] == ('page_faults', 'bytes')" \
	"abs(cum('small_blocks') * total - $blocks) <= 0.01 * $blocks" \
	"abs(cum('touch_region') * total - $region) <= 0.01 * $region" \
	"cum('reuse') < 0.01"
like err 'of page-faults, [0-9.]+ MiB of memory' 'the summary shows memory'

# one in 101: within four standard errors of so many samples
run "$CPROF" record --growth -- "$PROG/newpages"
is "$status" 0 '--growth: recorded'
blocks=$(true_bytes small_blocks) region=$(true_bytes touch_region)
page=$(awk '$1 == "page_bytes" { print $2 }' out)
# its few faults may each be one of those that are sampled
n_reuse=$(awk '$1 == "reuse" { print $2 }' out)
check '--growth: the file is named after it' test -e cprof.growth.pb.gz
profile '--growth: the bytes of both places are right' cprof.growth.pb.gz \
	"p.sample_types[1] == ('growth', 'bytes')" "p.period == 101 * $page" \
	"abs(cum('small_blocks') * total - $blocks) <= 4 * (101 * $page * $blocks) ** 0.5" \
	"abs(cum('touch_region') * total - $region) <= 4 * (101 * $page * $region) ** 0.5" \
	"cum('reuse') * total <= $n_reuse * 101 * $page" "cum('main') > 0.95"
run "$CPROF" report --no-pager --limit 3 cprof.growth.pb.gz
like out 'growth \(bytes\)' 'report: bytes'
like out '[0-9.]+[kM]B' 'report: with their unit'
rm -f cprof.growth.pb.gz

# a running process, and a rate of its own
background "$PROG/pagefaulter" 20000 100000
run "$CPROF" record --growth -c 1009 -o p.pb.gz --duration 500ms -p "$pid"
is "$status" 0 'a running process: recorded'
profile 'a running process: its pages' p.pb.gz "cum('touch_pages') > 0.9" "p.period % 1009 == 0"
kill "$pid"

# huge pages are a single fault each
run "$CPROF" record --growth -o h.pb.gz -- "$PROG/newpages" huge
if grep -q '^huge_kib [1-9]' out; then
	like err '[0-9]+ faults? that gave programs of this machine a huge page' 'huge pages are reported'
	profile 'huge pages are reported in the file' h.pb.gz "'huge page' in comments"
else
	skip 'huge pages are reported' 'the kernel has given the program no huge page'
fi

# what cannot be in bytes
refused 64 'none of the events can be counted in bytes' '--unit bytes of a clock' \
	record -e cpu-clock --unit bytes -- true
refused 64 "'cpu-clock' cannot be counted in bytes" 'unit= of a clock' \
	record -e cpu-clock/unit=bytes/ -- true
refused 64 "bad unit 'pages'" 'an unknown unit' record -e page-faults/unit=pages/ -- true
rm -f ./*.pb.gz
finish
