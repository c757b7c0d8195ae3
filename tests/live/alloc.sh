#!/bin/sh
# Who allocates memory, and who holds it: a command, a running process, with and without rights.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
LIB=$(readlink -f "$CPROF_BUILD_ROOT/lib/preload/libcprof-alloc.so")

# held FILE FUNCTION: the bytes in use below it
held() {
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" "$1" "print(round(cum('$2') * total)) or True"
}

# sites of 16 B to 3 MB, each within four standard errors of a Poisson process over its bytes; all
# samples fit into the ring, however late they are read
MEAN=524288
run "$CPROF" record --alloc --call-graph dwarf,4096 -o a.pb.gz -- "$PROG/allocs" sites 0.1
is "$status" 0 '--alloc: recorded'
for site in site_16 site_1000 site_40000 site_3000000; do
	bytes=$(awk -v s="$site" '$1 == s { print $2 }' out)
	objects=$(awk -v s="$site" '$1 == s { print $3 }' out)
	profile "$site: bytes and blocks are right" a.pb.gz \
		"abs(cum('$site') * total - $bytes) <= 4 * ($MEAN * $bytes) ** 0.5" \
		"abs(count('$site') - $objects) <= 4 * ($MEAN * $bytes) ** 0.5 * $objects / $bytes"
done
profile 'the types are those of Go' a.pb.gz \
	"p.sample_types == [('alloc_objects', 'count'), ('alloc_space', 'bytes')]" \
	"p.period == $MEAN" "leaf('malloc|alloc_sampler') == 0" "cum('main') > 0.99"
like err 'of alloc, [0-9.]+ [MG]iB of memory' 'the summary shows memory'
run "$CPROF" report --no-pager --limit 3 a.pb.gz
like out 'alloc_space \(bytes\)' 'report: the type'

# the library counts bytes, so many samples do not add up to an error
run "$CPROF" record --alloc -c 4096 --call-graph dwarf,1024 -o b.pb.gz -- "$PROG/allocs" sites 0.01
bytes=$(awk '/^site_/ { sum += $2 } END { printf "%.0f", sum }' out)
profile 'the sum over all sites is right within 0.15 %' b.pb.gz \
	"abs(total - $bytes) <= 0.0015 * $bytes"
run "$CPROF" record --alloc -c 65536 --call-graph dwarf,1024 -o b.pb.gz -- "$PROG/allocs" forks 400
bytes=$(awk '$1 == "handle" { print $2 }' out)
profile 'forked children do not count what their parent has allocated' b.pb.gz \
	"abs(cum('handle') * total - $bytes) <= 4 * (65536 * $bytes) ** 0.5"

