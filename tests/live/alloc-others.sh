#!/bin/sh
# --heap beside other allocators and sanitizers, and of libraries that are unloaded.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
LIB=$(readlink -f "$CPROF_BUILD_ROOT/lib/preload/libcprof-alloc.so")
cat >hold.c <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *hold(void)
{
	void *volatile block = malloc(1 << 20);
	return block ? memset(block, 1, 1 << 20) : NULL;
}
END
cat >main.c <<'END'
void *hold(void);
int main(void)
{
	for (int i = 0; i < 20; i++)
		if (!hold())
			return 1;
	return 0;
}
END
cat >opener.c <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	void *(*hold)(void) = library ? (void *(*)(void))dlsym(library, "hold") : 0;
	for (int i = 0; hold && i < 20; i++)
		hold();
	return !hold || dlclose(library);
}
END
cc -g -O1 -o plain.keep main.c hold.c 2>err || skip_all 'no compiler'

# all_counted NAME FILE: 20 blocks of a megabyte are in use at the end
all_counted() {
	profile "$1" "$2" "sum(s[1][3] for s in p.samples if s[2]['bytes'] == 1 << 20) == 20 << 20" \
		"count('hold') == 20"
}

# sanitizer COMPILER NAME: the program is not disturbed
sanitizer() {
	if ! "$1" "-fsanitize=$2" -g -O1 -o sane.keep main.c hold.c 2>err || ! ./sane.keep 2>/dev/null; then
		skip "$1 -fsanitize=$2" 'cannot be built or run here'
		return
	fi
	rm -f s.pb.gz
	run "$CPROF" record --heap=end -c 4096 -o s.pb.gz -- ./sane.keep
	if grep -q 'no samples: the program has a malloc of its own' err; then
		pass "$1 -fsanitize=$2: the reason"
	elif grep -q 'ASan runtime does not come first' err; then
		is "$status" 1 "$1 -fsanitize=$2: refuses to start"
	else
		is "$status" 0 "$1 -fsanitize=$2: recorded"
		all_counted "$1 -fsanitize=$2: all blocks" s.pb.gz
	fi
	env LD_PRELOAD="$LIB" ASAN_OPTIONS=verify_asan_link_order=0 ./sane.keep >out 2>err
	is "$?" 0 "$1 -fsanitize=$2: ends as without the library"
}
export ASAN_OPTIONS=detect_leaks=0 LSAN_OPTIONS=detect_leaks=0
for compiler in gcc clang; do
	for name in thread address; do
		if command -v "$compiler" >/dev/null; then
			sanitizer "$compiler" "$name"
		else
			skip "$compiler -fsanitize=$name" 'no compiler'
		fi
	done
done

sanitizer gcc leak

cat >new.cc <<'END'
int main()
{
	static char *volatile kept;
	for (int i = 0; i < 20; i++)
		kept = new char[1 << 20];
	return !kept;
}
END
c++ -g -O1 -o new.keep new.cc 2>err || rm -f new.keep

# a realloc that fails after a long time, while its block counts as freed
cat >slow.c <<'END'
#include <errno.h>
#include <stddef.h>
#include <unistd.h>
void *__libc_realloc(void *block, size_t n);
void *realloc(void *block, size_t n)
{
	if (n <= (size_t)1 << 40)
		return __libc_realloc(block, n);
	usleep(100000);
	errno = ENOMEM;
	return NULL;
}
END
if cc -shared -fPIC -o libslow.so slow.c 2>err; then
	run env LD_PRELOAD="$PWD/libslow.so" "$CPROF" record --heap=end -c 4096 -o w.pb.gz -- "$PROG/allocs" held
	profile 'a realloc that fails late: its block is still in use' w.pb.gz \
		"round(cum('by_failed_realloc') * total) == 6 << 20"
else
	skip 'a realloc that fails late' 'cannot be built here'
fi

# the library before another allocator, as cprof has it, and after it
for name in libjemalloc.so.2 libtcmalloc.so.4; do
	other=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n "s|.*x86-64.* => \(.*/$name\)$|\1|p" | head -n 1)
	if [ -z "$other" ]; then
		skip "$name" 'not installed'
		continue
	fi
	export LD_PRELOAD="$other"
	run "$CPROF" record --heap=end -c 4096 -o j.pb.gz -- ./plain.keep
	is "$status" 0 "$name after the library: recorded"
	all_counted "$name after the library: all blocks" j.pb.gz
	unlike err 'operator new' "$name: no warning for a program in C"
	if [ -x new.keep ]; then
		run "$CPROF" record --heap=end -c 4096 -o j.pb.gz -- ./new.keep
		like err 'has its own operator new' "$name: a warning for a program in C++"
	fi
	unset LD_PRELOAD
	run "$CPROF" record --heap -c 4096 -o k.pb.gz -- env LD_PRELOAD="$other:$LIB" ./plain.keep
	like err 'calls another malloc' "$name before the library: a warning"
done

# the address of malloc is that of a jump in the program
cat >address.c <<'END'
#include <stdlib.h>
void *hold(void);
int main(void)
{
	void *(*volatile allocate)(size_t) = malloc;
	void *block = allocate(1);
	free(block);
	for (int i = 0; i < 20; i++)
		if (!hold())
			return 1;
	return 0;
}
END
if cc -g -O1 -fno-pic -no-pie -o address.keep address.c hold.c 2>err; then
	run "$CPROF" record --heap=end -c 4096 -o n.pb.gz -- ./address.keep
	is "$status" 0 'a program at a fixed address: recorded'
	unlike err 'another malloc' 'a program at a fixed address: it calls our malloc'
	all_counted 'a program at a fixed address: all blocks' n.pb.gz
else
	skip 'a program at a fixed address' 'cannot be built here'
fi

cc -g -O1 -shared -fPIC -o libhold.so hold.c && cc -g -O1 -o opener.keep opener.c -ldl
run "$CPROF" record --heap=end -c 4096 -o d.pb.gz -- ./opener.keep ./libhold.so
is "$status" 0 'a library that is unloaded: recorded'
all_counted 'a library that is unloaded: its blocks have its names' d.pb.gz
rm -f ./*.pb.gz
finish
