#!/usr/bin/python3
"""Starts a command again and again, and kills it at random moments.

    pushkill.py N COMMAND...    prints "N kills", and how many it had ended before
"""
import random
import signal
import subprocess
import sys
import time


def main():
    n, command = int(sys.argv[1]), sys.argv[2:]
    rng = random.Random(time.time_ns())
    print("seed", rng.random())
    ended = 0
    for _ in range(n):
        p = subprocess.Popen(command)
        # Most of the work is done in the first milliseconds after a start.
        time.sleep(rng.choice((rng.random() * 0.02, rng.random() * 0.1)))
        ended += p.poll() is not None
        p.send_signal(signal.SIGKILL)
        p.wait()
    print("%d kills, %d had ended" % (n, ended))


if __name__ == "__main__":
    main()
