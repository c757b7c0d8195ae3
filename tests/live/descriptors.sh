#!/bin/sh
# More files than descriptors: files are closed and opened again, and what cannot be opened is a
# loss, not code without names.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gcc
need prlimit

cat >many.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* many FOLDER COUNT copy: makes copies of a library; many FOLDER COUNT [delete]: runs them for
 * 0.5 s, and deletes each as soon as it is loaded. */
int main(int argc, char **argv)
{
	static char bytes[1 << 16];
	static long (*work[2000])(long);
	struct timespec t = { 0 };
	long x = argc;
	char path[4096];
	int n = atoi(argv[2]);
	snprintf(path, sizeof(path), "%s/work.so", argv[1]);
	FILE *f = fopen(path, "r");
	size_t n_bytes = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	int copies = argc > 3 && argv[3][0] == 'c';
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/lib%d.so", argv[1], i);
		if (copies) {
			f = fopen(path, "w");
			if (!f || fwrite(bytes, 1, n_bytes, f) != n_bytes || fclose(f))
				return 2;
			continue;
		}
		void *library = dlopen(path, RTLD_NOW);
		work[i] = library ? (long (*)(long))dlsym(library, "work") : NULL;
		if (!work[i])
			return 3;
		if (argc > 3)
			unlink(path);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	long end = t.tv_sec * 1000000000 + t.tv_nsec + 500000000;
	while (!copies && t.tv_sec * 1000000000 + t.tv_nsec < end) {
		for (int i = 0; i < n; i++)
			x = work[i](x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return x == 42;
}
END
cat >work.c <<'END'
long work(long x)
{
	for (long i = 0; i < 10000; i++) {
		x += i * x;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
END
mkdir libraries
gcc -O1 -o many many.c -ldl && gcc -O1 -shared -fPIC -nostdlib -o libraries/work.so work.c || exit 99

limited() {
	nofile=$1
	shift
	prlimit --nofile="$nofile" "$@"
}
no_address="not any('+0x' in f.name for f in p.functions.values())"

./many "$T/libraries" 1500 copy || exit 99

# The usual soft limit, below the number of files: cprof raises its own.
run limited 1024:4096 "$CPROF" record --json -e cpu-clock -F 5000 -o all.pb.gz -- ./many "$T/libraries" 1500
is "$status" 0 '1500 libraries and a soft limit of 1024: nothing is lost'
like out '"no_descriptors": 0' 'and nothing is counted'
profile 'all libraries are named' all.pb.gz 'cum("work") > 0.4' "$no_address"
run limited 1024:4096 "$CPROF" record --threads 3 --json -e cpu-clock -F 5000 -o three.pb.gz -- \
	./many "$T/libraries" 1500
like out '"no_descriptors": 0' '1500 libraries and three readers: nothing is counted'
run limited 1000:1001 "$CPROF" record -q -e cpu-clock -o limit.pb.gz -- \
	prlimit --nofile --noheadings --raw --output SOFT,HARD
is "$(cat out)" '1000 1001' 'the command has the original limits'

# Fewer descriptors than files: they are closed and opened again.
run limited 40:40 "$CPROF" record --json -e cpu-clock -F 2000 -o few.pb.gz -- ./many "$T/libraries" 300
is "$status" 0 '300 libraries and 40 descriptors: nothing is lost'
like out '"no_descriptors": 0' 'and nothing is counted'
profile 'all libraries are named, too' few.pb.gz 'cum("work") > 0.6' "$no_address"

# Deleted files cannot be opened again when their process has ended.
run limited 40:40 "$CPROF" record --strict --json -e cpu-clock -F 2000 -o few.pb.gz -- \
	./many "$T/libraries" 300 delete
is "$status" 2 'with 40 descriptors for deleted libraries only --strict fails'
like out '"no_descriptors": [1-9][0-9]' 'the libraries without names are counted'
like err 'not read for lack of descriptors.*raise ulimit -n' 'and shown, with the remedy'
profile 'and named in the comments of the profile' few.pb.gz '"for lack of descriptors" in comments'
profile 'they have no names' few.pb.gz 'cum("work") < 0.5'
./many "$T/libraries" 300 copy
if [ "$(id -u)" -eq 0 ]; then
	run "$CPROF" record --json -e cpu-clock -F 2000 -o all.pb.gz -- ./many "$T/libraries" 300 delete
	like out '"no_descriptors": 0' 'with enough descriptors deleted libraries are named'
	profile 'all of them' all.pb.gz 'cum("work") > 0.6' "$no_address"
else
	skip 'with enough descriptors deleted libraries are named' 'only root can open them'
	skip 'all of them' 'only root can open them'
fi

./many "$T/libraries" 300 copy
if command -v perf >/dev/null && perf record -q -e cpu-clock -F 2000 -g -o perf.data ./many "$T/libraries" 300 2>err; then
	run limited 40:40 "$CPROF" import --json -o import.pb.gz perf.data
	like out '"no_descriptors": 0' 'an import opens files again, too'
	profile 'and names all libraries' import.pb.gz 'cum("work") > 0.6' "$no_address"
else
	skip 'an import opens files again, too' 'perf does not run here'
	skip 'and names all libraries' 'perf does not run here'
fi

# Where hardly anything can be opened: how much depends on the descriptors that cprof inherits.
"$CPROF" record -q --no-symbols -e cpu-clock -F 2000 -o bare.pb.gz -- ./many "$T/libraries" 3
lacking=0
for limit in 4 5 6 7 8 9 10; do
	limited $limit:$limit "$CPROF" symbolize -o named.pb.gz bare.pb.gz >out 2>err &&
		grep -q 'files not read for lack of descriptors' err && lacking=$limit
done
check 'symbolize counts files that it could not open' test "$lacking" -gt 0
finish
