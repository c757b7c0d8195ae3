#!/bin/sh
# Java functions have names, lines and inlined callers without any flag, also when other code takes
# the place of theirs.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need java

jdk() {
	jdk_module=$1
	shift
	java -XX:TieredStopAtLevel=1 -m "$jdk_module" "$@"
}
check 'the programs build' jdk jdk.compiler/com.sun.tools.javac.Main -d classes.keep \
	"$CPROF_SOURCE_ROOT"/tests/prog/java/*.java || finish

# record OPTION... -- JVM-OPTION... CLASS ARG...
record() {
	run "$CPROF" record -e cpu-clock -F 999 --user -v -o j.pb.gz "$@"
}

# On a busy machine there are few samples, and one is much.
spun() {
	record -- java -cp classes.keep Spin 2
	is "$status" 0 'a JVM: recorded'
	profile 'its compiled code has names' j.pb.gz "leaf('^Spin[.]loop\$') > 0.3" \
		"leaf('^Spin[.]fib\$') > 0.03" "anywhere(r'^\\[jit\\]') < 0.01"
	profile 'stacks reach a root' j.pb.gz "roots('truncated') < 0.002" \
		"roots('^(_start|clone3?|__clone.*)\$') > 0.97"
}
attempts 3 spun
profile 'inlined methods have their callers' j.pb.gz \
	"chain('Spin.loop', 'Spin.twice') or chain('Spin.twice', 'Spin.round')"
line=$(grep -n 's += i \* i' "$CPROF_SOURCE_ROOT/tests/prog/java/Spin.java" | cut -d: -f1)
profile 'lines and files are known' j.pb.gz \
	"any(f == 'Spin.java' and abs(l - $line) <= 1 for f, l in lines('Spin.loop'))"
like err 'code of HotSpot [0-9]+ in process [0-9]+: [0-9]+ address(es)? with names' '-v says so'

# The innermost function may be in an entry of the interpreter, which has no frame yet.
record -- java -Xint -cp classes.keep Spin 1
is "$status" 0 'an interpreter alone: recorded'
profile 'interpreted methods have names' j.pb.gz "leaf('^Spin[.]loop\$') > 0.2" \
	"leaf('^Spin[.]fib\$') > 0.15" "not anywhere(r'^\\[jit\\]')" "leaf('^Interpreter\$') < 0.15"
profile 'and callers' j.pb.gz \
	"through('^Spin.loop\$', '^Spin.twice\$', '^Spin.round\$', '^Spin.main\$') == anywhere('^Spin.loop\$')"
profile 'and lines' j.pb.gz \
	"any(f == 'Spin.java' and abs(l - $line) <= 1 for f, l in lines('Spin.loop'))"

record --runtime-names=off -- java -cp classes.keep Spin 1
is "$status" 0 '--runtime-names=off: recorded'
profile 'nothing is read then' j.pb.gz "leaf(r'^\\[jit\\]') > 0.3" "not anywhere('^Spin[.]')"

# A JVM writes the map when it ends; its names have types.
record -- java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp classes.keep Spin 1
profile 'a perf map comes first' j.pb.gz "leaf('^(void|long|int) Spin[.](round|loop|fib)[(]') > 0.5"
rm -f "/tmp/perf-$(sed -n "s,.*/tmp/perf-\([0-9]*\)[.]map'.*,\1,p" err | head -n 1).map"

# Each class is in one thread of the same name.
churned() {
	record --labels thread_name -- java -XX:+UseSerialGC -XX:ReservedCodeCacheSize=3m \
		-cp classes.keep Churn 80 20
	is "$status" 0 'classes that come and go: recorded'
	profile 'nearly all have names' j.pb.gz "anywhere(r'^\\[jit\\]') < 0.05"
}
attempts 3 churned
no_other() {
	profile "no sample has the name of another class$1" j.pb.gz "anywhere('^Work[0-9]') > 0.2" \
		"agree('thread_name', r'(Work\\d+)[.]') == 1"
}
no_other

# Each is unloaded at once, and the next one comes to the same addresses between two readings.
record --labels thread_name -- java -XX:+UseSerialGC -XX:ReservedCodeCacheSize=3m \
	-cp classes.keep Churn 150 8 1
is "$status" 0 'classes that are unloaded at once: recorded'
no_other ', also within one drain'

# Without an interpreter all methods are compiled.
java -Xcomp -cp classes.keep Spin 60 &
jvm=$!
mapped() {
	grep -q Spin.round "/tmp/perf-$jvm.map" 2>/dev/null ||
		{ jdk jdk.jcmd/sun.tools.jcmd.JCmd "$jvm" Compiler.perfmap >/dev/null 2>&1; false; }
}
check 'a JVM writes its map' wait_for 20 mapped
"$CPROF_BUILD_ROOT/tests/tools/codemap" "$jvm" <"/tmp/perf-$jvm.map" >codemap.txt 2>codemap.err
python3 "$CPROF_SOURCE_ROOT/tests/tools/codemap.py" "/tmp/perf-$jvm.map" codemap.txt >equal.txt 2>differ.txt
kill "$jvm"
rm -f "/tmp/perf-$jvm.map"
cat equal.txt differ.txt | sed 's/^/# /' | head -n 10
check 'what is read is what the JVM itself says, for all methods' \
	awk '{ exit !($4 > 500 && $8 == $4 && $4 > 0.9 * $2) }' equal.txt
finish
