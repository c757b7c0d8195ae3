#!/usr/bin/python3
"""Checks what the stand-in of tests/pushserver.py has taken.

    pushlog.py FOLDER EXPRESSION...     status 1, and the values, unless all expressions are true

An expression sees:
    n           the labels n of the profiles in the order in which they were taken
    once        no profile was taken twice
    ordered     they came in the order of their numbers
    missing(a, b)   how many of the numbers a to b were not taken
    lost        the sum of what the pusher has reported as lost
    lost_total  what its last report says of all losses
    requests    the number of requests
    sums(t)     the sum of the sample type t over all profiles of services
    profiles    the profiles as dictionaries
    refused     what the rules have refused
"""
import json
import os
import sys


def lines(folder, name):
    try:
        with open(os.path.join(folder, name)) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def main():
    folder = sys.argv[1]
    log = [json.loads(line) for line in lines(folder, "log")]
    services = [p for p in log if "lost" not in p["types"]]
    reports = [p for p in log if "lost" in p["types"]]
    n = [int(p["n"]) for p in services if p.get("n") is not None]
    seen = {
        "n": n, "once": len(set(n)) == len(n), "ordered": n == sorted(n),
        "missing": lambda a, b: len(set(range(a, b + 1)) - set(n)),
        "lost": sum(p["sums"][p["types"].index("lost")] for p in reports),
        "lost_total": reports[-1]["sums"][reports[-1]["types"].index("lost_total")] if reports else 0,
        "requests": len(lines(folder, "requests")),
        "sums": lambda t: sum(p["sums"][p["types"].index(t)] for p in services),
        "profiles": services, "refused": lines(folder, "refused"),
    }
    failed = 0
    for expression in sys.argv[2:]:
        if not eval(expression, seen):
            failed = 1
            print("false: " + expression)
    if failed:
        print("%d taken; the first ones: %s; lost: %s; requests: %d; refused: %s" % (
            len(n), n[:20], seen["lost"], seen["requests"], seen["refused"][:3]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
