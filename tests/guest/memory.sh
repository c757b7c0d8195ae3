#!/bin/sh
# Profiles of memory and USDT probes on arm64: the library's registers and stacks, its probes, and
# pages that are used for the first time.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
# shellcheck disable=SC2034 # of guest.sh
guest_programs='lib/preload/libcprof-alloc.so tests/prog/allocs tests/prog/newpages tests/prog/usdt tests/guest/as'
guest_setup

in_guest memory <<'END'
mkdir -p /lib/preload
cp libcprof-alloc.so /lib/preload/
chmod 755 / /lib /lib/preload /lib/preload/libcprof-alloc.so /payload /payload/cprof /payload/allocs
chmod 777 /tmp $OUT
record sites --alloc -c 65536 --call-graph dwarf,4096 -- ./allocs sites 0.01
record held --heap=end -c 4096 -- ./allocs held
record freed --heap=end -c 4096 -- ./allocs freed
record peak --heap -c 4096 -- ./allocs peak
kick='./as 1001'
record user --heap=end -c 4096 -- ./allocs held
LD_PRELOAD=/lib/preload/libcprof-alloc.so ./as 1001 ./allocs server &
pid=$!
until grep -q cprof-alloc /proc/$pid/maps; do usleep 10000; done
record leak --heap --delta -c 16384 -p $pid --duration 500ms
kick=
kill $pid
LD_PRELOAD=/lib/preload/libcprof-alloc.so
CPROF_ALLOC_MEAN=65536
export CPROF_ALLOC_MEAN
record probes -e usdt:/lib/preload/libcprof-alloc.so:otel_memory:alloc/value=arg3,unit=bytes,label=arg2/ -- \
	env LD_PRELOAD=$LD_PRELOAD ./allocs sites 0.01
record usdt -e usdt:/payload/usdt:shop:order/value=arg2,unit=bytes,label=kind:arg1,label=arg3/ -- ./usdt 50
record stack -e usdt:/payload/usdt:shop:stack/value=arg1/ -- ./usdt 50
record pages -e page-faults --unit bytes -c 1 -- ./newpages
cat /sys/bus/event_source/devices/uprobe/type >$OUT/uprobe.out
END

# held FUNCTION: the bytes in use below it
held() {
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" "$pb" "print(round(cum('$1') * total)) or True"
}

# sites NAME MEAN: a Poisson process over the bytes of each
sites() {
	for site in site_16 site_1000 site_40000 site_3000000; do
		bytes=$(awk -v s="$site" '$1 == s { print $2 }' out)
		profile "$1: the bytes of $site are right" "$pb" \
			"abs(cum('$site') * total - $bytes) <= 4 * ($2 * $bytes) ** 0.5" "cum('main') > 0.99"
	done
}

recorded memory sites '--alloc'
sites '--alloc' 65536
like err 'samples? of alloc' '--alloc: the summary'
for case in held user; do
	recorded memory $case "--heap, $case"
	for each in by_malloc:1 by_calloc:2 by_realloc:3 by_reallocarray:4 by_aligned:5 \
		by_failed_realloc:6 thread_allocates:7 by_own_allocator:8; do
		is "$(held "${each%:*}")" $((${each#*:} * 1048576)) "$case, in use: ${each%:*}"
	done
done
recorded memory freed '--heap, everything is freed'
profile 'nothing is in use' "$pb" "anywhere('^by_') == 0" "cum('thread_allocates') == 0" "count('by_malloc') > 0"
recorded memory peak '--heap, the peak'
is "$(held by_reallocarray)" 4194304 'in use at the peak'
recorded memory leak '--heap --delta of a running process, as ordinary user'
profile 'the leak has all of the growth' "$pb" "cum('leak') > 0.9" "count('handle') > 0"

result memory uprobe
if [ "$status" = 0 ] || [ -s "$T/memory.keep/out/uprobe.out" ]; then
	recorded memory probes 'the probes of the library'
	sites 'the probes of the library' 65536
	recorded memory usdt 'USDT probes'
	profile 'values and labels of arguments in registers are exact' "$pb" 'n == 50' \
		'total == 1000 * 50 * 51 // 2' "sorted(set(s[2]['kind'] for s in p.samples)) == ['0', '1', '2', '3']" \
		"all(int(s[2]['arg3']) * -1000 == s[1][1] for s in p.samples)"
	recorded memory stack 'a USDT probe with an argument on the stack'
	profile 'an argument on the stack is exact' "$pb" 'n == 50' 'total == 50 * 51 // 2'
else
	skip 'USDT probes' "the guest's kernel has no uprobes"
fi

recorded memory pages 'page faults in bytes'
for function in small_blocks touch_region; do
	bytes=$(awk -v f="$function" '$1 == "page_bytes" { each = $2 } $1 == f { print $2 * each }' out)
	profile "the bytes of $function are right within 1 %" "$pb" \
		"abs(cum('$function') * total - $bytes) <= 0.01 * $bytes"
done
finish
