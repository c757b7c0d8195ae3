#!/usr/bin/python3
"""Compares two texts of goroutines: gowaits.py OWN OTHER, or gowaits.py --possible OTHER N

OWN is what the program gowaits wrote about itself (runtime.Stack), OTHER what cprof snapshot
--format=go2 wrote. Equal means: the same state, the same functions with files and lines, inlined ones
included, and the same creator. The goroutine that wrote OWN is left out, as it did other things by
then. The second form is for N goroutines of the modes move and churn: each of their stacks must be
one that the program can have, and all but one of a thousand must have one. Prints the counts; ends with 1 if something differs.
"""
import re
import sys

HEAD = re.compile(r"goroutine (\d+) .*?\[(.*)\](?: \{.*\})?:$")
MINUTES = re.compile(r", \d+ minutes")
ELIDED = re.compile(r"\.\.\.(\d+|additional) frames elided\.\.\.$")


class Goroutine:
    def __init__(self, state):
        self.state = MINUTES.sub("", state)
        self.frames = []
        self.elided = None
        self.creator = None


def parse(path):
    all_of_them, g, lines = {}, None, open(path, encoding="utf-8").read().split("\n")
    for i, line in enumerate(lines):
        head = HEAD.match(line)
        place = lines[i + 1].strip().split(" +0x")[0] if i + 1 < len(lines) else ""
        if head:
            g = all_of_them[int(head[1])] = Goroutine(head[2])
        elif ELIDED.match(line):
            g.elided = len(g.frames)
        elif line.startswith("created by "):
            g.creator = (line[len("created by "):], place)
        elif line and not line.startswith("\t"):
            # "./": debug information has a folder for files that have none
            g.frames.append((line.rsplit("(", 1)[0], re.sub(r"^(\./)+", "", place)))
    return all_of_them


def same_frames(own, other):
    n = own.elided
    # Go before 1.21 may simply end after 100 frames, of which it has not shown a few.
    if n is None and 90 < len(own.frames) < len(other.frames):
        n = len(own.frames)
    if n is None:
        return own.frames == other.frames
    rest = own.frames[n:]
    return own.frames[:n] == other.frames[:n] and rest == other.frames[len(other.frames) - len(rest):]


# What main.move and main.churn call; time and runtime functions are further in.
POSSIBLE = re.compile(
    r"(main\.nap )?(main\.(first|second) |(main\.third )+)?main\.(move|churn)( main\.main\.func\d+)?$")


def possible(path, n):
    count = {"goroutines": 0, "possible": 0, "without": 0}
    for goid, g in parse(path).items():
        names = [name for name, _ in g.frames if name.startswith("main.")]
        if names and names[-1] in ("main.main", "main.attend"):
            continue
        count["goroutines"] += 1
        if not names:
            count["without"] += 1
            continue
        text = " ".join(names)
        is_possible = POSSIBLE.match(text) and not text.startswith("main.nap main.move")
        count["possible"] += bool(is_possible)
        if not is_possible:
            print(f"# goroutine {goid}: {text[:300]}")
    print(" ".join(f"{k}={v}" for k, v in count.items()))
    return (count["goroutines"] < n or count["without"] > max(1, n // 1000) or
            count["possible"] + count["without"] != count["goroutines"])


def main():
    if sys.argv[1] == "--possible":
        return possible(sys.argv[2], int(sys.argv[3]))
    own, other = parse(sys.argv[1]), parse(sys.argv[2])
    count = {"goroutines": 0, "equal": 0, "state": 0, "frames": 0, "creator": 0, "missing": 0}
    for goid, g in sorted(own.items()):
        if any(name == "main.attend" for name, _ in g.frames):
            continue
        count["goroutines"] += 1
        o = other.get(goid)
        if not o:
            count["missing"] += 1
            continue
        different = [what for what, is_same in (
            ("state", g.state == o.state), ("frames", same_frames(g, o)),
            ("creator", g.creator == o.creator)) if not is_same]
        count["equal"] += not different
        for what in different:
            count[what] += 1
            if count[what] <= 3:
                a, b = getattr(g, what), getattr(o, what)
                print(f"# goroutine {goid}: {what}: {str(a)[:600]}\n# is not {str(b)[:600]}")
    print(" ".join(f"{k}={v}" for k, v in count.items()))
    return count["equal"] != count["goroutines"] or count["goroutines"] < 20


if __name__ == "__main__":
    sys.exit(main())
