#!/usr/bin/python3
"""Checks the stacks of tests/prog/pygrammar.py in a profile.

    pygrammar.py PROFILE EXPRESSION...

Each expression must be true.  It may use:
    samples         how many there are
    complete        those with all of their Python functions
    innermost       those whose outer functions are unknown
    native          those without Python functions
    wrong           those with functions that the program cannot have
    labels          how many there are by their label py::stack
    lines           the lines of each function, without its family: {"leaf": {8}}
    names           of all functions
"""
import collections
import sys

import pprof

PREFIX, UNKNOWN = "py::", "[callers unknown]"
DRIVER = ["<module>", "run"]
CALLS = ["a", "b", "c", "leaf"]


def is_possible(functions):
    """Outermost first: a beginning of the one path that leads to the last one."""
    if functions[-1] in DRIVER:
        return functions == DRIVER[:len(functions)]
    kind, _, family = functions[-1].rpartition("_")
    if kind not in CALLS:
        return False
    path = DRIVER + [x + "_" + family for x in CALLS]
    return functions == path[:DRIVER.index("run") + 2 + CALLS.index(kind)]


def main(path, expressions):
    count, labels = collections.Counter(), collections.Counter()
    lines, names, bad = collections.defaultdict(set), set(), collections.Counter()
    profile = pprof.Profile(path)
    for locations, values, label in profile.samples:
        frames = list(profile.stack(locations))
        names |= {f[0] for f in frames}
        python = [f for f in reversed(frames) if f[0].startswith(PREFIX) or f[0] == UNKNOWN]
        functions = [f[0][len(PREFIX):] if f[0] != UNKNOWN else UNKNOWN for f in python]
        count["samples"] += values[0]
        labels[label.get("py::stack")] += values[0]
        for name, f in zip(functions, python):
            if "_" in name:
                lines[name.rpartition("_")[0]].add(f[2])
        if not functions:
            kind = "native"
        elif functions[0] == UNKNOWN:
            kind = "innermost" if len(functions) == 2 else "wrong"
        else:
            kind = "complete" if is_possible(functions) else "wrong"
        count[kind] += values[0]
        if kind == "wrong":
            bad[";".join(functions)] += values[0]
    print("#", dict(count), dict(labels), dict(lines), bad.most_common(5))
    scope = {k: count[k] for k in ("samples", "complete", "innermost", "native", "wrong")}
    scope.update(labels=labels, lines=dict(lines), names=names)
    failed = [e for e in expressions if not eval(e, scope)]
    for e in failed:
        print("# not true:", e)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
