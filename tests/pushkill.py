#!/usr/bin/python3
"""Starts a command again and again, and kills it at random moments.

    pushkill.py [--changes K] [--late S] N FILE COMMAND...

Prints "N kills", and how many had ended before.
Every second kill comes some milliseconds after FILE has changed K times (1), or after two seconds, so
that something is done even on a busy machine; the others come at any time after the start, up to S
seconds (0.1).
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time


def stamp(path):
    try:
        st = os.stat(path)
        return st.st_ino, st.st_size, st.st_mtime_ns
    except FileNotFoundError:
        return None


def wait_for_changes(path, n, before, p):
    until = time.monotonic() + 2
    while n > 0 and time.monotonic() < until and p.poll() is None:
        now = stamp(path)
        n -= now != before
        before = now
        time.sleep(0.0005)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--changes", type=int, default=1)
    parser.add_argument("--late", type=float, default=0.1)
    parser.add_argument("n", type=int)
    parser.add_argument("file")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    seed = time.time_ns()
    rng = random.Random(seed)
    print("seed", seed)
    ended = 0
    for i in range(args.n):
        before = stamp(args.file)
        p = subprocess.Popen(args.command)
        if i % 2 and args.file != "-":
            wait_for_changes(args.file, args.changes, before, p)
            time.sleep(rng.random() * 0.01)
        else:
            # Most of the work is done in the first milliseconds after a start.
            time.sleep(rng.choice((rng.random() * 0.02, rng.random() * args.late)))
        ended += p.poll() is not None
        p.send_signal(signal.SIGKILL)
        p.wait()
    print("%d kills, %d had ended" % (args.n, ended))


if __name__ == "__main__":
    main()
