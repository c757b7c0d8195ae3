#!/bin/sh
# Stacks through code that its own file does not describe: code written by the process itself, and
# programs whose .debug_frame is in a separate debug file.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$PROG/jitcode" trampoline 1
if [ "$status" = 77 ]; then
	skip 'code that the process wrote itself' 'only on x86-64'
else
	for shape in trampoline pushes framed; do
		run "$CPROF" record -e cpu-clock -F 1999 -o "$shape.pb.gz" -- "$PROG/jitcode" $shape 200
		is "$status" 0 "$shape: recorded"
		profile "$shape: the stack is work, JIT code, run, main" \
			"$shape.pb.gz" "n > 50" "leaf('^work$') > 0.5" \
			"through('^work$', r'^\[jit\]', '^run$', '^main$') > 0.97 * cum('work')" \
			"roots('^_start$') > 0.97"
		profile "$shape: the frames found by that code are marked as guessed" "$shape.pb.gz" \
			"part(lambda r: r[2].get('stack', '').startswith('guessed ')) > 0.4"
	done
	run "$CPROF" record -e cpu-clock -F 1999 --labels none -o none.pb.gz -- \
		"$PROG/jitcode" trampoline 100
	profile '--labels none: stacks have no heuristic mark' none.pb.gz \
		"n > 20" "not labels('stack')"
	run "$CPROF" record -e cpu-clock -F 1999 --label stack=mine -o mine.pb.gz -- \
		"$PROG/jitcode" trampoline 100
	profile '--label stack=: stacks have only the given label' mine.pb.gz \
		"n > 20" "labels('stack') == {'mine'}"
fi

if [ -x "$PROG/truth/truth-gcc-O2-debugframe" ] && command -v objcopy >/dev/null; then
	mkdir .debug
	cp "$PROG/truth/truth-gcc-O2-debugframe" apart
	objcopy --only-keep-debug apart .debug/apart.debug
	strip apart
	objcopy --add-gnu-debuglink=.debug/apart.debug apart
	check 'the program itself has no .debug_frame' sh -c '! readelf -SW apart | grep debug_frame'
	run "$PYTHON" "$CPROF_SOURCE_ROOT/tests/truth.py" -j 2 "./apart:plain,turns,pushes,varargs,aligns"
	is "$status" 0 '.debug_frame in a separate debug file: the stacks are the true callchains'
	is "$(grep -c '^ok' out)" 5 '.debug_frame in a separate debug file: all scenarios were run'
else
	skip '.debug_frame in a separate debug file' 'needs gcc and objcopy'
fi

# Python's trampolines for perf, with any python3 that has them.
for python in python3 python3.12 python3.13 python3.14 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
	"$python" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' \
		>/dev/null 2>&1 && break
	python=
done
if [ "$python" ]; then
	cat >loop.py.keep <<-END
	def leaf(n):
	    s = 0
	    for i in range(n):
	        s += i * i % 7
	    return s
	def middle():
	    return sum(leaf(300) for _ in range(100))
	for _ in range(120):
	    middle()
	END
	run "$CPROF" record --json -e cpu-clock -F 1999 -o python.pb.gz -- "$python" -X perf loop.py.keep
	is "$status" 0 "$python -X perf: recorded"
	profile "$python -X perf: stacks continue below its trampolines" python.pb.gz 'n > 50' \
		"roots('truncated') < 0.03" \
		"anywhere('py::leaf') > 0.5"
	check "$python -X perf: its map names most samples" json_is \
		's["functions_mapped"] > 10 * s["functions_unknown"]'
else
	skip "Python's trampolines" 'needs Python 3.12 on x86-64'
fi
finish
