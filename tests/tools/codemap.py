#!/usr/bin/python3
"""Compares a JVM's own perf map with what codemap has printed for the same process.

    codemap.py MAP CODEMAP

A line of the map is "START SIZE NAME"; names of methods are as in "void Spin.round(int, long)".
Prints how many entries both have, and how many are equal; those that differ go to stderr.  Code
that has been freed or compiled again between the two is in one of them only.
"""
import sys

PRIMITIVE = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long",
             "S": "short", "Z": "boolean", "V": "void"}


def type_at(text, at):
    """The Java name of the type at a place of a descriptor, and the place after it."""
    arrays = 0
    while text[at] == "[":
        arrays += 1
        at += 1
    if text[at] == "L":
        end = text.index(";", at)
        name = text[at + 1:end].replace("/", ".").replace("+", "/")
    else:
        end, name = at, PRIMITIVE[text[at]]
    return name + "[]" * arrays, end + 1


def external(linkage):
    """pack.Class.name(IJ)V -> void pack.Class.name(int, long)"""
    head, rest = linkage.split("(", 1)
    types, at = [], 0
    while rest[at] != ")":
        name, at = type_at(rest, at)
        types.append(name)
    return "%s %s(%s)" % (type_at(rest, at + 1)[0], head, ", ".join(types))


def main(argv):
    entries = {}
    for line in open(argv[1]):
        start, size, name = line.rstrip("\n").split(" ", 2)
        entries[int(start, 16)] = (int(size, 16), name)
    n_both = n_equal = n_methods = 0
    for line in open(argv[2]):
        start, size, name, linkage = line.rstrip("\n").split("\t")[:4]
        if int(start, 16) not in entries:
            continue
        n_both += 1
        n_methods += linkage != ""
        got = (int(size, 16), external(linkage) if linkage else name)
        if got == entries[int(start, 16)]:
            n_equal += 1
        else:
            print("%s: %s instead of %s" % (start, got, entries[int(start, 16)]), file=sys.stderr)
    print("map %d both %d methods %d equal %d" % (len(entries), n_both, n_methods, n_equal))


if __name__ == "__main__":
    main(sys.argv)
