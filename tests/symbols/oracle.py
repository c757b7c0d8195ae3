#!/usr/bin/python3
"""Compares our reader of DWARF with the same walk on libdw, address by address.

usage: oracle.py SYMREADER SOURCE_ROOT [FILE...]

Speaks TAP: one assertion per file.  The corpus is every variant that compare.py builds, FILEs, and
debug files of system libraries where they are installed.  An address is equal if both readers give
the same chain of functions with the same names, linkage names, folders, files, lines, columns and
lines of declaration.  There are no accepted differences.  (In programs where several units claim one
function, such as ceph-osd, libdw may take another unit; no file of the corpus is like that.)
"""
import glob
import os
import re
import sys
import tempfile

import compare

SHOWN = 5
SYSTEM_ADDRESSES = 20000
SYSTEM_LIBRARIES = ("/lib/*/libc.so.6", "/lib/*/libm.so.6", "/lib/*/ld-linux-*.so.*",
                    "/lib/*/libstdc++.so.6", "/usr/lib/*/libstdc++.so.6")


def blocks(text):
    """address -> lines, the first one with the flags of the address"""
    found = {}
    for block in (text or "").split("\n\n"):
        lines = block.strip().splitlines()
        if lines:
            address, _, flags = lines[0].partition(" ")
            found[int(address, 16)] = [flags] + lines[1:]
    return found


def check(tap, name, symreader, path, text):
    ours, theirs = (blocks(compare.run([symreader, *how, path], text)) for how in ([], ["-e"]))
    bad = ["%#x: %s, not %s" % (a, ours.get(a), want) for a, want in theirs.items()
           if ours.get(a) != want]
    named = sum(len(lines) > 1 for lines in theirs.values())
    tap.ok(named and not bad and len(ours) == len(theirs),
           "%s: the same as libdw for %d addresses, %d with frames" % (name, len(theirs), named),
           bad[:SHOWN])


def system_files():
    """Debug files of system libraries: by build id."""
    for pattern in SYSTEM_LIBRARIES:
        for path in sorted(glob.glob(pattern)):
            m = re.search(r"Build ID: ([0-9a-f]+)", compare.run(["readelf", "-n", path]) or "")
            debug = m and "/usr/lib/debug/.build-id/%s/%s.debug" % (m[1][:2], m[1][2:])
            if debug and os.path.exists(debug):
                yield path, debug


def addresses(path, n):
    start, size = compare.sections(path)[".text"]
    return "".join("%#x\n" % a for a in range(start, start + size, max(compare.STEP, size // n)))


def main():
    symreader, root = sys.argv[1:3]
    tap = compare.Tap()
    with tempfile.TemporaryDirectory() as folder:
        for n, (compiler, flags, source) in enumerate(compare.variants(root, folder)):
            name = "%s %s %s" % (compiler, flags, os.path.basename(source))
            path = os.path.join(folder, "v%d" % n)
            why = compare.build(compiler, flags, source, path)
            if why:
                tap.skip(name, why)
            else:
                check(tap, name, symreader, path, compare.Variant(path).text)
    for path in sys.argv[3:]:
        check(tap, os.path.basename(path), symreader, path, addresses(path, SYSTEM_ADDRESSES))
    system = list(system_files())
    for path, debug in system:
        check(tap, path, symreader, debug, addresses(debug, SYSTEM_ADDRESSES))
    if not system:
        tap.skip("system libraries", "no debug files such as libc6-dbg's")
    print("1..%d" % tap.n)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
