#!/usr/bin/python3
"""Compares our reader of DWARF with the same walk on libdw, address by address.

usage: oracle.py SYMREADER SOURCE_ROOT [FILE...]

Speaks TAP: one assertion per file.  The corpus:

 - every variant that compare.py builds
 - programs of two units, also from several compilers, and rewritten by dwz
 - crafted.s, with what compilers do not write
 - FILEs, as they are and rewritten by dwz
 - debug files of system libraries, where they are installed

An address is equal if both readers give the same chain of functions with the same names, linkage
names, folders, files, lines, columns and lines of declaration.  Both walk in the same way, so an
error in the walk itself would be in both.  compare.py, which asks other tools, would find it, and
CRAFTED has the functions of crafted.s as its author placed them.

There are no accepted differences.  Two kinds of files are not in the corpus because libdw would
give another answer: programs where several units claim one function, such as ceph-osd, and line
programs with two sequences for one address (we take the first one, libdw the last).
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import compare

SHOWN = 5
SYSTEM_ADDRESSES = 20000
PAIRS = ("gcc -gdwarf-4 -O2", "gcc -gdwarf-5 -O2", "gcc -gdwarf-4 -O2 -gsplit-dwarf",
         "gcc -gdwarf-5 -O2 -gsplit-dwarf", "gcc -g -O2 -flto -flto-partition=max",
         "gcc -gdwarf-4 -O2 -ffunction-sections -Wl,--gc-sections,-Ttext-segment=0 -no-pie",
         "gcc -gdwarf-5 -O2 -ffunction-sections -Wl,--gc-sections,-Ttext-segment=0 -no-pie",
         "clang -gdwarf-4 -O2", "clang -gdwarf-5 -O2", "clang -gdwarf-4 -O2 -gsplit-dwarf",
         "clang -gdwarf-5 -O2 -gsplit-dwarf", "clang -gdwarf-4 -O2 -flto -fuse-ld=lld",
         "clang -gdwarf-5 -O2 -flto -fuse-ld=lld")
# The functions of crafted.s: offsets of start and end, then the chain, the innermost one first.
CRAFTED = (
    (0x8, 0x10, "jumped"), (0x10, 0x12, "scattered"), (0x12, 0x14, "own_name scattered"),
    (0x14, 0x18, "scattered"), (0x20, 0x22, "scattered"), (0x22, 0x24, "own_name scattered"),
    (0x24, 0x28, "scattered"), (0x30, 0x38, "scattered"), (0x50, 0x60, "eight"),
    (0x60, 0x68, "scattered"), (0x80, 0x90, "in_module"), (0xa0, 0xb0, "in_abstract"),
    (0x400, 0x420, "two"), (0x420, 0x440, "origin two"), (0x440, 0x500, "two"),
    (0x504, 0x508, "scattered5"), (0x520, 0x528, "scattered5"),
    (0x528, 0x530, "origin5 scattered5"), (0x530, 0x533, "scattered5"),
    (0x561, 0x565, "scattered5"), (0x582, 0x589, "scattered5"), (0x590, 0x5a0, "scattered5"),
    (0x5b0, 0x5b7, "scattered5"), (0x640, 0x650, "before"), (0x654, 0x668, "in_gap"),
    (0x680, 0x690, "behind"), (0x6c0, 0x6d0, "before"), (0x6d2, 0x6d8, "in_small_gap"),
    (0x6dc, 0x6e8, "unaligned"), (0x700, 0x710, "nested"), (0x710, 0x718, "deeper"))
CRAFTED_START, CRAFTED_BYTES = 0x1000, 0x800
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


def all_of(path):
    """Each address of .text."""
    start, size = compare.sections(path)[".text"]
    return "".join("%#x\n" % a for a in range(start, start + size))


def check_pairs(tap, symreader, source, folder):
    sources = [os.path.join(source, "pair-%s.c" % x) for x in "ab"]
    for n, flags in enumerate(PAIRS):
        compiler, flags = flags.split(" ", 1)
        path, name = os.path.join(folder, "pair%d" % n, "x"), "%s %s, two units" % (compiler, flags)
        os.mkdir(os.path.dirname(path))
        why = compare.build(compiler, "%s %s" % (flags, sources[1]), sources[0], path)
        if why:
            tap.skip(name, why)
            continue
        check(tap, name, symreader, path, all_of(path))
        if compiler == "gcc" and "split" not in flags:
            # dwz knows neither .debug_addr nor .debug_str_offsets
            check_dwz(tap, name, symreader, path, all_of(path))


def check_mixed(tap, symreader, source, folder):
    """Compressed, with a unit that .debug_aranges omits between two that it has."""
    objects = []
    for compiler, flags, name in (("gcc", "", "pair-a"), ("clang", "-DSKIP=8 -Dwork=work2", "pair-b"),
                                  ("gcc", "-DSKIP=8 -Dlarge=large2 -Ddropped=dropped2", "pair-b")):
        out = os.path.join(folder, "mixed%d.o" % len(objects))
        why = compare.build(compiler, "-c -g -O1 " + flags, os.path.join(source, name + ".c"), out)
        if why:
            tap.skip("units of two compilers", why)
            return
        objects.append(out)
    path = os.path.join(folder, "mixed")
    compare.build("gcc", "-gz " + " ".join(objects[:2]), objects[2], path)
    check(tap, "units of two compilers, compressed", symreader, path, all_of(path))
    # with no other address the reader has no other reason to look for that unit
    text = "".join("%#x\n" % a for start, end, name in compare.symbols(path) if name == "work2"
                   for a in range(start, end))
    check(tap, "the unit between the others", symreader, path, text)


def check_dwz(tap, name, symreader, path, text):
    """The same file after dwz, alone and with a common file for two of them."""
    if not shutil.which("dwz"):
        tap.skip("%s, dwz" % name, "no dwz here")
        return
    with tempfile.TemporaryDirectory() as folder:
        copies = [os.path.join(folder, x) for x in ("alone", "one", "two")]
        common = os.path.join(folder, "common")
        for copy in copies:
            shutil.copy(path, copy)
        for what, args, file in (("dwz", copies[:1], copies[0]),
                                 ("dwz -m", ["-m", common] + copies[1:], copies[1])):
            done = subprocess.run(["dwz", *args], capture_output=True, text=True)
            if done.returncode or (what == "dwz -m" and not os.path.exists(common)):
                tap.skip("%s, %s" % (name, what), done.stderr.strip().split("\n")[-1])
            else:
                check(tap, "%s, %s" % (name, what), symreader, file, text)


def check_crafted(tap, symreader, source, folder):
    path = os.path.join(folder, "crafted")
    why = compare.build("gcc", "-nostdlib -static -Wl,--build-id=none,-Ttext=%#x" % CRAFTED_START,
                        os.path.join(source, "crafted.s"), path)
    if why:
        sys.exit("oracle.py: " + why)
    text = "".join("%#x\n" % (CRAFTED_START + i) for i in range(CRAFTED_BYTES))
    check(tap, "crafted", symreader, path, text)
    want = [[] for _ in range(CRAFTED_BYTES)]
    for start, end, chain in CRAFTED:
        want[start:end] = [chain.split()] * (end - start)
    bad = []
    for address, lines in blocks(compare.run([symreader, path], text)).items():
        names = [line.split()[0] for line in lines[1:] if not line.startswith("- ")]
        if names != want[address - CRAFTED_START]:
            bad.append("%#x: %s, not %s" % (address, names, want[address - CRAFTED_START]))
    tap.ok(not bad, "crafted: the functions that its author placed", bad[:SHOWN])


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
        source = os.path.join(root, "tests/symbols")
        check_pairs(tap, symreader, source, folder)
        check_mixed(tap, symreader, source, folder)
        check_crafted(tap, symreader, source, folder)
    for path in sys.argv[3:]:
        name, text = os.path.basename(path), addresses(path, SYSTEM_ADDRESSES)
        check(tap, name, symreader, path, text)
        check_dwz(tap, name, symreader, path, text)
    system = list(system_files())
    for path, debug in system:
        check(tap, path, symreader, debug, addresses(debug, SYSTEM_ADDRESSES))
    if not system:
        tap.skip("system libraries", "no debug files such as libc6-dbg's")
    print("1..%d" % tap.n)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
