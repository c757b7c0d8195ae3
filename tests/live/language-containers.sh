#!/bin/sh
# Functions of each language in a container, where its files have another path and its threads other
# numbers, and in another root: they have the same names.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/runtimes.sh"
need_perf
need_root
need unshare prlimit
unshare --mount --pid --fork true 2>/dev/null || skip_all 'no namespaces can be made'

mkdir box.keep

# The only child of a process, once it executes a file in the box.
child_of() {
	pid=$(pgrep -P "$1" | head -n 1)
	[ -n "$pid" ] && case $(readlink "/proc/$pid/exe") in */box.keep/*) true ;; *) false ;; esac
}

for language in $(languages); do
	program_of "$language"
	unshare --mount --pid --fork --kill-child sh -c \
		"mount --rbind / box.keep && mount -t proc proc /proc && exec $T/box.keep$program" >/dev/null &
	outer=$!
	tap_pids="$tap_pids $outer"
	check "$language: it runs in a container" wait_for 20 child_of "$outer"
	attempts 3 recorded "$language" "$language: a process of a container"
	kill -KILL "$pid"

	run "$CPROF" record -e cpu-clock --user -F 999 -o root.pb.gz -- unshare --mount --pid --fork sh -c \
		"mount --rbind / box.keep && exec chroot box.keep prlimit --cpu=1 $program"
	named "$language" root.pb.gz "$language: in another root, from its start to its violent end"
	rm -f ./*.pb.gz
done
finish
