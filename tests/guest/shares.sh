#!/bin/sh
# Shares by cycles are correct for programs that do a known part of their work in each function.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest shares <<'END'
record serial --scope task -e cycles:u -c 100003 -- ./serial 1 10
record serial-fp --scope task --call-graph fp -e cycles:u -c 100003 -- ./serial 1 10
record parallel --scope task -e cycles:u -c 20011 -- ./parallel 10
record parallel-cpu --scope cpu -e cycles:u -c 20011 -- ./parallel 10
END

# Each function runs once, in one piece, so its share is off by at most one sample: 0.03 points.
truth='dict((c, (i + 1) / 55) for i, c in enumerate("ABCDEFGHIJ"))'
for case in serial serial-fp; do
	recorded shares $case "$case"
	profile "$case: each of the ten functions has its share within 0.2 points" "$pb" \
		'n > 2500' \
		"all(abs(share(f) - part) <= 0.002 for f, part in $truth.items())"
	profile "$case: exactly floor(count / period) samples" "$pb" "n == $counted // 100003"
	profile "$case: the callchain is complete" "$pb" \
		"path(*'JIHGFEDCBA', 'main') >= 0.99 * share('J')" \
		"cum('A') > 0.99"
done

# Each thread gets the CPU in a few dozen slices of 4 ms or 150 samples. At each switch one sample
# can go to either thread. If it always went to the wrong one, the share would be off by 0.07
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
