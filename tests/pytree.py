#!/usr/bin/python3
"""Checks the stacks of tests/prog/pytree.py in a profile, where functions' names say who calls them.

    pytree.py PROFILE EXPRESSION...

Each expression must be true.  It may use:
    samples     how many there are
    known       those with the callers of all functions
    innermost   those with unknown callers
    wrong       those with callers that the program cannot have
"""
import collections
import sys

import pprof


def caller_of(name):
    """The function that calls this one; None: any may."""
    if not name.startswith("f_") or "<" in name:
        return None
    base = name[:-2] if name.endswith("_g") else name
    parent = base.rpartition("_")[0]
    return None if parent == "f" else parent


def is_possible(functions):
    """Outermost first.  Comprehensions may be functions of their own, and generators are between."""
    named = [f for f in functions if "<" not in f]
    for outer, name in zip(named, named[1:]):
        expected = caller_of(name)
        if expected and outer not in (expected, name + "_g"):
            return False
    return True


def main(path, expressions):
    count, bad = collections.Counter(), collections.Counter()
    profile = pprof.Profile(path)
    for locations, values, label in profile.samples:
        names = [f[0][4:] for f in profile.stack(locations) if f[0].startswith("py::")]
        quality = label.get("py::stack")
        count["samples"] += values[0]
        count["innermost"] += values[0] * (quality == "innermost")
        if quality not in ("exact", "remembered"):
            continue
        count["known"] += values[0]
        if not is_possible(names[::-1]):
            count["wrong"] += values[0]
            bad[";".join(names[::-1][-5:])] += values[0]
    print("#", dict(count), bad.most_common(5))
    scope = {k: count[k] for k in ("samples", "known", "innermost", "wrong")}
    failed = [e for e in expressions if not eval(e, scope)]
    for e in failed:
        print("# not true:", e)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
