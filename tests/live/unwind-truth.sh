#!/bin/sh
# Programs that know their own call chains: the recorded stacks are these chains. All scenarios
# with gcc -O2 and those that depend on the compiler with clang; a few with all other ways to build.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

few=plain,turns,vlas,aligns,threads
set --
for file in "$PROG"/truth/truth-*; do
	[ -f "$file" ] && [ -x "$file" ] || continue
	case ${file##*/truth-} in
	*.o) ;;
	gcc-O2 | gxx-* | clangxx-*) set -- "$@" "$file" ;;
	clang-O2 | musl-O2-static)
		set -- "$@" "$file:plain,turns,pushes,tails,noreturn,varargs,allocas,vlas,aligns,sorts,longjmps,raises,alarms,plts,threads" ;;
	*) set -- "$@" "$file:$few" ;;
	esac
done
[ $# -gt 0 ] || skip_all 'needs gcc'
tap_done=1
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/live/unwind-truth.py" -j 2 "$@"
