#!/usr/bin/python3
"""Compares a snapshot of tests/prog/pywaits.py with what Python itself says.

    pywaits.py OWN.json SNAPSHOT.json EXPRESSION...

Each expression must be true.  It may use:
    equal           waiting threads whose Python frames are those of OWN.json, with file and line
    waiting         how many there are
    wrong           Python stacks of other threads that the program cannot have
    movers, unknown how many moving threads have Python frames, and have not
    spinners        how many spinning threads have Python frames
    native          names of native functions on any stack
    python          the part of the snapshot about Python
    labels          values of the label py::stack
"""
import json
import sys

RUN = ["Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]
NAP2 = ["nap2.<locals>.<lambda>", "nap2", "moving"]


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


own, snapshot = load(sys.argv[1]), load(sys.argv[2])
python = snapshot["functions"]
prefix = "py::"


def python_frames(entry):
    return [[f["function"][len(prefix):], f.get("file", ""), f.get("line", 0)]
            for f in entry["frames"] if f["function"].startswith(prefix)]


def plain(name):
    return name.split(".")[-1]


equal, waiting, movers, spinners, unknown, wrong, native = 0, len(own), 0, 0, 0, [], set()
labels = {e["labels"].get("py::stack") for e in snapshot["entries"]}
legal = [x + RUN for x in (["moving"], ["nap1", "moving"], NAP2, NAP2[1:])]
for e in snapshot["entries"]:
    got = python_frames(e)
    native |= {f["function"] for f in e["frames"] if not f["function"].startswith(prefix)}
    want = own.get(str(e["tid"]))
    if want:
        equal += got == want
        if got != want and len(wrong) < 5:
            wrong.append("tid %d" % e["tid"])
            print("# tid", e["tid"], "got", got[:4], "not", want[:4])
        continue
    names = [plain(f[0]) for f in got]
    if not names:
        unknown += e["labels"].get("py::stack") == "unknown"
    elif "spinning" in names:
        spinners += 1
        if names not in ([plain(n) for n in x + RUN] for x in (["spinning"], ["spin", "spinning"])):
            wrong.append(names)
    elif "moving" in names:
        movers += 1
        if names not in ([plain(n) for n in x] for x in legal):
            wrong.append(names)
failed = [x for x in sys.argv[3:] if not eval(x)]
for x in failed:
    print("not true:", x)
if failed:
    print("equal", equal, "of", waiting, "movers", movers, "spinners", spinners, "unknown", unknown, "wrong", wrong[:5],
          python, labels, sorted(native)[:20])
sys.exit(bool(failed))
