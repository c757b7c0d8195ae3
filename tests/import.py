#!/usr/bin/python3
"""Compares a profile of cprof import with the output of perf script for the same file.

    import.py PERF.DATA EVENT PROFILE leaf|chains

For files of another machine, PERF.script next to the file may contain perf's output.

Number of samples, sum of periods, and the number of samples for each leaf address must be the same;
with `chains` whole call chains are compared as well.
"""
import collections
import pathlib
import re
import subprocess
import sys

import pprof

KERNEL = 1 << 63


def said_by_perf(path, event):
    """(chain, period) of each sample, leaf first: for user code perf prints offsets in files."""
    said = pathlib.Path(path).with_suffix(".script")
    if said.exists():
        text = said.read_text()
    else:
        text = subprocess.run(["perf", "script", "--no-inline", "-F", "event,period,ip", "-i", path],
                              check=True, capture_output=True, text=True).stdout
    chain, period = [], None
    for line in text.splitlines() + [""]:
        m = re.match(r"\s+(\d+)\s+(\S.*):\s*([0-9a-f]*)\s*$", line)
        if m and not chain:
            period = int(m.group(1)) if m.group(2) == event else None
            if m.group(3) and period is not None:
                yield [int(m.group(3), 16)], period
                period = None
        elif line.strip():
            # a zero comes from a broken frame pointer
            if int(line.split()[0], 16):
                chain.append(int(line.split()[0], 16))
        else:
            if period is not None:
                yield chain, period
            chain, period = [], None


def offset(location):
    """The offset that perf prints for a location; None outside files."""
    m = location.mapping
    if m and m.file == "[jit]":
        return None
    if location.address >= KERNEL:
        return location.address
    return location.address - m.start + m.offset if m else None


def said_by_cprof(profile):
    for locations, values, _ in profile.samples:
        names = [l.lines[0][0].name for l in locations if l.lines]
        if names != ["[lost samples]"]:
            yield [offset(l) for l in locations], values[0], values[1]


def at_calls(chain):
    """All but the first address of each part are return addresses; the call is before them."""
    out, last = [], None
    for address in chain:
        is_kernel = address >= KERNEL
        call = address - (last is not None and last == is_kernel)
        # on arm64 perf takes the caller of a leaf from LR and may print it twice, minus one
        if not out or call - out[-1] != 1:
            out.append(call)
        else:
            out[-1] = call
        last = is_kernel
    return tuple(out)


def main():
    path, event, profile, what = sys.argv[1:]
    p = pprof.Profile(profile)
    perf_n = perf_sum = n = total = 0
    perf_leaf, leaf = collections.Counter(), collections.Counter()
    perf_chain, chains = collections.Counter(), collections.Counter()
    for chain, period in said_by_perf(path, event):
        perf_n += 1
        perf_sum += period
        perf_leaf[chain[0] if chain else None] += 1
        perf_chain[at_calls(chain)] += 1
    for chain, count, value in said_by_cprof(p):
        n += count
        total += value
        leaf[chain[0] if chain else None] += count
        chains[tuple(chain)] += count
    # A chain may be empty; cprof then still reports the sampled address.
    unknown, empty = leaf.pop(None, 0), perf_leaf.pop(None, 0)
    different = max(sum((leaf - perf_leaf).values()) - empty, 0)
    missing = max(sum((perf_leaf - leaf).values()) - unknown, 0)
    same_chains = sum((chains & perf_chain).values())
    print("samples: perf %d, cprof %d; sum: perf %d, cprof %d" % (perf_n, n, perf_sum, total))
    print("leaves: %d different, %d missing, %d outside of all files; %d chains the same" %
          (different, missing, unknown, same_chains))
    for name, counter in (("cprof", leaf - perf_leaf), ("perf", perf_leaf - leaf)):
        print("only %s: %s" % (name, ", ".join("%x: %d" % (k or 0, v)
                                               for k, v in counter.most_common(8))))
    if not perf_n or n != perf_n or total != perf_sum or different or missing:
        sys.exit(1)
    # cprof ends a chain where it leaves all code; perf does not
    if what == "chains" and same_chains < 0.9 * n:
        for name, counter in (("cprof", chains - perf_chain), ("perf", perf_chain - chains)):
            for chain, count in counter.most_common(2):
                print("only %s, %d times: %s" % (name, count,
                                                 " ".join("%x" % (a or 0) for a in chain)))
        sys.exit(1)


main()
