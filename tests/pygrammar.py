#!/usr/bin/python3
"""Checks the stacks of tests/prog/pygrammar.py in a profile, or of those of another language.

    pygrammar.py [py|php|rb] PROFILE EXPRESSION...

Each expression must be true.  It may use:
    samples         how many there are
    complete        those with all of their Python functions
    innermost       those whose outer functions are unknown
    native          those without functions of the program: Python imports modules when it starts
    wrong           those with functions that the program cannot have
    labels          how many there are by their label py::stack, php::stack or rb::stack
    lines           the known lines of each function, without its family: {"leaf": {8}}
    lineless        functions without a line: a caller's may be unknown
    names           of all functions
"""
import collections
import sys

import pprof

UNKNOWN = "[callers unknown]"
MAIN = {"py": "<module>", "php": "{main}", "rb": "<main>"}
CALLS = ["a", "b", "c", "leaf"]


def path_to(function, driver):
    """The one path that leads to a function, outermost first.  None: there is none."""
    if function in driver:
        return driver[:driver.index(function) + 1]
    kind, _, family = function.rpartition("_")
    if kind not in CALLS:
        return None
    path = driver + [x + "_" + family for x in CALLS]
    return path[:len(driver) + 1 + CALLS.index(kind)]


def is_end_of_path(functions, driver):
    """Are they the last ones, but not all, of the path to the innermost one?"""
    path = path_to(functions[-1], driver)
    return path and len(functions) < len(path) and path[-len(functions):] == functions


def is_of_python(function):
    """Is it one of those that Python executes when it starts?"""
    return function.file.startswith("<frozen ") or "/lib/python3" in function.file


def main(language, path, expressions):
    prefix, driver = language + "::", [MAIN[language], "run"]
    count, labels = collections.Counter(), collections.Counter()
    lines, names, bad = collections.defaultdict(set), set(), collections.Counter()
    profile = pprof.Profile(path)
    for locations, values, label in profile.samples:
        frames = list(profile.stack(locations))
        names |= {f[0] for f in frames}
        python = [f for f in reversed(frames) if f[0].startswith(prefix) or f[0] == UNKNOWN]
        functions = [f[0][len(prefix):] if f[0] != UNKNOWN else UNKNOWN for f in python]
        count["samples"] += values[0]
        labels[label.get(prefix + "stack")] += values[0]
        for name, f in zip(functions, python):
            if "_" in name and f[2]:
                lines[name.rpartition("_")[0]].add(f[2])
            elif "_" in name:
                count["lineless"] += values[0]
        is_starting = any(is_of_python(f[1]) for f in python if f[1])
        others = {f[0].partition("::")[0] for f in frames} & MAIN.keys() - {language}
        if not functions or is_starting or (others and set(functions) == {UNKNOWN}):
            kind = "native"
        elif functions[0] == UNKNOWN:
            is_single = len(functions) == 2
            is_end = is_single or is_end_of_path(functions[1:], driver)
            kind = "innermost" if is_end else "wrong"
        else:
            is_whole = functions == path_to(functions[-1], driver)
            kind = "complete" if is_whole else "wrong"
        count[kind] += values[0]
        if kind == "wrong":
            bad[";".join(functions)] += values[0]
    print("#", dict(count), dict(labels), dict(lines), bad.most_common(5))
    scope = {k: count[k] for k in ("samples", "complete", "innermost", "native", "wrong",
                                    "lineless")}
    scope.update(labels=labels, lines=dict(lines), names=names)
    failed = [e for e in expressions if not eval(e, scope)]
    for e in failed:
        print("# not true:", e)
    return 1 if failed else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    chosen = arguments.pop(0) if arguments[0] in MAIN else "py"
    sys.exit(main(chosen, arguments[0], arguments[1:]))
