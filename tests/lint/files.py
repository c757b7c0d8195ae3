#!/usr/bin/python3
"""Sizes, names, words and layout of the source files."""
import ast
import os
import re
import stat

import tap

HEADER_LINES = 150  # of all but the public ones
SOURCE_LINES = 800
LINE_COLUMNS = 100
# Words that say that something is not finished. Split so that this file does not hold them.
UNFINISHED = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|for " r"now|place" r"holder|not yet " r"implemented|"
    r"un" r"implemented)\b", re.I)
TEXT = (".c", ".h", ".cc", ".rs", ".py", ".sh", ".build", ".1", ".3", ".7", ".md")


def n_lines(path):
    return tap.read(path).count("\n")


def columns(line):
    return len(line.expandtabs(8))


def unique_problems():
    seen = {}
    for path in tap.sources(".c", ".h", folders=("cmd", "lib", "symbolize", "proto")):
        stem = os.path.splitext(path)[0]
        name = os.path.basename(stem)
        if name in seen and seen[name] != stem:
            yield "%s and %s have the same base name" % (seen[name], stem)
        seen[name] = stem


def has_idea(text):
    """A comment between the includes and the first code."""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("/*"):
            return True
        if any(not line.startswith("#") for line in block.splitlines()):
            return False
    return False


def opening_problems():
    for path in tap.sources(".c", ".h", folders=("cmd", "lib", "symbolize", "proto")):
        text = tap.read(path)
        if path.endswith(".c") and text.count("\n") > 100 and not has_idea(text):
            yield "%s does not say its idea at the top" % path
        if path.endswith(".h"):
            if not re.match(r"(/\*.*?\*/\s*)?#ifndef (CPROF_(?:\w+_)?H)\n#define \2\n", text, re.S):
                yield "%s has no include guard CPROF_..._H" % path
            if "/*" not in text:
                yield "%s says nothing about its contract" % path


def column_problems():
    for path in tap.sources(".c", ".h", ".cc", ".rs"):
        for number, line in enumerate(tap.read(path).splitlines(), 1):
            if columns(line) > LINE_COLUMNS:
                yield "%s:%d: %d columns" % (path, number, columns(line))
            if line != line.rstrip():
                yield "%s:%d: blanks at the end" % (path, number)
            if path.endswith((".c", ".h")) and re.match(r" {4,}\S", line):
                yield "%s:%d: indented with blanks" % (path, number)


def word_problems():
    names = ["README.md", "NEWS.md", "bootstrap", "meson.build"]
    names = [name for name in names if os.path.exists(os.path.join(tap.ROOT, name))]
    for path in list(tap.sources(*TEXT)) + names:
        for number, line in enumerate(tap.read(path).splitlines(), 1):
            if UNFINISHED.search(line):
                yield "%s:%d: %s" % (path, number, line.strip())


def text_problems():
    """Conflicts of a merge that was committed as it was, and Python that does not even compile."""
    for path in [*tap.sources(""), "bootstrap", "tests/run", "meson.build", "README.md", "NEWS.md"]:
        if "__pycache__" in path:
            continue
        with open(os.path.join(tap.ROOT, path), "rb") as f:
            text = f.read()
        for m in re.finditer(rb"^(<{7}|>{7}) ", text, re.M):
            yield "%s:%d: an unresolved conflict" % (path, text.count(b"\n", 0, m.start()) + 1)
        if re.match(rb"#!.*python", text) or path.endswith(".py"):
            try:
                ast.parse(text)
            except SyntaxError as e:
                yield "%s:%s: %s" % (path, e.lineno, e.msg)


def typedef_problems():
    for path in tap.sources(".c", ".h", folders=("cmd", "lib", "symbolize", "proto")):
        for number, line in enumerate(tap.read(path).splitlines(), 1):
            if re.match(r"\s*typedef\s+(struct|union|enum)\b", line):
                yield "%s:%d: %s" % (path, number, line.strip())


def registered_problems():
    """A test that meson does not know is a test that never runs."""
    for folder in ("lint", "cli", "live"):
        text = tap.read("tests/%s/meson.build" % folder)
        for path in tap.sources(".sh", ".py", folders=("tests/" + folder,)):
            name = os.path.basename(path)
            if name != "tap.py" and "'%s'" % name not in text:
                yield "%s is not in tests/%s/meson.build" % (path, folder)
    known = tap.output("meson", "introspect", "--targets", tap.BUILD)
    for path in tap.sources(".c", folders=("tests/unit", "tests/prog", "tests/fuzz")):
        name = os.path.basename(path)
        runs = name.startswith("test-") or not path.startswith("tests/unit")
        if runs and "/%s\"" % path not in known:
            yield "%s is not built" % path


def top_problems():
    fixed = {"cmd", "lib", "symbolize", "proto", "man", "tests", "meson.build", "README.md",
             "bootstrap", "LICENSE", "NEWS.md", "meson_options.txt"}
    present = set(os.listdir(tap.ROOT))
    for name in sorted(fixed - present):
        yield "%s is missing" % name
    tracked = tap.output("git", "-C", tap.ROOT, "ls-files").split("\n")
    if not tracked[0].startswith("fatal"):
        for name in sorted({t.split("/")[0] for t in tracked if t} - fixed):
            if not name.startswith("."):
                yield "%s does not belong to the top folder" % name


def ci_problems():
    path = os.path.join(tap.ROOT, ".ci/run")
    if not os.stat(path).st_mode & stat.S_IXUSR:
        yield ".ci/run is not executable"
    lines = [line for line in tap.read(".ci/run").splitlines()
             if line and not line.startswith(("#", "set ", "cd "))]
    if lines != ["exec ./bootstrap test"]:
        yield ".ci/run does more than ./bootstrap test: %s" % lines


tap.check(("%s has %d lines" % (p, n_lines(p)) for p in
           tap.sources(".h", folders=("cmd", "lib", "symbolize", "proto"))
           if n_lines(p) > HEADER_LINES and p not in ("lib/cprof.h", "lib/cprof-labels.h")), "headers have at most %d lines" % HEADER_LINES)
tap.check(("%s has %d lines" % (p, n_lines(p)) for p in tap.sources(".c")
           if n_lines(p) > SOURCE_LINES), "source files have at most %d lines" % SOURCE_LINES)
tap.check(unique_problems(), "base names are unique")
tap.check(opening_problems(), "sources of more than 100 lines open with their idea, headers state a contract")
tap.check(column_problems(), "lines have at most %d columns and are indented with tabs" % LINE_COLUMNS)
tap.check(typedef_problems(), "no typedefs for structs")
tap.check(text_problems(), "no merge conflict is unresolved, and all Python scripts compile")
tap.check(word_problems(), "no word says that something is unfinished")
tap.check(registered_problems(), "every test is known to meson")
tap.check(top_problems(), "the top folder holds what it should and nothing else")
tap.check(ci_problems(), ".ci/run only calls ./bootstrap test")
tap.done()
