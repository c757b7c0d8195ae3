#!/usr/bin/python3
"""Starts a command again and again, and kills it at random moments.

    pushkill.py N FILE COMMAND...    prints "N kills", and how many had ended before

Every second kill comes some milliseconds after FILE has grown, or after two seconds, so that something
is done even on a busy machine; the others come at any time after the start.
"""
import os
import random
import signal
import subprocess
import sys
import time


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def main():
    n, path, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    seed = time.time_ns()
    rng = random.Random(seed)
    print("seed", seed)
    ended = 0
    for i in range(n):
        before = size(path)
        p = subprocess.Popen(command)
        if i % 2 and path != "-":
            until = time.monotonic() + 2
            while size(path) == before and time.monotonic() < until and p.poll() is None:
                time.sleep(0.0005)
            time.sleep(rng.random() * 0.01)
        else:
            # Most of the work is done in the first milliseconds after a start.
            time.sleep(rng.choice((rng.random() * 0.02, rng.random() * 0.1)))
        ended += p.poll() is not None
        p.send_signal(signal.SIGKILL)
        p.wait()
    print("%d kills, %d had ended" % (n, ended))


if __name__ == "__main__":
    main()
