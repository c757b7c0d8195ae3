#!/bin/sh
# The library's functions jump directly to those of the next one, where the system allows that.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
LIB=$(readlink -f "$CPROF_BUILD_ROOT/lib/preload/libcprof-alloc.so")
[ "$(uname -m)" = x86_64 ] || skip_all 'only on x86-64'

# prints where the first jump of each function leads to
cat >jumps.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	static const char *const name[] = { "malloc", "calloc", "free", "realloc" };
	for (int i = 0; i < 4; i++) {
		const unsigned char *code = dlsym(RTLD_DEFAULT, name[i]);
		int32_t distance;
		Dl_info in = { 0 };
		memcpy(&distance, code + 16, 4);
		if (code[14] != 0x0f || code[15] != 0x84 || !dladdr(code + 20 + distance, &in))
			return 1;
		printf("%s %s\n", name[i], strrchr(in.dli_fname, '/') + 1);
	}
	char *volatile kept = NULL;
	for (int i = 0; i < 20; i++)
		kept = memset(malloc(1 << 20), 1, 1 << 20);
	return !kept;
}
END
# starts a command that cannot get code that can be written (Linux 6.3)
cat >strict.c <<'END'
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int set_mdwe = 65, refuse_exec_gain = 1;
	if (argc < 2 || prctl(set_mdwe, refuse_exec_gain, 0, 0, 0) != 0)
		return 99;
	return execvp(argv[1], argv + 1);
}
END
cc -g -O1 -o jumps.keep jumps.c -ldl 2>err && cc -o strict.keep strict.c || skip_all 'no compiler'

# lead_to FILE TEXT
lead_to() {
	is "$status" 0 "$2: the program is not disturbed"
	for function in malloc calloc free realloc; do
		is "$(sed -n "s/^$function //p" out)" "$1" "$2: $function"
	done
}
libc=$(ldd ./jumps.keep | sed -n 's|^[[:space:]]*\(libc\.[^ ]*\) =>.*|\1|p')
run env LD_PRELOAD="$LIB" ./jumps.keep
lead_to "$libc" 'the C library'
jemalloc=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n 's|.*x86-64.* => \(.*/libjemalloc.so.2\)$|\1|p' | head -n 1)
if [ -n "$jemalloc" ]; then
	run env LD_PRELOAD="$LIB:$jemalloc" ./jumps.keep
	lead_to libjemalloc.so.2 'another allocator'
else
	skip 'another allocator' 'libjemalloc.so.2 is not installed'
fi

if ./strict.keep true; then
	run env LD_PRELOAD="$LIB" ./strict.keep ./jumps.keep
	lead_to libcprof-alloc.so 'no writable code: indirect jumps'
	run "$CPROF" record --heap=end -c 4096 -o s.pb.gz -- ./strict.keep ./jumps.keep
	is "$status" 0 'no writable code: recorded'
	profile 'no writable code: all blocks' s.pb.gz \
		"sum(s[1][3] for s in p.samples if s[2]['bytes'] == 1 << 20) == 20 << 20"
else
	skip 'no writable code' 'the kernel does not support it'
fi
finish
