#!/bin/sh
# Files that are not read for lack of descriptors are a loss, not code without names.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gcc
need prlimit

cat >many.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv)
{
	static long (*work[300])(long);
	struct timespec t = { 0 };
	long x = argc;
	for (int i = 0; i < 300; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/lib%d.so", argv[1], i);
		void *library = dlopen(path, RTLD_NOW);
		work[i] = library ? (long (*)(long))dlsym(library, "work") : NULL;
		if (!work[i])
			return 1;
	}
	while (t.tv_nsec < 500000000) {
		for (int i = 0; i < 300; i++)
			x = work[i](x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return x == 42;
}
END
cat >work.c <<'END'
long work(long x)
{
	for (long i = 0; i < 30000; i++) {
		x += i * x;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
END
gcc -O1 -o many many.c -ldl && gcc -O1 -shared -fPIC -nostdlib -o work.so work.c || exit 99
mkdir libraries
i=0
while [ $i -lt 300 ]; do
	cp work.so libraries/lib$i.so
	i=$((i + 1))
done

run "$CPROF" record --strict --json -e cpu-clock -F 2000 -o all.pb.gz -- ./many "$T/libraries"
is "$status" 0 'with enough descriptors nothing is lost'
like out '"no_descriptors": 0' 'and nothing is counted'
profile 'all libraries are named' all.pb.gz 'cum("work") > 0.8'

few() {
	prlimit --nofile=40:40 "$@"
}
run few "$CPROF" record --json -e cpu-clock -F 2000 -o few.pb.gz -- ./many "$T/libraries"
is "$status" 0 'with 40 descriptors the recording succeeds'
like out '"no_descriptors": [1-9][0-9]' 'the libraries without names are counted'
like err 'not read for lack of descriptors.*raise ulimit -n' 'and shown, with the remedy'
profile 'and named in the comments of the profile' few.pb.gz '"for lack of descriptors" in comments'
profile 'they have no names' few.pb.gz 'cum("work") < 0.5'
run few "$CPROF" record --strict -e cpu-clock -F 2000 -o few.pb.gz -- ./many "$T/libraries"
is "$status" 2 '--strict fails'
run few "$CPROF" record --no-symbols --json -e cpu-clock -F 2000 -o few.pb.gz -- ./many "$T/libraries"
like out '"no_descriptors": [1-9][0-9]' 'without names, the files without CFI are counted'

if command -v perf >/dev/null && perf record -q -e cpu-clock -F 2000 -g -o perf.data ./many "$T/libraries" 2>err; then
	run few "$CPROF" import --json -o import.pb.gz perf.data
	like out '"no_descriptors": [1-9][0-9]' 'an import counts them, too'
else
	skip 'an import counts them, too' 'perf does not run here'
fi
finish
