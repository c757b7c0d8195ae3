#!/bin/sh
# Recordings with many stacks get huge pages for the tables of stacks, at their own request; short
# ones do without, because clearing such a page takes longer than they gain.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
thp=/sys/kernel/mm/transparent_hugepage/enabled
[ -r "$thp" ] || skip_all 'transparent huge pages: not in this kernel'
! grep -q '\[never\]' "$thp" || skip_all 'transparent huge pages: off'
grep -q AnonHugePages /proc/self/smaps || skip_all 'transparent huge pages: not in smaps'

# advised: KiB in huge pages, in the mappings for which cprof asks for them (the flag hg)
advised() {
	awk '/^AnonHugePages:/ { kib = $2 } /^VmFlags:.* hg( |$)/ { sum += kib; n++ }
		END { print n ? sum : "none" }' /proc/"$cprof_pid"/smaps
}

has_huge() {
	kib=$(advised)
	[ "$kib" != none ] && [ "$kib" -ge 2048 ]
}

start_cprof record -e cpu-clock -F 10000 -o a.pb.gz -- "$PROG/spin" 30 60000
child=$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)
let_use "$child" 150
is "$(advised)" none 'after 1,500 samples no mapping is advised'
let_use "$child" 1500
case $(uname -r) in
[0-5].* | 6.0*) skip 'after 15,000 the tables have a huge page' 'the kernel makes them later' ;;
*) check 'after 15,000 the tables have a huge page' wait_for 20 has_huge ;;
esac
diag <<END
$(advised) KiB
END
kill "$child"
end_cprof
finish