# blocks of a megabyte are sampled with certainty at this mean, so that all figures are exact
run "$CPROF" record --heap=end -c 4096 -o h.pb.gz -- "$PROG/allocs" held
is "$status" 0 '--heap: recorded'
for each in by_malloc:1 by_calloc:2 by_realloc:3 by_reallocarray:4 by_aligned:5 \
	by_failed_realloc:6 thread_allocates:7 by_own_allocator:8; do
	is "$(held h.pb.gz "${each%:*}")" $((${each#*:} * 1048576)) "in use: ${each%:*}"
done
profile 'heap: the types are those of Go' h.pb.gz \
	"p.sample_types[2:] == [('inuse_objects', 'count'), ('inuse_space', 'bytes')]" \
	"labels('bytes')"
run "$CPROF" record --heap -c 4096 -o k.pb.gz -- "$PROG/allocs" peak
is "$status" 0 'a command with a known peak: recorded'
for each in by_calloc:2 by_realloc:3 by_reallocarray:4 by_malloc:0 thread_allocates:0; do
	is "$(held k.pb.gz "${each%:*}")" $((${each#*:} * 1048576)) "in use at the peak: ${each%:*}"
done
profile 'the peak is shown first, and the end beside it' k.pb.gz \
	"p.sample_types[2:] == [('inuse_objects', 'count'), ('inuse_space', 'bytes'), ('peak_objects', 'count'), ('peak_space', 'bytes')]" \
	"p.default_sample_type == 'peak_space'" \
	"sum(s[1][3] for s in p.samples if s[1][5] >= 1048576) == 0" "count('thread_allocates') == 1"
run "$CPROF" record --heap=end -c 4096 -o f.pb.gz -- "$PROG/allocs" freed
profile 'nothing is in use after everything is freed' f.pb.gz \
	"anywhere('^by_') == 0" "cum('thread_allocates') == 0" "cum('child') == 0" \
	"count('by_malloc') > 0"
run "$CPROF" record --heap=end -c 4096 -o c.pb.gz -- "$PROG/allocs" children
is "$(held c.pb.gz by_malloc)" 1048576 'a child frees its own copy'
is "$(held c.pb.gz child)" 0 'what a child held is gone with it'
run "$CPROF" record --heap=end -c 4096 -o e.pb.gz -- sh -c 'exec "$PROG/allocs" held'
is "$(held e.pb.gz by_malloc)" 1048576 'a program that replaces another'
if [ -x "$PROG/allocsxx" ]; then
	run "$CPROF" record --heap=end -c 4096 -o x.pb.gz -- "$PROG/allocsxx"
	for function in by_new by_new_array by_new_aligned; do
		is "$(held x.pb.gz $function)" 1048576 "C++: $function"
	done
	profile 'C++: operator new is left out' x.pb.gz "leaf('operator new|_Zn') == 0"
fi

# a running process with the library, which was dormant
leak_is_first() {
	run "$CPROF" report --no-pager --limit 1 "$1"
	like out '[0-9.]+[kM]?B .*[0-9]%.* leak' "$2"
}
nobody=
! is_root || nobody='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
chmod 777 .
# shellcheck disable=SC2086 # several words
background $nobody env LD_PRELOAD="$LIB" "$PROG/allocs" server
wait_for 20 grep -q cprof-alloc "/proc/$pid/maps"
let_use "$pid" 100
# shellcheck disable=SC2086
run $nobody "$CPROF" record --heap --delta -c 16384 -o l.pb.gz -p "$pid" --duration 1
is "$status" 0 'a running process, without rights: recorded'
leak_is_first l.pb.gz 'the leak is the first line'
start_cprof record --alloc -o first.pb.gz -p "$pid" --duration 60
refused 1 'no process has libcprof-alloc|another profiler' 'a process that is recorded already' \
	record --alloc -o second.pb.gz -p "$pid" --duration 1
kill -KILL "$cprof_pid"
wait "$cprof_pid" 2>/dev/null
run "$CPROF" record --alloc -c 16384 -o third.pb.gz -p "$pid" --duration 300ms
is "$status" 0 'again, after the first recorder was killed'
profile 'again: the churn' third.pb.gz "cum('handle') > 0.5"
kill "$pid"

# a process in another pid namespace, which writes its own ids
cat >inside.keep <<'END'
echo begun >>inside.out
exec env LD_PRELOAD="$1" "$2" server
END
if is_root && unshare -pf true 2>/dev/null; then
	background unshare -pf --kill-child sh inside.keep "$LIB" "$PROG/allocs"
	outside=$pid
	check 'another pid namespace: begun' wait_for 20 test -e inside.out
	inside=$(cat "/proc/$outside/task/$outside/children")
	inside=${inside%% *}
	wait_for 20 grep -q cprof-alloc "/proc/$inside/maps"
	let_use "$inside" 50
	run "$CPROF" record --heap -c 16384 -o i.pb.gz -p "$inside" --duration 500ms
	is "$status" 0 'another pid namespace: recorded'
	profile 'another pid namespace: our ids, and the churn' i.pb.gz "path('handle', 'run_server') >= 0" \
		"count('handle') > 0" "cum('leak') > 0.9" "{s[2].get('pid', '$inside') for s in p.samples} == {'$inside'}"
	kill "$inside" "$outside" 2>/dev/null
else
	skip 'another pid namespace' 'no namespaces can be made'
fi

# ages: one block is two seconds older than the other
run "$CPROF" record --heap --age -c 4096 -o a.pb.gz -- "$PROG/allocs" ages
profile 'the age of blocks in use' a.pb.gz \
	"sum(s[1][3] for s in p.samples if s[2].get('age') == 0) >= 2 << 20" \
	"sum(s[1][3] for s in p.samples if s[2].get('age') in (2, 4, 8) and s[2]['bytes'] == 1 << 20) == 1 << 20" \
	"sum(s[1][5] for s in p.samples if s[2]['bytes'] == 1 << 20) == 1 << 20" \
	"all(s[1][3] == 0 for s in p.samples if 'age' not in s[2])" "cum('by_calloc') > 0.5"

run "$CPROF" record --heap=end -c 4096 -o b.pb.gz -- "$PROG/allocs" labels
profile 'labels are those that the thread had when it allocated' b.pb.gz \
	"all(s[2].get('request') == 'checkout' for s in p.samples if s[2]['bytes'] == 2 << 20)" \
	"all('request' not in s[2] for s in p.samples if s[2]['bytes'] == 1 << 20)" "count('by_calloc') == 1"

# what cannot be recorded
background "$PROG/sleeper"
refused 1 'no process has libcprof-alloc.so' 'a process without the library' \
	record --heap -p "$pid" --duration 1
if cc -static -o static -x c - 2>/dev/null <<'END'
int main(void) { return 0; }
END
then
	mv static static.keep
	run "$CPROF" record --heap -- ./static.keep
	like err 'does not load libcprof-alloc.so: it is static' 'a static program: the reason'
fi
if cc -static -o static.sleeper -x c - 2>/dev/null <<'END'
#include <unistd.h>
int main(void) { return (int)sleep(100); }
END
then
	background ./static.sleeper
	refused 1 'process [0-9]+ cannot load libcprof-alloc.so: it is static' 'a static process: the reason' \
		record --heap -p "$pid" --duration 1
fi
if is_root; then
	cp /bin/true setuid.keep
	chown 65534 setuid.keep
	chmod 4755 setuid.keep
	run "$CPROF" record --heap -- ./setuid.keep
	like err 'does not load libcprof-alloc.so: it is set-user-ID' 'a set-user-ID program: the reason'
fi
cat >m32.c <<'END'
void _start(void)
{
	__asm__ volatile("mov $1, %eax; xor %ebx, %ebx; int $0x80");
}
END
if cc -m32 -nostdlib -static -o m32.keep m32.c 2>err && ./m32.keep; then
	run "$CPROF" record --heap -- ./m32.keep
	like err 'does not load libcprof-alloc.so: it is a 32-bit program' 'a 32-bit program: the reason'
else
	skip 'a 32-bit program: the reason' 'cannot be built or run here'
fi
privileged=$(PATH=/usr/bin:/bin command -v su)
if [ -u "$privileged" ]; then
	# shellcheck disable=SC2086
	run env PATH=/usr/bin:/bin $nobody "$CPROF" record --heap -- su --help
	like err "'$privileged' does not load libcprof-alloc.so: it is set-user-ID" \
		'a set-user-ID program that an ordinary user finds in PATH: the reason'
else
	skip 'a set-user-ID program that an ordinary user finds in PATH' 'there is none'
fi

# another C library
sed 's/pvalloc(/valloc(/' "$CPROF_SOURCE_ROOT/tests/prog/allocs.c" >musl.c
if musl-gcc -D_GNU_SOURCE -g -O1 -I"$CPROF_SOURCE_ROOT/lib" -I"$CPROF_SOURCE_ROOT/tests/prog" -o musl.keep \
	musl.c 2>err; then
	run "$CPROF" record --heap=end -c 4096 -o u.pb.gz -- ./musl.keep held
	is "$status" 0 'a program of musl: recorded'
	is "$(held u.pb.gz by_realloc) $(held u.pb.gz thread_allocates)" '3145728 7340032' \
		'a program of musl: its blocks'
	run "$CPROF" record --heap=end -c 4096 -o v.pb.gz -- ./musl.keep freed
	profile 'a program of musl: nothing is in use after everything is freed' v.pb.gz \
		"anywhere('^by_') == 0" "count('by_malloc') > 0"
else
	skip 'a program of musl' 'no compiler'
fi
refused 64 'age needs --heap' '--age alone' record --alloc --age -- true
refused 64 'delta needs --heap' '--delta alone' record --alloc --delta -- true
refused 64 'changes, which have no peak' 'the peak of changes' record --heap=peak --delta -- true
refused 64 'go alone' 'both' record --alloc --heap -- true
refused 64 'has no events' 'events' record --alloc -e cycles -- true
rm -f ./*.pb.gz
finish
