#!/usr/bin/python3
"""Compares the names of JIT code in a profile with those of the perf map that V8 wrote meanwhile.

    jsmap.py PROFILE MAP

Prints how many samples of frames have an entry in the map, and how many of these have the same name
and line there.  Lines with differences go to stderr.  The newest entry at an address counts.
"""
import bisect
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pprof  # noqa: E402  (a neighbour)

ENTRY = re.compile(r"([0-9a-f]+) ([0-9a-f]+) (?:\w+:)?(?:o?[*~^+]+'?)?(.*)$")
SCRIPT = re.compile(r"(.*?) ?((?:file://|node:|/)\S*|\S+\.\w?js):(\d+):\d+$")


def entries(path):
    """[(start, end, name, file, line)] in the order of the file."""
    with open(path, errors="replace") as f:
        for line in f:
            m = ENTRY.match(line.rstrip("\n"))
            s = SCRIPT.match(m.group(3)) if m else None
            if s:
                start = int(m.group(1), 16)
                file = re.sub("^file://", "", s.group(2))
                name = s.group(1) or f"(anonymous {os.path.basename(file)}:{s.group(3)})"
                yield start, start + int(m.group(2), 16), name, file, int(s.group(3))


def newest(path):
    """A function that finds the newest entry at an address."""
    pieces = []     # sorted, not overlapping
    for new in entries(path):
        i = bisect.bisect_left(pieces, (new[0],))
        i -= i > 0 and pieces[i - 1][1] > new[0]
        n = i
        while n < len(pieces) and pieces[n][0] < new[1]:
            n += 1
        pieces[i:n] = [new]

    def find(address):
        i = bisect.bisect_right(pieces, (address, 1 << 64)) - 1
        return pieces[i][2:] if i >= 0 and pieces[i][0] <= address < pieces[i][1] else None
    return find


def main(profile, perf_map):
    find = newest(perf_map)
    same = known = unnamed = 0
    different = collections.Counter()
    p = pprof.Profile(profile)
    for locations, values, _ in p.samples:
        for location in locations:
            want = find(location.address)
            if not want or not location.mapping or "[jit]" not in location.mapping.file:
                continue
            known += values[0]
            function = location.lines[-1][0] if location.lines else None
            got = function and (function.name, function.file, function.start_line)
            if got == want:
                same += values[0]
            elif not got or got[0].startswith("[jit]"):
                unnamed += values[0]
            else:
                different[(got, want)] += values[0]
    print(f"frames {known} same {same} unnamed {unnamed} different {sum(different.values())}")
    for (got, want), n in different.most_common(20):
        print(n, got, "instead of", want, file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
