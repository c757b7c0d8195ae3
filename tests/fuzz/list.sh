#!/bin/sh
# The parsers that have a fuzz target, for meson.build.
cd "$(dirname "$0")" || exit 1
for file in fuzz-*.c; do
	[ -e "$file" ] || continue
	file=${file#fuzz-}
	echo "${file%.c}"
done
