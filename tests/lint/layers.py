#!/usr/bin/python3
"""Who may include whom, and which functions the library must not call."""
import os
import re

import tap

# The table of the design: folder -> folders or single headers that it may include.
ALLOWED = {
    "lib/base": ["cprof-error.h"],
    "proto": ["base"],
    "symbolize": ["base"],
    "lib/event": ["base", "cprof-events.h"],
    "lib/source": ["base", "event"],
    "lib/proc": ["base", "source/record.h", "symbolize/dso.h", "cprof-labels.h"],
    "lib/agg": ["base"],
    "lib/session": ["base", "event", "source", "proc", "agg", "symbolize", "proto", "view", "cprof.h",
                    "cprof-doctor.h", "cprof-events.h", "cprof-import.h", "cprof-names.h"],
    "lib/view": ["base", "proto"],
    "lib": ["cprof.h", "cprof-names.h", "cprof-error.h"],
    # Files that appear whole or not at all are no matter of profiles: commands use that leaf directly.
    "cmd": ["cprof.h", "cprof-doctor.h", "cprof-events.h", "cprof-import.h", "cprof-names.h", "base", "view",
            "proto/outfile.h", "proto/pprof-check.h", "proto/pprof-read.h"],
}
# What only commands may do: print, end the process, start one, change signal handling.
FORBIDDEN = {
    "printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar", "perror", "stdout",
    "exit", "_exit", "_Exit", "quick_exit", "fork", "vfork", "system", "popen",
    "pthread_create", "thrd_create", "signal", "sigaction", "err", "errx", "warn", "warnx", "error",
}


def own_folder(path):
    return os.path.dirname(path)


def include_problems():
    for path in tap.sources(".c", ".h", folders=("lib", "symbolize", "proto", "cmd")):
        folder = own_folder(path)
        if folder not in ALLOWED:
            yield "%s: folder is not in the table" % path
            continue
        own = folder.split("/")[-1]
        for number, line in enumerate(tap.read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            header = m.group(1)
            if header.startswith(".") or ("/" not in header and not header.startswith("cprof")):
                yield "%s:%d: write \"folder/name.h\", not \"%s\"" % (path, number, header)
                continue
            target = header.split("/")[0]
            if target != own and target not in ALLOWED[folder] and header not in ALLOWED[folder]:
                yield "%s:%d: %s may not include \"%s\"" % (path, number, folder, header)


def undefined_names():
    archive = os.path.join(tap.BUILD, "libcprof.a")
    member = ""
    for line in tap.output("nm", "-u", archive).splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
        m = re.match(r"\s+U (\w+)", line)
        if m:
            yield member, m.group(1)


def call_problems():
    for member, name in undefined_names():
        if name in FORBIDDEN:
            yield "%s uses %s" % (member, name)


tap.check(include_problems(), "every include follows the table of the design")
tap.check(call_problems(), "the library never prints, exits, forks, makes threads or installs signal handlers")
tap.done()
