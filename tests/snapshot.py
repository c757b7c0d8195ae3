#!/usr/bin/python3
"""Compares snapshots of tests/prog/blocked with what its threads do.

    snapshot.py FILE.json EXPRESSION...

Each expression must be true.  It may use:
    entries         all entries
    wrong           (name, stack, quality) of those whose stack the program cannot have
    unmarked        those of them that are neither truncated nor heuristic
    count(NAME)     how many threads have the name
    of(NAME)        their entries
    quality, lost   the numbers of the file
    right           how many stacks are complete and right
"""
import json
import sys

CHAIN = ["f1", "f2", "f3", "f4", "f5", "thread_main"]
KINDS = ["futex", "read", "epoll", "nanosleep", "poll", "eventfd", "inotify", "select", "semaphore", "recv", "recvlimit",
         "accept", "sigwait", "semop", "msgrcv", "pause", "handler", "deep", "waitpid", "vfork"]
# What libraries add is not compared: only the functions of the program itself.
OWN = set(CHAIN) | {"in_" + k for k in KINDS} | {"handler", "deep", "level", "nap1", "nap2", "nap3", "mover_main", "spinning",
                                                "spinner_main", "main"}


def own_stack(entry):
    return [f["function"] for f in entry["frames"] if f["function"] in OWN]


def expected(name):
    """The stacks that a thread of this name can have."""
    if name in ("handler", "deep"):
        inner = ["in_read", "handler", "in_handler"] if name == "handler" else ["in_read"] + ["deep"] * 41 + ["in_deep"]
        return [inner + CHAIN]
    if name == "mover":
        return [["nap%d" % n] + ["level"] * n + ["mover_main"] for n in (1, 2, 3)]
    if name == "spinner":
        return [["spinning", "spinner_main"]]
    return [["in_" + name] + CHAIN] if name in KINDS else [["main"]]


def is_prefix_free(stack, name):
    """Between two naps a mover is in level, in its main function, or leaves a nap."""
    if name != "mover":
        return False
    levels = stack.count("level")
    return stack[-1:] == ["mover_main"] and levels <= 3 and stack == ["level"] * levels + ["mover_main"] or \
        any(stack == s for s in expected(name))


with open(sys.argv[1]) as f:
    file = json.load(f)
entries, quality, lost = file["entries"], file["quality"], file["lost"]
for e in entries:
    e["own"] = own_stack(e)
    e["quality"] = e["labels"]["snapshot"]
known = [e for e in entries if e["quality"] != "unknown"]
wrong = [(e["name"], e["own"], e["quality"]) for e in known
         if e["own"] not in expected(e["name"]) and not is_prefix_free(e["own"], e["name"])]
unmarked = [(e["name"], e["own"], e["quality"]) for e in known if (e["name"], e["own"], e["quality"]) in wrong
            and e["quality"] != "heuristic" and "[truncated]" not in [f["function"] for f in e["frames"]]]
right = sum(e["own"] in expected(e["name"]) for e in known)


def of(name):
    return [e for e in entries if e["name"] == name]


def count(name):
    return len(of(name))


failed = [x for x in sys.argv[2:] if not eval(x)]
for x in failed:
    print("not true:", x)
if failed:
    print("quality:", quality, "lost:", lost, "right:", right, "of", len(entries))
    for w in wrong[:10]:
        print("wrong:", *w)
sys.exit(bool(failed))
