#!/usr/bin/python3
"""The pages about the code are true: rooms, arrows, files and functions that they name exist."""
import os
import re

import layers
import tap

PAGES = ("man/cprof-internals.7", "man/cprof-stacks.7", "man/cprof-symbols.7")
TESTS_PAGE = "man/cprof-security.7"
# Placeholders in instructions.
NAMES = re.compile(r"NAME|PID|RELEASE")


def rooms_in_page():
    """room -> what it may include, from the lines `room -> a b c` of the section ROOMS."""
    text = tap.read(PAGES[0])
    section = text[text.index(".Sh ROOMS"):]
    block = section[section.index(".Bd -literal"):section.index(".Ed")]
    rooms, room = {}, None
    for line in block.splitlines()[1:]:
        m = re.match(r"(\S+) +-> (.*)$", line)
        if m:
            room = m.group(1)
            rooms[room] = m.group(2).split()
        elif room and line.strip():
            rooms[room] += line.split()
    return rooms


def room_problems():
    page, table = rooms_in_page(), layers.ALLOWED
    for room in sorted(set(page) | set(table)):
        if not os.path.isdir(os.path.join(tap.ROOT, room)):
            yield "%s is not a folder" % room
        for other in sorted(set(page.get(room, ())) - set(table.get(room, ()))):
            yield "%s -> %s is in the page, but not in layers.py" % (room, other)
        for other in sorted(set(table.get(room, ())) - set(page.get(room, ()))):
            yield "%s -> %s is in layers.py, but not in the page" % (room, other)


def all_files():
    for folder in ("cmd", "lib", "symbolize", "proto", "man", "tests"):
        for path, folders, names in os.walk(os.path.join(tap.ROOT, folder)):
            for name in folders + names:
                yield os.path.relpath(os.path.join(path, name), tap.ROOT)


def file_problems():
    """Every path, and every name of a source file, in the pages and in the table of tests."""
    paths = set(all_files()) | {"cmd", "lib", "symbolize", "proto", "man", "tests", "bootstrap"}
    names = {os.path.basename(p) for p in paths}
    for page in PAGES + (TESTS_PAGE,):
        for number, line in enumerate(tap.read(page).splitlines(), 1):
            found = re.findall(r"(?:\.Pa|Pa) ([^()]*)", line)
            words = " ".join(found).replace(",", " ").split() if found else []
            words = [w.rstrip(".;:") for w in words if re.match(r"(cmd|lib|symbolize|proto|man|tests)\b", w)]
            words += re.findall(r"(?<![\w/.-])[\w.-]+\.[ch]\b", line)
            for word in words:
                known = word in paths if "/" in word else word in names
                if not known and not NAMES.search(word):
                    yield "%s:%d: there is no '%s'" % (page, number, word)


def function_problems():
    """Functions and structs in the pages, except those of other projects."""
    foreign = {"assert", "argp_parse", "runtime.systemstack"}
    source = "\n".join(tap.read(p) for p in tap.sources(".c", ".h", folders=("cmd", "lib", "symbolize", "proto")))
    words = set(re.findall(r"\w+", source))
    for page in PAGES:
        for number, line in enumerate(tap.read(page).splitlines(), 1):
            for name in re.findall(r"\bFn (\S+)", line) + re.findall(r'Vt "?(?:const )?(?:struct|enum) (\w+)', line):
                name = name.strip('".,')
                if name not in words and name not in foreign:
                    yield "%s:%d: there is no '%s' in the code" % (page, number, name)


tap.check(room_problems(), "the rooms and arrows of cprof-internals(7) are those of layers.py")
tap.check(file_problems(), "every file that the pages name exists")
tap.check(function_problems(), "every function and type that the pages name exists")
tap.done()
