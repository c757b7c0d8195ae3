#!/usr/bin/python3
"""Compares the names of a stripped Go program with those from its debug information.

usage: golang.py SYMDUMP SOURCE

It is built with both and stripped in three ways; addresses all over .text are looked up.  Two
differences come from the runtime's design: a type argument is "[...]" in its table, and generated
code has a file name without a folder.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

STEP = 61


def text_of(path):
    for line in subprocess.check_output(["readelf", "-SW", path], text=True).splitlines():
        m = re.match(r"\s*\[\s*\d+\]\s+\.text\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", line)
        if m:
            return int(m[1], 16), int(m[2], 16)
    raise ValueError("no .text in " + path)


def dump(symdump, path, addresses):
    text = "".join("0x%x\n" % a for a in addresses)
    out = subprocess.check_output([symdump, path], input=text, text=True)
    result = []
    for block in out.strip().split("\n\n"):
        lines = block.splitlines()[1:]
        frames = [(lines[i], lines[i + 1]) for i in range(0, len(lines), 2)]
        result.append([(re.sub(r"\[[^]]*\]", "[...]", name), place.replace("./<", "<"))
                       for name, place in frames])
    return result


class Tap:
    n = failed = 0

    def ok(self, good, name, notes=()):
        Tap.n += 1
        Tap.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", Tap.n, name))
        for note in () if good else notes:
            print("# %s" % (note,))


def main():
    symdump, source = sys.argv[1:]
    if not shutil.which("go"):
        print("1..0 # SKIP needs go")
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(symdump))), "gocache")
        env = dict(os.environ, GOCACHE=cache, GO111MODULE="off", GOFLAGS="", HOME=folder)

        def build(name, *options):
            path = os.path.join(folder, name)
            subprocess.check_call(["go", "build", *options, "-o", path, source], env=env)
            return path

        twin = build("twin")
        pie = build("pie", "-buildmode=pie")
        bare = [(twin, build("bare", "-ldflags=-s -w"), "-s -w"),
                (pie, build("barepie", "-buildmode=pie", "-ldflags=-s -w"), "-s -w, PIE")]
        stripped = os.path.join(folder, "stripped")
        subprocess.check_call(["strip", "-o", stripped, twin])
        bare.append((twin, stripped, "strip"))
        for full, without, name in bare:
            start, size = text_of(full)
            tap.ok(text_of(without) == (start, size), "%s: the same code" % name)
            addresses = range(start, start + size, STEP)
            want, got = dump(symdump, full, addresses), dump(symdump, without, addresses)
            differ = ["0x%x: want %s, got %s" % x for x in zip(addresses, want, got) if x[1] != x[2]]
            inlined = sum(len(frames) > 1 for frames in want)
            tap.ok(len(want) > 5000 and inlined > 500, "%s: %d addresses, %d with inlined calls" %
                   (name, len(want), inlined))
            # Code between functions and assembler code may differ.
            tap.ok(len(differ) <= len(want) // 1000,
                   "%s: names, inlined calls, files and lines of %d addresses are those of DWARF"
                   % (name, len(want) - len(differ)), differ[:10])
    print("1..%d" % tap.n)
    return tap.failed > 0


if __name__ == "__main__":
    sys.exit(main())
