#!/usr/bin/python3
"""A small valid profile, and variants with one defect each, for `cprof check`.

    defects.py CPROF        checks all; prints TAP
    defects.py --write FILE writes the valid one
"""
import copy
import gzip
import subprocess
import sys
import tempfile


def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def message(fields):
    """(number, value) pairs: int, bytes, str or a list of such pairs."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        if isinstance(value, list):
            value = message(value)
        if isinstance(value, str):
            value = value.encode()
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def sound():
    """A profile as Python values, with strings in place of their ids."""
    return {
        "sample_type": [["samples", "count"], ["cpu", "nanoseconds"]],
        "sample": [{"loc": [1, 2], "value": [3, 30], "label": [("thread", "main")]},
                   {"loc": [2], "value": [1, 10], "label": []}],
        "mapping": [{"id": 1, "start": 0x1000, "limit": 0x9000, "file": "/bin/a", "build": "ab01",
                     "flags": [7, 8, 9]}],
        "location": [{"id": 1, "map": 1, "addr": 0x1100, "line": [(1, 10)]},
                     {"id": 2, "map": 1, "addr": 0x1200, "line": [(2, 20)]}],
        "function": [{"id": 1, "name": "f", "file": "a.c", "start": 1},
                     {"id": 2, "name": "main", "file": "a.c", "start": 15}],
        "time": 1700000000000000000, "duration": 1000000000,
        "period_type": ["cpu", "nanoseconds"], "period": 10, "comment": [], "default": "cpu",
        "doc_url": "",
    }


def encode(p, raw=None):
    strings = [""]

    def s(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    out = [(1, [(1, s(t)), (2, s(u))]) for t, u in p["sample_type"]]
    for x in p["sample"]:
        fields = [(1, b"".join(varint(i) for i in x["loc"])),
                  (2, b"".join(varint(v) for v in x["value"]))]
        for label in x["label"]:
            key, value = label[0], label[1]
            entry = [(1, s(key))] + ([(2, s(value))] if isinstance(value, str) else [(3, value)])
            fields.append((3, entry + ([(4, s(label[2]))] if len(label) > 2 else [])))
        out.append((2, fields))
    for x in p["mapping"]:
        out.append((3, [(1, x["id"]), (2, x["start"]), (3, x["limit"]), (5, s(x["file"])),
                        (6, s(x["build"]))] + [(n, 1) for n in x["flags"]]))
    for x in p["location"]:
        out.append((4, [(1, x["id"]), (2, x["map"]), (3, x["addr"])] +
                    [(4, [(1, f), (2, n)]) for f, n in x["line"]]))
    for x in p["function"]:
        out.append((5, [(1, x["id"]), (2, s(x["name"])), (3, s(x["name"])), (4, s(x["file"])),
                        (5, x["start"])]))
    out += [(9, p["time"]), (10, p["duration"]), (11, [(1, s(p["period_type"][0])),
            (2, s(p["period_type"][1]))]), (12, p["period"])]
    out += [(13, s(c)) for c in p["comment"]] + [(14, s(p["default"])), (15, s(p["doc_url"]))]
    body = message(out + [(6, x.encode("utf-8", "surrogateescape")) for x in strings] + (raw or []))
    return gzip.compress(body, 1)


def planted(change, raw=None):
    p = copy.deepcopy(sound())
    change(p)
    return encode(p, raw)


def item(path, value):
    """A change: sets p[path[0]][path[1]]... to value."""
    def change(p):
        for step in path[:-1]:
            p = p[step]
        p[path[-1]] = value
    return change


nothing = item(["period"], 10)
DEFECTS = [
    # severity, rule, consumers, file
    ("error", "sample-types", "pyroscope", planted(lambda p: (item(["sample_type", 1], ["cache-misses", "count"])(p), item(["default"], "cache-misses")(p)))),
    ("error", "sample-types", "pprof", planted(item(["sample_type", 1], ["cpu", ""]))),
    ("error", "sample-types", "parca", planted(item(["sample_type", 0], ["cpu", "count"]))),
    ("error", "default-type", "speedscope", planted(item(["default"], "wall"))),
    ("warning", "default-type", "pprof", planted(item(["default"], ""))),
    ("error", "period", "pyroscope", planted(item(["period_type"], ["", ""]))),
    ("error", "period", "parca", planted(item(["period"], -1))),
    ("error", "times", "parca", planted(item(["duration"], 0))),
    ("warning", "times", "parca", planted(item(["time"], 0))),
    ("error", "ids", "parca", planted(lambda p: (item(["mapping", 0, "id"], 5)(p), [item(["location", i, "map"], 5)(p) for i in (0, 1)]))),
    ("error", "ids", "parca", planted(lambda p: (item(["location", 1, "id"], 7)(p), item(["sample", 0, "loc"], [1, 7])(p), item(["sample", 1, "loc"], [7])(p)))),
    ("error", "ids", "pyroscope", planted(lambda p: (item(["function", 1, "id"], 9)(p), item(["location", 1, "line"], [(9, 20)])(p)))),
    ("error", "utf8", "pyroscope", planted(item(["function", 0, "name"], "f\udcff"))),
    ("warning", "lengths", "pyroscope", planted(item(["function", 0, "name"], "f" * 70000))),
    ("warning", "lengths", "pyroscope", planted(item(["sample", 0, "loc"], [2] * 1001))),
    ("warning", "lengths", "pyroscope", planted(item(["sample", 0, "label"], [("k%d" % i, "v") for i in range(101)]))),
    ("error", "mapping", "pprof", planted(item(["mapping", 0, "limit"], 0x800))),
    ("error", "mapping", "parca", planted(item(["mapping", 0, "build"], "AB-01"))),
    ("warning", "mapping", "pprof", planted(item(["mapping", 0, "file"], ""))),
    ("error", "flags", "pprof", planted(lambda p: [item(["location", i, "line"], [(i + 1, 0)])(p) for i in (0, 1)])),
    ("error", "function-names", "speedscope", planted(item(["function", 0, "name"], ""))),
    ("error", "addresses", "parca", planted(item(["location", 0, "addr"], 0xa000))),
    ("error", "lines", "pprof", planted(item(["location", 0, "line"], [(1, -4)]))),
    ("error", "lines", "pprof", planted(item(["function", 0, "start"], -4))),
    ("error", "stacks", "parca", planted(item(["sample", 1, "loc"], []))),
    ("error", "values", "pyroscope", planted(item(["sample", 1, "value"], [1, -10]))),
    ("warning", "values", "parca", planted(item(["sample", 1, "value"], [0, 0]))),
    ("error", "labels", "pprof", planted(item(["sample", 0, "label"], [("", "x")]))),
    ("error", "labels", "pprof", planted(item(["sample", 0, "label"], [("pprof::x", "x")]))),
    ("error", "labels", "pyroscope", planted(item(["sample", 0, "label"], [("cpu", 0)]))),
    ("warning", "numbers", "pyroscope", planted(item(["sample", 0, "label"], [("bytes", 5, "bytes")]))),
    ("warning", "labels", "pprof", planted(item(["sample", 0, "label"], [("a", "x"), ("a", "y")]))),
    ("error", "comments", "parca", planted(item(["comment"], ["executableInfo=1;2;3"]))),
    ("error", "doc-url", "pprof", planted(item(["doc_url"], "example.org"))),
    ("warning", "size", "pyroscope", planted(lambda p: p["sample"].extend([p["sample"][1]] * 16000))),
    # files that cannot be read at all
    ("error", "read", "pprof", planted(item(["sample", 0, "value"], [1]))),
    ("error", "read", "pprof", planted(item(["sample", 0, "loc"], [77]))),
    ("error", "read", "pprof", planted(item(["location", 0, "line"], [(77, 1)]))),
    ("error", "read", "pprof", planted(nothing, [(1, [(1, 999), (2, 999)])])),
    ("error", "read", "pprof", planted(nothing)[:60]),
    ("error", "read", "pprof", b"no profile"),
    ("error", "read", "pprof", b""),
]


def main():
    cprof, n_failed = sys.argv[1], 0
    if cprof == "--write":
        with open(sys.argv[2], "wb") as f:
            f.write(encode(sound()))
        return 0
    cases = [(0, "", "", "pprof", encode(sound()))]
    cases += [(1 if s == "error" else 2, s, r, who, data) for s, r, who, data in DEFECTS]
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as f:
        for i, (status, severity, rule, who, data) in enumerate(cases, 1):
            f.seek(0)
            f.truncate()
            f.write(data)
            f.flush()
            run = subprocess.run([cprof, "check", "--for", who, f.name], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            lines = run.stdout.splitlines()
            want = "%s: %s: %s: " % (f.name, severity, rule)
            good = run.returncode == status and (not lines if status == 0 else
                                                 all(x.startswith(want) for x in lines[:-1]))
            n_failed += not good
            print("%sok %d - %s: %s" % ("" if good else "not ", i, severity or "sound", rule))
            if not good:
                print("# status %d, %s" % (run.returncode, "\n# ".join(lines[:5])))
    print("1..%d" % len(cases))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
