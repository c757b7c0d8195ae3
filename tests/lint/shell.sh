#!/bin/sh
# Shell scripts and completions are clean.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

completions=${CPROF%/*}/completion
cd "$CPROF_SOURCE_ROOT" || exit 99
if command -v shellcheck >/dev/null; then
	for script in bootstrap .ci/run tests/lib.sh tests/*/*.sh; do
		# not followed: tests/lib.sh, which sets what the scripts use (SC1091, SC2154);
		# `ls | grep` is right for /proc/PID/fd (SC2010)
		check "shellcheck of $script" \
			shellcheck -S warning -e SC1090,SC1091,SC2154,SC2010 "$script"
	done
	check 'shellcheck of the bash completion' shellcheck -s bash "$completions/cprof"
else
	skip 'shellcheck' 'needs shellcheck'
fi
for script in bootstrap tests/*/*.sh; do
	check "syntax of $script" sh -n "$script"
done
if command -v bash >/dev/null; then
	check 'syntax of the bash completion' bash -n "$completions/cprof"
else
	skip 'syntax of the bash completion' 'needs bash'
fi
if command -v zsh >/dev/null; then
	check 'syntax of the zsh completion' zsh -n "$completions/_cprof"
else
	skip 'syntax of the zsh completion' 'needs zsh'
fi
if command -v fish >/dev/null; then
	check 'syntax of the fish completion' fish -n "$completions/cprof.fish"
else
	skip 'syntax of the fish completion' 'needs fish'
fi
cd "$T" || exit 99
finish
