#!/usr/bin/python3
"""The name of an exported function says in which file it is."""
import os
import re

import tap

# Files whose functions begin with something else, with the reason.
OTHER_PREFIX = {
    "pprof-read": "profile_",   # named for the object that it returns
    "liveopen": "live_",        # a part of live, too long for one file
    "livestack": "live_",       # another
}


def prefixes(stem):
    """`procs-space` may export procs_space_... and procs_..., being a part of procs."""
    parts = stem.split("-")
    for n in range(len(parts), 0, -1):
        yield "_".join(parts[:n])
    if stem in OTHER_PREFIX:
        yield OTHER_PREFIX[stem].rstrip("_")


def defined_names():
    member = ""
    for line in tap.output("nm", "--defined-only", "-g",
                           os.path.join(tap.BUILD, "libcprof.a")).splitlines():
        if line.endswith(".o:"):
            # symbolize_elf-syms.c.o: meson writes the folder into the member's name
            member = line[:-1]
        m = re.match(r"[0-9a-f]+ ([A-Z]) (\w+)$", line)
        if m:
            yield member, m.group(2)


def stem_of(member, stems):
    base = re.sub(r"^.*meson-generated_.*_|\.c\.o$", "", member)
    return max((s for s in stems if base == s or base.endswith("_" + s)), key=len, default=base)


def prefix_problems():
    stems = {os.path.basename(p)[:-2]
             for p in tap.sources(".c", folders=("lib", "symbolize", "proto"))}
    for member, name in defined_names():
        stem = stem_of(member, stems)
        if name.startswith("__") or name.startswith("cprof_"):
            continue        # the sanitizers' own; the public API
        if not any(name == p or name.startswith(p + "_") for p in prefixes(stem)):
            yield "%s.c exports %s" % (stem, name)


tap.check(prefix_problems(), "exported names begin with the name of their file")
tap.done()
