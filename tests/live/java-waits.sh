#!/bin/sh
# Java threads that wait have their methods, most of them interpreted, in snapshots and in profiles of
# waits, which knows idle pools by them.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need java

check 'the program builds' java -XX:TieredStopAtLevel=1 -m jdk.compiler/com.sun.tools.javac.Main \
	-d classes.keep "$CPROF_SOURCE_ROOT/tests/prog/java/Pool.java" || finish

java -cp classes.keep Pool 120 >ready.keep &
jvm=$!
tap_pids="$tap_pids $jvm"
wait_for 60 grep -q ready ready.keep || echo '# the program is not ready'

# HotSpot's own threads may still be at work.
compared() {
	run "$CPROF" snapshot -p "$jvm"
	is "$status" 0 'a snapshot'
	java -XX:TieredStopAtLevel=1 -m jdk.jcmd/sun.tools.jcmd.JCmd "$jvm" Thread.print >threads
	check 'all methods of all waiting threads are those that the JVM prints, with their lines' \
		"$CPROF_SOURCE_ROOT/tests/jstacks.py" threads out
}
attempts 5 compared
kill "$jvm"

need_perf
run "$CPROF" record -e off-cpu -o off.pb.gz -- java -cp classes.keep Pool 2 50
is "$status" 0 'waits: recorded'
profile 'waits have interpreted methods' off.pb.gz \
	"through('^java.lang.Thread.sleep', '^Pool.rest\$', '^Pool.main\$') > 0" \
	"through('DelayedWorkQueue.take\$', 'ThreadPoolExecutor.getTask\$') > 0"
profile 'the waits of its workers are those of an idle pool' off.pb.gz \
	"part(lambda r: any(n.endswith('ThreadPoolExecutor.getTask') for n in r[0]) and
	      r[2].get('idle') == 'pool') > 0.9 * anywhere('ThreadPoolExecutor.getTask\$') > 0"
finish
