#!/usr/bin/python3
"""Who may include whom, and which functions the library must not call."""
import os
import re

import tap

# The rooms, from the bottom up: room -> rooms and single headers that it may include.
# "cprof.h" and its like are the public headers in lib/.
ALLOWED = {
    "lib/base": ["cprof-error.h"],
    "proto": ["base"],
    "symbolize/pack": ["base"],
    "symbolize/arch": ["base"],
    "symbolize/arch/arm64": ["base", "symbolize/arch"],
    "symbolize/arch/x86-64": ["base", "symbolize/arch"],
    "symbolize/elf": ["base", "symbolize/arch"],
    "symbolize/dwarf": ["base", "symbolize/elf", "symbolize/pack"],
    "symbolize/cfi": ["base", "symbolize/arch", "symbolize/elf"],
    # HotSpot's code and Go's calls of other stacks are known for x86-64 only.
    "symbolize/runtime": ["base", "symbolize/arch", "symbolize/arch/x86-64", "symbolize/cfi", "symbolize/dwarf"],
    "symbolize/unwind": ["base", "symbolize/arch", "symbolize/cfi", "symbolize/runtime"],
    "symbolize/kernel": ["base", "symbolize/arch", "symbolize/elf", "symbolize/dwarf", "symbolize/pack"],
    "symbolize/jit": ["base"],
    "symbolize/name": ["base", "symbolize/cfi", "symbolize/elf", "symbolize/dwarf", "symbolize/jit",
                       "symbolize/kernel", "symbolize/runtime"],
    "lib/agg": ["base"],
    "lib/event": ["base", "symbolize/arch", "cprof-doctor.h", "cprof-events.h"],
    "lib/source": ["base", "event"],
    # A library of its own, for other programs: it shares a layout of memory, and no code.
    "lib/preload": ["source/allocformat.h", "cprof-alloc.h"],
    "lib/source/live": ["base", "event", "source"],
    "lib/source/perfdata": ["base", "event", "source"],
    "lib/proc": ["base", "event/callregs.h", "source/record.h", "symbolize/elf/dso.h",
                 "symbolize/cfi/cfi.h", "symbolize/runtime", "symbolize/jit"],
    "lib/stack": ["base", "agg", "proc", "source/record.h", "symbolize/arch/arch.h", "symbolize/elf", "symbolize/cfi", "symbolize/unwind",
                  "symbolize/runtime"],
    "lib/interp": ["base", "agg", "proc", "stack", "symbolize/arch/arch.h", "symbolize/cfi", "symbolize/elf", "symbolize/pack/cachefile.h", "symbolize/runtime"],
    "lib/labels": ["base", "agg", "event", "proc", "stack", "source", "symbolize/arch/arch.h", "symbolize/cfi/cfi.h",
                   "symbolize/elf/dso.h", "symbolize/runtime", "cprof-labels.h"],
    "lib/engine": ["base", "agg", "interp", "proc", "stack", "labels", "source", "symbolize/jit"],
    "lib/snapshot": ["base", "agg", "engine", "event", "interp", "labels", "proc", "source", "stack",
                     "symbolize/arch/arch.h", "symbolize/cfi", "symbolize/dwarf/symdwarf.h",
                     "symbolize/elf", "symbolize/runtime"],
    "lib/profile": ["base", "engine", "source", "proto", "symbolize/elf", "symbolize/kernel", "symbolize/name",
                    "symbolize/runtime", "cprof.h", "cprof-import.h", "cprof-losses.h", "cprof-names.h"],
    "lib/probe": ["base", "event", "source/maps.h", "proc", "symbolize/arch", "cprof-events.h"],
    "lib/recorder": ["base", "agg", "event", "source", "proc", "stack", "labels", "engine", "snapshot", "profile",
                     "proto/outfile.h", "symbolize/elf", "symbolize/runtime/runtime-file.h", "cprof.h",
                     "cprof-groups.h", "cprof-names.h", "cprof-snapshot.h"],
    "lib/recorder/kinds": ["base", "event", "source", "probe", "proc", "interp", "labels/probeargs.h", "engine", "snapshot", "profile/export.h", "recorder",
                           "symbolize/runtime", "symbolize/elf/dso.h", "symbolize/kernel/symkernel.h", "cprof.h"],
    "lib/importer": ["base", "event", "source", "source/perfdata", "proc", "engine", "profile",
                     "symbolize/arch/arch.h", "symbolize/elf/dso.h",
                     "symbolize/kernel/symkernel.h", "cprof-import.h"],
    "lib/counter": ["base", "event", "source/synth.h", "probe", "proc", "cprof-counter.h"],
    "lib/doctor": ["base", "event", "source", "proc", "cprof-doctor.h", "cprof-events.h"],
    "lib/view/model": ["base", "proto", "symbolize/runtime/waitframes.h"],
    "lib/view/table": ["base", "view/model"],
    "lib/view/convert": ["base", "proto", "source/maps.h", "symbolize/pack", "view/model", "view/table"],
    "lib/view/html": ["base", "proto/gzip.h", "view/model", "view/table"],
    "lib": ["cprof.h", "cprof-names.h", "cprof-error.h"],
    # Files that appear whole or not at all are no matter of profiles: commands use that leaf directly.
    "cmd": ["base", "view/model", "view/convert", "view/table", "proto/outfile.h", "proto/pprof-check.h",
            "proto/pprof-read.h", "cprof.h", "cprof-doctor.h", "cprof-events.h", "cprof-import.h", "cprof-losses.h", "cprof-names.h"],
    "cmd/agent": ["base", "cmd", "cprof.h", "cprof-groups.h"],
    "cmd/completion": ["cmd"],
    "cmd/record": ["base", "cmd", "view/model", "view/table", "cprof.h", "cprof-events.h", "cprof-import.h", "cprof-losses.h",
                   "cprof-names.h"],
    "cmd/report": ["base", "cmd", "view/model", "view/table", "view/html", "symbolize/cfi/cfi.h",
                   "symbolize/elf/elfbias.h"],
    "cmd/push": ["base", "cmd", "cmd/agent", "proto"],
    "cmd/serve": ["base", "cmd", "cmd/record", "cmd/snapshot", "view/model", "cprof.h", "cprof-events.h",
                  "cprof-snapshot.h"],
    "cmd/snapshot": ["base", "cmd", "cmd/record", "cprof.h", "cprof-snapshot.h"],
    "cmd/stat": ["base", "cmd", "cmd/record", "cprof.h", "cprof-counter.h"],
    "cmd/top": ["base", "cmd", "cmd/record", "view/model", "view/table", "proto/outfile.h", "cprof.h"],
}
# What a single file may include beside its room's row.
FILES = {
    # The one file that opens live rings: all others use the operations of struct source.
    "lib/recorder/kinds/kind-cpu.c": ["source/live/live.h"],
}
# Includes against the table that were there before it. No new ones; each goes when its cause does.
OBSTACLES = {
}
# What only commands may do: print, end the process, start one, change signal handling.
FORBIDDEN = {
    "printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar", "perror", "stdout",
    "exit", "_exit", "_Exit", "quick_exit", "fork", "vfork", "system", "popen",
    "pthread_create", "thrd_create", "signal", "sigaction", "err", "errx", "warn", "warnx", "error",
}


