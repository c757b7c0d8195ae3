#!/bin/sh
# The recorded stacks of programs that know their own callchains equal these callchains. All scenarios
# run with gcc -O2, most with clang and musl, and a few with every other way to build.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

few=turns,aligns,threads
most=plain,turns,pushes,tails,noreturn,varargs,allocas,aligns,longjmps,raises,alarms,plts,threads
set --
for file in "$PROG"/truth/truth-*; do
	case ${file##*/truth-} in
	*.o | '*') ;;
	gcc-O2 | gxx-* | clangxx-*) set -- "$@" "$file" ;;
	clang-O2 | musl-O2-static) set -- "$@" "$file:$most" ;;
	*) set -- "$@" "$file:$few" ;;
	esac
done
[ $# -gt 0 ] || skip_all 'needs gcc'
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/truth.py" -j 2 "$@"
# shellcheck disable=SC2034 # the plan was printed: lib.sh reads this at the end
tap_done=1
