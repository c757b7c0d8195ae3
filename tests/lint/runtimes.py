#!/usr/bin/python3
"""Language runtimes and libraries with special rules are known by name in symbolize/runtime only."""
import re

import tap

HOME = "symbolize/runtime/"
# The names, the symbols and the files by which they are known.
WORDS = re.compile(
    r"java|hotspot|jvm|golang|gopclntab|goexit|goroutine|systemstack|morestack|"
    r"\bruntime\.[a-z]|\b(?:go_table|go_names|go_switch|runtime_(?:go|hotspot|v8))|"
    r"libcrypto|openssl|boost|musl", re.I)
# Words that mean something else there.
OTHER_MEANING = {
    ("lib/view/html/html-source.c", "java"),    # source files to show
    ("lib/cprof.h", "goroutine"),               # the name of that kind
    ("lib/recorder/kinds/allocprogram.c", "musl"),  # the loader of programs
}
# Readers of one runtime's tasks and of their labels, which no interface describes: only their kind of
# recorder and the labels of samples use them.  And what connects a runtime to lib/interp.
OF_ONE_RUNTIME = ("lib/interp/interp-p", "lib/interp/interp-ruby", "lib/interp/pycodes", "lib/snapshot/go", "lib/proc/goprocess", "lib/labels/go",
                  "lib/recorder/kinds/kind-goroutines.c",
                  "lib/recorder/kinds/kind-cpu-tasks.c", "cmd/snapshot/snapshot-go")
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)


def without_comments(text):
    """Keeps strings, and the number of lines."""
    return COMMENT.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text)


def word_problems():
    for path in tap.sources(".c", ".h", folders=("lib", "symbolize")):
        if path.startswith((HOME,) + OF_ONE_RUNTIME):
            continue
        for number, line in enumerate(without_comments(tap.read(path)).splitlines(), 1):
            # the interface has the folder's name
            for m in WORDS.finditer(re.sub(r'#include "symbolize/runtime/\S*', "", line)):
                if (path, m.group(0).lower()) not in OTHER_MEANING:
                    yield "%s:%d: %s" % (path, number, m.group(0))


def include_problems():
    """From outside only the interface is included, not a runtime's own header."""
    allowed = {"language.h", "module.h", "runtime.h", "runtime-code.h", "runtime-file.h", "runtime-memory.h",
               "runtime-frames.h", "runtime-pages.h", "runtime-symbols.h", "waitframes.h"}
    for path in tap.sources(".c", ".h", folders=("cmd", "lib", "symbolize")):
        if path.startswith((HOME,) + OF_ONE_RUNTIME):
            continue
        for header in re.findall(r'#include "symbolize/runtime/([^"]+)"', tap.read(path)):
            if header not in allowed:
                yield "%s includes %s%s" % (path, HOME, header)


tap.check(word_problems(), "no runtime or library is named outside symbolize/runtime")
tap.check(include_problems(), "the rest includes only the interface of symbolize/runtime")
tap.done()