def room_name(folder):
    """How an include names the room: the include path holds the top folder and lib."""
    return folder[4:] if folder.startswith("lib/") else folder


def includes():
    """(path, line number, header) of every include in quotes."""
    for path in tap.sources(".c", ".h", folders=("lib", "symbolize", "proto", "cmd")):
        for number, line in enumerate(tap.read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if m:
                yield path, number, m.group(1)


def include_problems():
    obstacles = set(OBSTACLES)
    for path, number, header in includes():
        folder = os.path.dirname(path)
        if folder not in ALLOWED:
            yield "%s: folder is not in the table" % path
            continue
        if header.startswith(".") or ("/" not in header and not header.startswith("cprof")):
            yield "%s:%d: write \"folder/name.h\", not \"%s\"" % (path, number, header)
            continue
        target = os.path.dirname(header)
        if target == room_name(folder) or target in ALLOWED[folder] or header in ALLOWED[folder]:
            continue
        if header in FILES.get(path, []):
            continue
        if (path, header) in OBSTACLES:
            obstacles.discard((path, header))
            continue
        yield "%s:%d: %s may not include \"%s\"" % (path, number, folder, header)
    for path, header in sorted(obstacles):
        yield "%s no longer includes \"%s\": take it out of OBSTACLES" % (path, header)


def cycle_problems():
    """A table with a cycle allows anything: rows must point down."""
    rooms = {room_name(folder): {os.path.dirname(a) if a.endswith(".h") else a for a in row} - {""}
             for folder, row in ALLOWED.items()}
    done, path = set(), []

    def visit(room):
        if room in path:
            yield "the table has a cycle: %s" % " -> ".join(path[path.index(room):] + [room])
        elif room not in done:
            path.append(room)
            for other in sorted(rooms.get(room, ())):
                yield from visit(other)
            path.pop()
            done.add(room)

    for room in sorted(rooms):
        yield from visit(room)


def undefined_names():
    archive = os.path.join(tap.BUILD, "libcprof.a")
    member = ""
    for line in tap.output("nm", "-u", archive).splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
        m = re.match(r"\s+U (\w+)", line)
        if m:
            yield member, m.group(1)


# Threads only if the caller's configuration requests them.
EXCEPTIONS = {("lib_engine_readerpool.c.o", "pthread_create"),
              ("lib_snapshot_keepoff.c.o", "pthread_create"),
              ("lib_source_live_livegrow.c.o", "pthread_create"),
              ("lib_view_model_model-merge.c.o", "pthread_create")}


def call_problems():
    for member, name in undefined_names():
        if name in FORBIDDEN and (os.path.basename(member), name) not in EXCEPTIONS:
            yield "%s uses %s" % (member, name)


if __name__ == "__main__":
    tap.check(include_problems(), "every include follows the table of the design")
    tap.check(cycle_problems(), "the table has no cycle")
    tap.check(call_problems(), "the library never prints, exits, calls fork, makes threads or installs signal handlers")
    tap.done()
