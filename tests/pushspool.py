#!/usr/bin/python3
"""Writes profiles into a spool, as the recorder of cprof agent does (cmd/agent/spool.h).

    pushspool.py FOLDER PROFILE [KEY=VALUE...]

    count=N       profiles in all; default: 1
    services=N    of so many services, in each window; default: 1
    first=N       the number of the first one, which is the label n; default: 1
    every=S       seconds between windows; default: 0
    files=N       the spool holds at most so many: the oldest are removed, and counted in `lost`
    start=S       the time of the first window, in seconds since 1970; default: now
The profile is written with the window's time, so that each of them is another one.
"""
import gzip
import os
import sys
import time

import wire


def encode_varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def with_time(plain, start_ns):
    """The last value of a field counts."""
    return gzip.compress(plain + b"\x48" + encode_varint(start_ns), 1)


def write(folder, name, data):
    temporary = os.path.join(folder, ".tmp-" + name)
    with open(temporary, "wb") as f:
        f.write(data)
    os.rename(temporary, os.path.join(folder, name))


def read_counters(folder):
    try:
        with open(os.path.join(folder, "lost")) as f:
            return {k: int(v) for k, v in (line.rstrip("\n").split("=") for line in f)}
    except FileNotFoundError:
        return {"profiles": 0, "profiles_lost": 0, "profiles_failed": 0}


def remove_oldest(folder, limit, counters):
    names = sorted(n for n in os.listdir(folder) if n.endswith(".pb.gz") and not n.startswith("."))
    for name in names[:max(0, len(names) - limit)]:
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue   # the pusher was faster
        counters["profiles_lost"] += 1
        try:
            os.unlink(os.path.join(folder, name[:-len(".pb.gz")] + ".meta"))
        except FileNotFoundError:
            pass


def main():
    folder, profile = sys.argv[1:3]
    o = {"count": 1, "services": 1, "first": 1, "every": 0.0, "files": 1 << 30, "start": time.time()}
    for word in sys.argv[3:]:
        key, value = word.split("=")
        o[key] = type(o[key])(float(value))
    with gzip.open(profile) as f:
        plain = f.read()
    list(wire.fields(plain))
    counters = read_counters(folder)
    data = b""
    for i in range(o["count"]):
        service = i % o["services"]
        if service == 0:
            start_ns = int((o["start"] + i // o["services"] * 10) * 1e9) if not o["every"] else time.time_ns()
            data = with_time(plain, start_ns)
        name = "%020d-%010d-%016x" % (start_ns, o["first"] + i, service + 1)
        meta = ["label.service_name=service%d" % service, "label.host=testhost", "label.n=%d" % (o["first"] + i),
                "label.cgroup=/system.slice/service%d.service" % service, "window_start_ns=%d" % start_ns,
                "window_ns=10000000000", "sample_type=cpu", "unit=nanoseconds"]
        try:
            write(folder, name + ".meta", ("\n".join(meta) + "\n").encode())
            write(folder, name + ".pb.gz", data)
            counters["profiles"] += 1
        except OSError:
            counters["profiles_failed"] += 1
        if service == o["services"] - 1:
            remove_oldest(folder, o["files"], counters)
            try:
                write(folder, "lost", "".join("%s=%d\n" % pair for pair in counters.items()).encode())
            except OSError:
                pass
            time.sleep(o["every"])


if __name__ == "__main__":
    main()
