#!/bin/sh
# Waits where perf events are closed: everything is read in /proc.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

"$PROG/noperf" 1 true || skip_all "seccomp filters: not here"

# near SITE PERCENT ...: a term for each, from the program's own figures in the file out
near() {
	while [ $# -gt 0 ]; do
		awk -v name="$1" -v percent="$2" '$1 == name {
			printf "abs(cum(\"%s\") * total / 1e9 - %s) < %s * %f and ", name, $2, $2, percent / 100
		}' out
		shift 2
	done
	echo True
}

# launched ERRNO
launched() {
	run "$PROG/noperf" "$1" "$CPROF" record -e off-cpu -o l.pb.gz -- "$PROG/waits" 2
	is "$status" 0 "launched, errno $1"
	like err 'read in /proc every 10 ms, since perf events are closed' 'it says so'
	profile "long waits have their time and stack" l.pb.gz "$(near nap100ms 10)" \
		"abs(cum('forever') * total - p.duration_nanos) < 0.1 * p.duration_nanos" \
		"'waits measured by: /proc' in comments"
	rm -f l.pb.gz
}

attached() {
	background "$PROG/waits" 60
	sleep 0.3
	run "$PROG/noperf" 13 "$CPROF" record -e wall --labels tid --duration 1 -o a.pb.gz -p "$pid"
	kill "$pid"
	is "$status" 0 "attached"
	profile "the sum of each thread is the duration" a.pb.gz "len(labels('tid')) == 9" \
		"all(abs(label_share('tid', t) * total - p.duration_nanos) < 0.02 * p.duration_nanos for t in labels('tid'))"
	rm -f a.pb.gz
}

children() {
	run "$PROG/noperf" 1 "$CPROF" record -e off-cpu -o c.pb.gz -- sh -c "'$PROG/waits' 1.5; true"
	is "$status" 0 "a child and its program"
	profile "they are followed" c.pb.gz "cum('nap100ms') > 0.05 and cum('forever') > 0.05"
	rm -f c.pb.gz
}

# Events of threads would need more descriptors than there may be.
many() {
	background "$PROG/idle" 100
	sleep 0.3
	run sh -c 'ulimit -n 100 && exec "$@"' sh "$CPROF" record -e wall --labels tid --duration 1 -o m.pb.gz -p "$pid"
	kill "$pid"
	is "$status" 0 'more threads than descriptors'
	like err 'read in /proc every 10 ms, since events of so many threads need more descriptors' 'many: it says so'
	profile "many: each thread has the duration" m.pb.gz "len(labels('tid')) >= 100" \
		"all(abs(label_share('tid', t) * total - p.duration_nanos) < 0.02 * p.duration_nanos for t in labels('tid'))"
	rm -f m.pb.gz
}

attempts 3 launched 1
attempts 3 launched 38
attempts 3 attached
attempts 3 children
run "$PROG/noperf" 1 "$CPROF" record -e cpu-clock -o n.pb.gz -- true
is "$status" 1 'other events fail as ever'
run "$PROG/noperf" 1 "$CPROF" record -e off-cpu,cpu-clock -o n.pb.gz -- true
is "$status" 1 'also beside waits'
finish
