#!/bin/sh
# Shares are right: programs that do a known part of their work in each function, by cycles.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest shares <<'END'
record serial --scope task -e cycles:u -c 100003 -- ./serial 1 10
record serial-fp --scope task --call-graph fp -e cycles:u -c 100003 -- ./serial 1 10
record parallel --scope task -e cycles:u -c 20011 -- ./parallel 10
record parallel-cpu --scope cpu -e cycles:u -c 20011 -- ./parallel 10
END

# Each function works in one piece, so it has one sample more or less than its part: 0.03 points.
truth='dict((c, (i + 1) / 55) for i, c in enumerate("ABCDEFGHIJ"))'
for case in serial serial-fp; do
	recorded shares $case "$case"
	profile "$case: each of the ten functions has its share within 0.2 points" "$pb" \
		'n > 2500' \
		"all(abs(share(f) - part) <= 0.002 for f, part in $truth.items())"
	profile "$case: exactly floor(count / period) samples" "$pb" "n == $counted // 100003"
	profile "$case: the chain of calls is whole" "$pb" \
		"path(*'JIHGFEDCBA', 'main') >= 0.99 * share('J')" \
		"cum('A') > 0.99"
done

# Each thread has the CPU in some dozen pieces of 4 ms or 150 samples; where one ends and another
# begins a sample can be the one's or the other's. Were it always the other's, that would be 0.07
# points.
for case in parallel parallel-cpu; do
	recorded shares $case "$case"
	profile "$case: each of the ten threads has a tenth within 0.2 points" "$pb" 'n > 20000' \
		"all(abs(share('f%d' % i) - 0.1) <= 0.002 for i in range(1, 11))"
	profile "$case: labels distinguish the threads" "$pb" \
		"all(abs(label_share('thread_name', 'f%d' % i) - share('f%d' % i)) < 0.001
			for i in range(1, 11))"
done
finish
