#!/bin/sh
# Waits, by a clock that counts instructions. Nothing else runs, so numbers of waits and the sums of
# threads agree exactly. Other times differ by the instructions between two measurements, and by a
# few samples: a site uses the CPU for some ms in all, so the rate is ten times the default.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
# shellcheck disable=SC2034 # of guest.sh
guest_programs='tests/prog/lives tests/prog/lockers tests/prog/waits'
guest_setup

in_guest waits <<'END'
record lives -e wall,off-cpu --labels pid,tid,thread_name -- ./lives mixed killed stopped exec
record waits -F 9973 -e wall,off-cpu --labels tid -- ./waits 1
record again -F 9973 -e wall,off-cpu --labels tid -- ./waits 1
record locks -e block,mutex,off-cpu --locks -- ./lockers 30 8
END

# of NAME: the column of the program's own figures
of() {
	awk -v name="$1" -v column="$2" '$1 == name { print $column }' out
}

result waits lives
is "$status" 0 'threads that are born, stopped and killed: recorded'
profile 'the sum of each thread lies between both measurements of its life' "${pb%.pb.gz}.wall.pb.gz" \
	"lives('out', 0) == []"
profile 'threads wait until their death' "${pb%.pb.gz}.off-cpu.pb.gz" "all(
	cum(f) * total > 0.999 * life(f, 'out')
	for f in ('in_lock', 'in_read', 'in_sleep', 'in_poll'))"

for case in waits again; do
	result waits $case
	is "$status" 0 "$case: recorded"
	for site in nap100ms nap10ms nap1ms poll5ms nap50us; do
		profile "$case: $site: each wait is counted once" "${pb%.pb.gz}.off-cpu.pb.gz" \
			"sum(values[0] for locations, values, labels in p.samples
				if '$site' in [f[0] for f in p.stack(locations)]
				and labels['state'] in ('sleeping', 'blocked')) == $(of $site 3)"
	done
	for site in nap100ms nap10ms nap1ms poll5ms; do
		profile "$case: $site: the time is that of the program" "${pb%.pb.gz}.wall.pb.gz" \
			"abs(cum('$site') * total / 1e9 - $(of $site 2)) < 0.001 * $(of $site 2)"
	done
done

result waits locks
is "$status" 0 'locks: recorded'
for site in contend_table contend_heap contend_inherit contend_robust; do
	profile "locks: $site: each contention is counted once" "${pb%.pb.gz}.block.pb.gz" \
		"count('$site') == $(of $site 3)"
	# The program measures its time without a CPU; the wait contains the sample that begins it.
	profile "locks: $site: with the delay" "${pb%.pb.gz}.block.pb.gz" \
		"abs(cum('$site') * total / 1e9 - $(of $site 2)) < 0.004 * $(of $site 2)" \
		"all(r[2].get('holder') == 'holder/$(of holder 2)' for r in rows if '$site' in r[0])"
done
profile 'locks: and where they are released' "${pb%.pb.gz}.mutex.pb.gz" "count('release') == 120"
finish
