#!/usr/bin/python3
"""sameprofile.py A B: are two pprof files the same except for ids and order?

Compares samples with their labels, addresses, lines, functions and mappings.  Samples without a stack
do not count, because pprof drops them.  Prints differences; status 1 if there are any.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pprof  # noqa: E402


def place(location):
    m = location.mapping
    lines = tuple((f.name, f.system_name, f.file, f.start_line, line)
                  for f, line in location.lines)
    return ((m.file, m.build_id) if m else None, location.address, lines)


def content(path):
    p = pprof.Profile(path)
    samples = collections.defaultdict(lambda: [0] * len(p.sample_types))
    for locations, values, labels in p.samples:
        key = (tuple(place(x) for x in locations), repr(sorted(labels.items())))
        samples[key] = [a + b for a, b in zip(samples[key], values)]
    head = (p.sample_types, p.period_type, p.period, p.time_nanos, p.duration_nanos,
            sorted(p.comments))
    return head, {k: v for k, v in samples.items() if any(v) and k[0]}


ours, theirs = content(sys.argv[1]), content(sys.argv[2])
if ours[0] != theirs[0]:
    print("heads differ:\n  %s\n  %s" % (ours[0], theirs[0]))
for key in list(set(ours[1]) | set(theirs[1])):
    if ours[1].get(key) != theirs[1].get(key):
        print("%s\n  %s, not %s" % (key, ours[1].get(key), theirs[1].get(key)))
        break
print("%d samples" % len(ours[1]))
sys.exit(ours != theirs)
