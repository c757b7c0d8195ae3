#!/bin/sh
# cprof killed, starved and confused at random moments: each file is the old one or a complete new
# one, no name is wrong, nothing is left behind, and a failure comes with a message.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# chaos NAME SCENARIO [N]: see tests/chaos.py, which exits with 77 for "not possible here"
chaos() {
	chaos_name=$1
	shift
	mkdir "$T/$1" && cd "$T/$1" || exit 99
	chaos_status=0
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/chaos.py" "$@" >"$T/chaos.keep" 2>&1 || chaos_status=$?
	cd "$T" || exit 99
	case $chaos_status in
	0) pass "$chaos_name" ;;
	77) skip "$chaos_name" "$(sed -n 's/^skip: //p' chaos.keep)" ;;
	*) fail "$chaos_name" ;;
	esac
	diag 20 <chaos.keep
	rm -rf "${T:?}/$1"
}

# half of the kills beside everything else
mkdir "$T/beside.keep"
(
	cd "$T/beside.keep" || exit 99
	CPROF_CHAOS_SEED=2
	export CPROF_CHAOS_SEED
	exec "$PYTHON" "$CPROF_SOURCE_ROOT/tests/chaos.py" kills 120 >"$T/beside.out.keep" 2>&1
) &
beside=$!
tap_pids="$tap_pids $beside"

chaos '120 signals to cprof or its target at random moments' kills 120
chaos 'SIGSTOP to cprof or its target' stopped 6
chaos '3 to 64 descriptors' descriptors 61
chaos 'a limit of the address space' memory 20
chaos 'a limit of the file size' file_size 20
chaos 'a program that overwrites its label memory' label_memory 4
if is_root; then
	chaos 'a file system that is full at 50 different places' full 56
	chaos 'a memory limit of its cgroup' memory_cgroup 12
	chaos 'two recordings of the whole machine' two_machines 2
	chaos 'process ids that are used again' reused_pids 600
fi

beside_status=0
wait "$beside" || beside_status=$?
is "$beside_status" 0 '120 more signals, beside the other attacks'
diag 20 <beside.out.keep
finish
