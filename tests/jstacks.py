#!/usr/bin/python3
"""Compares the Java functions of a snapshot with the stacks that the JVM prints of its threads.

    jstacks.py THREADS SNAPSHOT

THREADS is the output of "jcmd PID Thread.print", SNAPSHOT that of "cprof snapshot".  Prints how many
threads have the same functions, files and lines in both, of all those in which THREADS has some, and
what differs.  Succeeds if there are at least six and all are equal.
"""
import re
import sys

PRINTED = re.compile(r"\tat ([\w.$<>/]+)\((?:[^/)]*/)?(?:([\w.]+):(\d+)|Native Method)\)$")
SHOWN = re.compile(r" +at (\S+) \((\w+\.java)(?::(\d+))?\)(?: \[inlined\])?$")


def printed(path):
    """{tid: [(function, line)]}; line 0: a native method."""
    stacks = {}
    tid = None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            thread = re.match(r'".*\bnid=(\w+)', line)
            frame = PRINTED.match(line)
            if thread:
                tid = int(thread.group(1), 0)
            elif frame and tid is not None:
                stacks.setdefault(tid, []).append((frame.group(1), int(frame.group(3) or 0)))
    return stacks


def shown(path):
    """The same."""
    stacks = {}
    tid = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            thread = re.match(r'".*" tid (\d+)', line)
            frame = SHOWN.match(line.rstrip("\n"))
            if thread:
                tid = int(thread.group(1))
            elif frame:
                stacks.setdefault(tid, []).append((frame.group(1), int(frame.group(3) or 0)))
    return stacks


def main(threads, snapshot):
    want, got = printed(threads), shown(snapshot)
    equal = sum(want[tid] == got.get(tid) for tid in want)
    print(f"{equal} of {len(want)} threads are equal, with {sum(map(len, want.values()))} functions")
    for tid in want:
        for pair in zip(want[tid], got.get(tid, [("-", 0)])):
            if pair[0] != pair[1]:
                print("tid %d: %s, not %s" % (tid, *pair))
    return 0 if equal == len(want) >= 6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
