#!/usr/bin/python3
"""Checks a spool of cprof agent.

    agentspool.py SPOOL [EXPRESSION]...

Every profile has its .meta and can be read, no other files are there, and the windows of one run follow each other
without gap and without overlap. Then each expression must be true of: profiles, a list of dicts with the keys of
.meta, `name`, `bytes`, `labels` (sets of the samples' labels) and `functions`; lost, the counters; starts, the windows.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pprof

NAME = re.compile(r"(\d{20})-(\d{10,})-([0-9a-f]{16})\.(pb\.gz|meta)")


def read_pairs(path):
    with open(path, encoding="utf-8") as f:
        return dict(line.rstrip("\n").split("=", 1) for line in f)


def read_profile(folder, name):
    meta = read_pairs(os.path.join(folder, name[:-6] + ".meta"))
    p = pprof.Profile(os.path.join(folder, name))
    view = pprof.View(p)
    meta["name"] = name
    meta["bytes"] = sum(os.path.getsize(os.path.join(folder, name[:-6] + end)) for end in (".pb.gz", ".meta"))
    meta["start"] = int(meta["window_start_ns"])
    meta["end"] = meta["start"] + int(meta["window_ns"])
    meta["service"] = meta["label.service_name"]
    meta["view"] = view
    meta["profile"] = p
    assert p.time_nanos == meta["start"], (p.time_nanos, meta["start"])
    assert abs(p.duration_nanos - int(meta["window_ns"])) <= 1
    assert NAME.fullmatch(name).group(1) == "%020d" % meta["start"]
    return meta


def main(folder, expressions):
    files = sorted(set(os.listdir(folder)) - {".tmp-lost"})
    for name in files:
        assert name == "lost" or NAME.fullmatch(name), "another file: " + name
    names = [name for name in files if name.endswith(".pb.gz")]
    metas = [name for name in files if name.endswith(".meta")]
    assert [name[:-6] for name in names] == [name[:-5] for name in metas], "profiles and .meta differ"
    profiles = [read_profile(folder, name) for name in names]
    lost = {key: int(value) for key, value in read_pairs(os.path.join(folder, "lost")).items()}
    windows = sorted({(p["start"], p["end"]) for p in profiles})
    assert len({p["start"] for p in profiles}) == len(windows), "profiles of one window differ in length"
    # A window without any sample has no profile.
    gaps = [b[0] - a[1] for a, b in zip(windows, windows[1:])]
    for text in expressions:
        if not eval(text, {"profiles": profiles, "lost": lost, "windows": windows, "gaps": gaps,
                           "services": {p["service"] for p in profiles}}):
            print("false:", text)
            print("services:", sorted({p["service"] for p in profiles}))
            print("lost:", lost, "windows:", len(windows), "gaps:", gaps)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
