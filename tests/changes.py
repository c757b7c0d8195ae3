#!/usr/bin/python3
"""Compares snapshots of tests/prog/changes with what its threads can have been doing.

    changes.py TIDS N FILE.json...

TIDS has a line "SIDE TID" for each thread that the program has had. Each stack must be one that its
thread can have, at least N must show functions of the program, and none may have frames that are in no
mapping, or a failure that is not the end of a thread.
"""
import collections
import json
import sys

CHAINS = [["nap", "f1", "f2", "f3", "thread"], ["nap", "execs"], ["exits"], ["nap", "users"],
          ["nap", "starts"], ["burns", "maps"]]


def is_possible(own, allowed):
    sides = {name.split("_")[0] for name in own}
    rest = [name.split("_")[1] for name in own]
    return len(sides) == 1 and sides <= allowed and any(chain[-len(rest):] == rest for chain in CHAINS)


def main():
    sides, count, wrong = collections.defaultdict(set), collections.Counter(), []
    with open(sys.argv[1], encoding="ascii") as f:
        for line in f:
            side, tid = line.split()
            sides[int(tid)].add(side)
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as f:
            file = json.load(f)
        for reason, n in file["lost"].items():
            if n and reason not in ("ended", "moving", "starved"):
                wrong.append((path, reason, n))
        for e in file["entries"]:
            names = [x["function"] for x in e["frames"]]
            own = [name for name in names if name.startswith(("even_", "odd_"))]
            count[e["labels"]["snapshot"]] += 1
            count["of the program"] += bool(own)
            if own and not is_possible(own, sides[e["tid"]] or {"even", "odd"}) or "[unknown]" in names:
                wrong.append((path, e["tid"], e["labels"]["snapshot"], *names))
    print(dict(count))
    for w in wrong[:10]:
        print("wrong:", *w)
    return bool(wrong) or count["of the program"] < int(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
