#!/usr/bin/python3
"""Prints a counter of the state of cprof push, or 0: pushstate.py FILE NAME"""
import re
import sys


def main():
    with open(sys.argv[1], errors="replace") as f:
        slots = [s for s in f.read().split("cprof-push=1\n") if "checksum=" in s]
    newest = max(slots, key=lambda s: int(re.search(r"^generation=(\d+)", s, re.M).group(1)))
    m = re.search(r"^(?:loss\.)?%s=(\d+)" % re.escape(sys.argv[2]), newest, re.M)
    print(m.group(1) if m else 0)


if __name__ == "__main__":
    main()
