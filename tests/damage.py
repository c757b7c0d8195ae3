#!/usr/bin/python3
"""Damages a perf.data file in many ways; cprof import reads what it can and reports the damage.

    damage.py CPROF PERF.DATA FOLDER

Truncated at the end of each record and section, and one byte later: exit status 1, a message, and
exactly the samples of complete records. With bits flipped in each field of the header and of the
attrs: status 0, or 1 with a message.
"""
import json
import pathlib
import struct
import subprocess
import sys

SAMPLE = 9
COMPRESSED = 81
FIELDS = 13         # of the header, of 8 bytes each


def run(cprof, data, folder):
    """(exit status, samples, damage)"""
    path = folder / "damaged.data"
    path.write_bytes(data)
    p = subprocess.run([cprof, "import", "--json", "--call-graph", "none", "-o",
                        str(folder / "damaged.pb.gz"), str(path)], capture_output=True, timeout=60)
    said = p.stderr.decode(errors="replace")
    if p.returncode not in (0, 1) or (p.returncode == 1 and "cprof import: " not in said):
        print("status %d: %s" % (p.returncode, said))
        return p.returncode, None, None
    summary = json.loads(p.stdout) if p.stdout else {"events": [], "damage": said}
    return (p.returncode, sum(e["samples"] for e in summary["events"]), summary["damage"])


def records(data, start, end):
    """(end of the record, its type)"""
    while start < end:
        kind, _, size = struct.unpack_from("<IHH", data, start)
        start += size
        yield start, kind


def main():
    cprof, path, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    data = pathlib.Path(path).read_bytes()
    _, _, attr_bytes, attrs_at, attrs_bytes, data_at, data_bytes = struct.unpack_from("<8s6Q", data)
    ends, samples, n = [data_at], [0], 0
    for end, kind in records(data, data_at, data_at + data_bytes):
        n += kind == SAMPLE
        ends.append(end)
        samples.append(n)
    failed = 0
    status, got, damage = run(cprof, data, folder)
    if (status, got, damage) != (0, n, None) or n < 5:
        print("whole: status %d, %s samples of %d, %s" % (status, got, n, damage))
        failed += 1

    # the sections after the data, and the parts of the header
    features = bin(int.from_bytes(data[72:104], "little")).count("1")
    table = data_at + data_bytes
    sections = [table + 16 * i for i in range(1, features + 1)]
    for i in range(features):
        offset, size = struct.unpack_from("<2Q", data, table + 16 * i)
        sections.append(offset + size)
    sections += [attrs_at, attrs_at + attrs_bytes, 104]
    for cut in sorted(set(c + more for c in ends + sections for more in (0, 1))):
        if cut >= len(data):
            continue
        want = max((s for e, s in zip(ends, samples) if e <= cut), default=0)
        status, got, damage = run(cprof, data[:cut], folder)
        if status != 1 or got != want or not damage:
            print("cut at %d: status %d, %s samples of %d, %s" % (cut, status, got, want, damage))
            failed += 1

    at = [8 * i + k for i in range(FIELDS) for k in (0, 3, 7)]
    at += [attrs_at + 8 * i + k for i in range(attrs_bytes // 8) for k in (0, 5)]
    for byte in at:
        damaged = bytearray(data)
        damaged[byte] ^= 1 << byte % 8
        status, got, _ = run(cprof, bytes(damaged), folder)
        failed += got is None
        if status == 0 and got > n:
            print("bit flipped in byte %d: %d samples of %d" % (byte, got, n))
            failed += 1
    sys.exit(1 if failed else 0)


main()
