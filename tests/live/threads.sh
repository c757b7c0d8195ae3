#!/bin/sh
# Several readers: the counts are the kernel's, and stacks, names and labels those of one reader.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# Eight processes, whose faults getrusage(2) counts, too.
for n in 1 2 4; do
	run "$CPROF" record --threads "$n" --json -q --scope task -e page-faults -c 1 \
		--call-graph none --ring-size 64k -o f.pb.gz -- sh -c "
		for i in 1 2 3 4 5 6 7 8; do '$PROG/pagefaulter' 2000 5 >&2 & done; wait"
	is "$status" 0 "$n readers: status 0"
	is "$(json 's["readers"]')" "$n" "$n readers: as many"
	is "$(json 'e["samples"] + e["lost"] == e["counted"]')" True \
		"$n readers: delivered and lost samples are what the kernel counted"
	is "$(json '80000 <= e["counted"]')" True "$n readers: and what the programs have"
done

# The ring is full while programs start: records of their mappings are lost, too.
run timeout 100 "$CPROF" record --json -q --scope task -e page-faults -c 1 --call-graph none \
	--ring-size 4k -o f.pb.gz -- sh -c "
	kill -STOP \$PPID
	'$PROG/pagefaulter' 2000 1 >&2
	for i in 1 2 3 4 5 6 7 8; do /bin/true; done
	kill -CONT \$PPID; sleep 0.1; /bin/true"
is "$status" 0 'a full ring: status 0'
is "$(json 'e["lost_counted"] > e["lost"] > 1000')" True 'a full ring: other records are lost, too'
is "$(json 'e["samples"] + e["lost"] == e["counted"]')" True 'a full ring: but are no samples'

# Each thread has its own function, and a tenth of the time.
for n in 1 2 4; do
	run "$CPROF" record --threads "$n" -q -e cpu-clock -F 1999 -o p.pb.gz -- "$PROG/parallel" 20
	is "$status" 0 "$n readers: threads recorded"
	profile "$n readers: whole stacks with names" p.pb.gz 'n > 200' \
		"all(0.02 < cum('f%d' % i) < 0.25 for i in range(1, 11))" \
		"labels('thread_name') >= {'f%d' % i for i in range(1, 11)}"
done

# A process that runs already.
background "$PROG/threads" 8 100000
run "$CPROF" record --threads 2 -q -e cpu-clock -F 1999 -o a.pb.gz -p "$pid" -- sleep 0.5
is "$status" 0 'a running process: recorded'
profile 'a running process: its threads and files are known to all readers' a.pb.gz \
	'n > 50' "cum('thread_work') > 0.9" "len(labels('tid')) >= 2"
kill -KILL "$pid"

# What is left after the end, and signals.
run "$CPROF" record --threads 4 -q -o t.pb.gz -- true
is "$status" 0 'four readers of a short command'
start_cprof record --threads 4 -q -e cpu-clock -o s.pb.gz -- "$PROG/spin" 2 20000
let_use "$cprof_pid" 1
kill -TERM "$cprof_pid"
end_cprof
check 'SIGTERM ends four readers, too' test -s s.pb.gz

for n in 0 257 two; do
	run "$CPROF" record --threads "$n" -- true
	is "$status" 64 "--threads $n is refused"
	like err '1 to 256' "--threads $n: the message names what is possible"
done
finish
