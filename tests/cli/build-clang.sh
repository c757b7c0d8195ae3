#!/bin/sh
# cprof builds where clang is, but neither gcc nor g++: it is configured there, no flag is one that
# clang lacks, and the C++ programs of the tests are built.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need clang clang++ meson ninja

# all commands but those of gcc
mkdir bin.keep
ln -s /usr/local/bin/* bin.keep/
ln -sf /usr/bin/* bin.keep/
rm -f bin.keep/cc bin.keep/c++ bin.keep/c[89]9* bin.keep/gcc bin.keep/g++ bin.keep/*gcc-[0-9]* \
	bin.keep/*g++-[0-9]* bin.keep/*-linux-gnu-gcc bin.keep/*-linux-gnu-g++
run env -u CFLAGS -u CXXFLAGS CC=clang CXX=clang++ PATH="$T/bin.keep" \
	meson setup build.keep "$CPROF_SOURCE_ROOT"
is "$status" 0 'meson setup, with clang alone'
like out 'C compiler for the host machine: clang' 'clang is the compiler'

# flags LANGUAGE COMMAND: those that it does not have
flags() {
	grep -Eo -- '(^| )-[fmW][a-z][a-z0-9+=-]*' | sort -u | while read -r flag; do
		case $flag in
		-Wl | -fsanitize*) continue ;;
		esac
		"$2" -Werror "$flag" -x "$1" -fsyntax-only /dev/null 2>/dev/null || echo "$flag"
	done
}
grep -E '^ ARGS = ' build.keep/build.ninja | flags c clang >lacks
is "$(cat lacks)" '' 'no flag for C is one that clang does not have'
grep -E 'COMMAND = .*clang\+\+' build.keep/build.ninja | flags c++ clang++ >lacks
is "$(cat lacks)" '' 'no flag for C++ is one that clang++ does not have'
check 'the C++ programs of the tests are built' env PATH="$T/bin.keep" \
	ninja -C build.keep tests/prog/inlinesxx
rm -rf build.keep lacks
finish
