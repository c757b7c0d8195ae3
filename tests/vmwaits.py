#!/usr/bin/python3
"""Compares a snapshot with what a waiting program has written about its own stack.

    vmwaits.py PREFIX OWN-STACK SNAPSHOT EXPRESSION...

PREFIX is that of functions ("php::"), OWN-STACK a JSON list of [function, file, line], innermost
first, and SNAPSHOT the JSON of `cprof snapshot`.  Each expression must be true.  It may use:
    equal           threads whose functions are those
    others          threads with other functions
    functions       what the snapshot says of functions
    labels          their labels PREFIX + "stack"
    native          the names of other functions of the thread
"""
import json
import sys

prefix, own_path, snapshot_path = sys.argv[1:4]
with open(own_path) as f:
    own = [[prefix + name, file, line] for name, file, line in json.load(f)]
with open(snapshot_path) as f:
    snapshot = json.load(f)
equal = others = 0
native, labels = set(), set()
for entry in snapshot["entries"]:
    frames = entry["frames"]
    found = [[f["function"], f.get("file"), f.get("line")] for f in frames if (f.get("function") or "").startswith(prefix)]
    native |= {f.get("function") for f in frames} - {f[0] for f in found}
    labels.add(entry["labels"].get(prefix + "stack"))
    equal += found == own
    others += bool(found) and found != own
    if found != own:
        for pair in zip(found, own):
            if pair[0] != pair[1]:
                print("#", pair)
        print("#", len(found), "functions of", len(own))
functions = snapshot["functions"]
print("#", equal, others, functions, labels)
failed = [e for e in sys.argv[4:] if not eval(e)]
for e in failed:
    print("# not true:", e)
sys.exit(1 if failed else 0)
