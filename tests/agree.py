#!/usr/bin/python3
"""Do two profiles of the same program agree?

    agree.py A.pb.gz B.pb.gz [MINIMUM]

The share of each function, as a leaf and anywhere in the stack, differs by at most 5 standard errors.
Functions below MINIMUM (default: 0.02) in both are ignored.
"""
import math
import sys

import pprof


def shares(path):
    """number of samples, {function: share} as leaf and anywhere"""
    p = pprof.Profile(path)
    total, found = 0, {}
    for locations, values, _ in p.samples:
        total += values[0]
        names = [line[0].name for l in locations for line in l.lines]
        for key in {("leaf", names[0] if names else "?")} | {("any", x) for x in names}:
            found[key] = found.get(key, 0) + values[0]
    return total, found


def main():
    minimum = float(sys.argv[3]) if len(sys.argv) > 3 else 0.02
    (n, a), (m, b) = shares(sys.argv[1]), shares(sys.argv[2])
    failed = n < 100 or m < 100
    print("%d and %d samples" % (n, m))
    for key in sorted(set(a) | set(b)):
        x, y = a.get(key, 0), b.get(key, 0)
        if max(x / n, y / m) < minimum:
            continue
        p = (x + y) / (n + m)
        error = math.sqrt(p * (1 - p) * (1 / n + 1 / m)) + 1 / n + 1 / m
        far = abs(x / n - y / m) > 5 * error
        failed |= far
        print("%s %s %s: %.4f and %.4f, %.1f standard errors" %
              ("!" if far else " ", *key, x / n, y / m, abs(x / n - y / m) / error))
    sys.exit(1 if failed else 0)


main()
