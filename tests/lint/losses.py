#!/usr/bin/python3
"""The man pages list the losses of the table in lib/profile/losses.c, and no others."""
import re

import tap

ROW = re.compile(r'\{ \{ "(\w+)", ((?:"[^"]*"\s*)+),.*?\b(ABSENT|VERBOSE|MANY|SHOWN|STRICT), '
                 r'(ABSENT|VERBOSE|MANY|SHOWN|STRICT), (?:true|false) \}', re.S)


def rows():
    """(key, words, level in record, level in import) of each row."""
    for m in ROW.finditer(tap.read("lib/profile/losses.c")):
        yield m.group(1), "".join(re.findall(r'"([^"]*)"', m.group(2))), m.group(3), m.group(4)


def section(text, title):
    return text.split("\n.Sh %s\n" % title, 1)[1].split("\n.Sh ", 1)[0]


def listed_keys(page, anchor):
    """The words of the list that follows the anchor, up to its full stop."""
    text = page.split(anchor, 1)[1].split(":\n", 1)[1]
    return re.split(r",\s*", re.split(r"\.\n", text, maxsplit=1)[0])


def key_problems(page, anchor, level):
    have = listed_keys(tap.read("man/" + page), anchor)
    want = [row[0] for row in table if row[level] != "ABSENT"]
    if have != want:
        yield "%s: listed %s" % (page, " ".join(have))
        yield "%s: table  %s" % (page, " ".join(want))


def paragraph_problems():
    tags = {}
    for tag in re.findall(r"^\.It (.*)$", section(tap.read("man/cprof-record.1"), "LOSSES"), re.M):
        strict, names = re.match(r"(\+ )?(.*)", tag).groups()
        for name in re.split(r", (?!which)", names):
            tags[name] = bool(strict)
    for key, words, level, _ in table:
        if level == "ABSENT":
            continue
        tag = [t for t in tags if words.startswith(t)]
        if not tag:
            yield "no paragraph for '%s'" % words
            continue
        name = max(tag, key=len)
        if tags.pop(name) != (level == "STRICT"):
            yield "%s: '+' must mean that --strict fails" % name
    for name in tags:
        yield "'%s' is not in the table" % name


table = list(rows())
tap.check([] if len(table) == tap.read("lib/profile/losses.c").count("\n\t{ { ") and len(table) > 20 else
          ["%d rows found" % len(table)], "the table can be read")
tap.check(paragraph_problems(), "cprof-record(1) describes each loss, and marks what --strict forbids")
tap.check(key_problems("cprof-record.1", ".It losses\n", 2), "cprof-record(1) lists the keys of 'losses'")
tap.check(key_problems("cprof-import.1", ".Ql notes\n", 3), "cprof-import(1) lists the keys of 'notes'")
tap.done()
