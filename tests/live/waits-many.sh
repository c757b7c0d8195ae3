#!/bin/sh
# Waits that are too many for a stack each: all times stay exact.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# thinned SCOPE
thinned() {
	run "$CPROF" record -e wall --scope "$1" --switch-rate 500 --labels tid --json -o t.pb.gz -- "$PROG/switches" 1.5
	is "$status" 0 "scope $1"
	# The first thread exists longer than the second one.
	profile "the time of each thread is exact" t.pb.gz \
		"len(labels('tid')) == 2" \
		"0.999 * life('second', 'out') < min(tid_sums().values()) < 1.001 * life('second', 'out', 3)" \
		"0.999 * life('second', 'out') < max(tid_sums().values()) <= p.duration_nanos"
	if may_sample_kernel; then
		sampled
	else
		skip 'some of the switches are sampled' "$not_kernel"
	fi
	rm -f t.pb.gz
}

sampled() {
	like out '"switch_period_max": [0-9]{2,}' 'some of the switches are sampled'
	profile "and each place is there" t.pb.gz \
		"cum('[no stack]') < 0.05" "cum('quick') > 0.02 and cum('slow') > 0.02" \
		"'divided among the others of their thread' in comments"
}

# Long waits beside many short ones have stacks of their own.
long() {
	run "$CPROF" record -e off-cpu --switch-rate 100 -o l.pb.gz -- "$PROG/waits" 1.5
	is "$status" 0 "long waits among many"
	profile "each long wait counts once, where it was" l.pb.gz \
		"$(awk '$1 == "nap100ms" {
			printf "abs(cum(\"nap100ms\") * total / 1e9 - %s) < %f", $2, $2 * 0.02 }' out)"
	rm -f l.pb.gz
}

attempts 3 thinned task
is_root && attempts 3 thinned cgroup
is_root && attempts 3 long

run "$CPROF" record -e off-cpu,block/period=20ms/ -c 10ms -o q.pb.gz -- "$PROG/waits" 1
is "$status" 0 'quanta'
profile "whole quanta" q.off-cpu.pb.gz \
	"all(v[1] == 10000000 * v[0] for _, v, _ in p.samples)" "p.period == 10000000"
profile "of its own" q.block.pb.gz "all(v[1] == 20000000 * v[0] for _, v, _ in p.samples)"
rm -f q.*

run "$CPROF" record -e off-cpu,wall --off-cpu-min 50ms -o m.pb.gz -- "$PROG/waits" 1
is "$status" 0 'only long waits'
profile "shorter ones are left out" m.off-cpu.pb.gz "cum('nap100ms') > 0.1" \
	"cum('poll5ms') == cum('nap10ms') == cum('locked') == 0"
profile "but not of all time" m.wall.pb.gz "cum('poll5ms') > 0.05"

refused 64 'its period is not a time' 'a time is no period of events' record -e page-faults -c 1ms -- true
refused 64 "not a time" 'and a number no quantum' record -e off-cpu/period=ten/ -- true
refused 64 "takes no rate" 'nor is a frequency' record -e off-cpu/freq=10/ -- true
finish
