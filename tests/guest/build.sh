#!/bin/sh
# A cross build makes more than the command: the libraries that are installed, and everything that
# needs other tools than the compiler.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
need readelf
guest_setup

# The targets that meson does not compile itself, as paths in the build folder.
meson introspect --targets "$guest_build" >targets.keep
python3 - "$guest_build" >custom.keep <<'END_PY'
import json, os, sys
for target in json.load(open("targets.keep")):
    if target["type"] == "custom" and target["build_by_default"]:
        for name in target["filename"]:
            print(os.path.relpath(name, os.path.realpath(sys.argv[1])))
END_PY

exec 9>"$guest_build.lock"
flock 9
# shellcheck disable=SC2046 # names without blanks
run ninja -k 0 -C "$guest_build" installed $(cat custom.keep)
exec 9>&-
is "$status" 0 'what is installed, and every target with a command of its own, can be built'
grep -A 5 FAILED out | diag
for file in cmd/cprof lib/abi/libcprof.so lib/abi/libcprof.a lib/preload/libcprof-alloc.so; do
	readelf -h "$guest_build/$file" >header.keep
	check "$file is for arm64" grep -q AArch64 header.keep
done
readelf -W --syms "$guest_build/lib/abi/libcprof.a" >symbols.keep
check 'the static library has the public names' grep -q 'GLOBAL DEFAULT .* cprof_record_end$' symbols.keep
check 'the other names of the static library are local' sh -c \
	'! grep "GLOBAL DEFAULT  *[0-9]" symbols.keep | grep -v " cprof_"'
finish
