#!/usr/bin/python3
"""formats.py FORMAT FILE PPROF [TYPE]: does FILE follow the rules of its format, and does it
contain the same as the profile?  FORMAT is speedscope, chrome or firefox; TYPE is the index of the
sample type if the format has only one (default: the last).  Prints problems; status 1 if there are any.

The rules for speedscope are its JSON schema; those for firefox are the columns of the processed
format that its writers use.
"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pprof  # noqa: E402

problems = []


def check(condition, what):
    if not condition:
        problems.append(what)
    return condition


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-3


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def no_constant(name):
    raise ValueError("%s is no JSON" % name)


def sums(profile, index):
    """The values of one type by stack: names of all frames, outermost first."""
    found = collections.Counter()
    for sample in profile["samples"]:
        if sample[1][index] > 0:
            found[sample[0]] += sample[1][index]
    return found


def read_profile(path):
    p = pprof.Profile(path)
    samples = []
    for locations, values, _ in p.samples:
        names = []
        for location in locations:
            names += [function.name or None for function, _ in location.lines] or [None]
        samples.append((tuple(reversed(names)), values))
    return {"types": p.sample_types, "samples": samples}


def same(what, ours, theirs):
    """ours: Counter by tuples of frame names; theirs: the same of the pprof, with None for no name."""
    check(near(sum(ours.values()), sum(theirs.values())), "%s: total %s, not %s" % (
        what, sum(ours.values()), sum(theirs.values())))
    if any(None in names for names in theirs):
        return
    for names in set(ours) | set(theirs):
        if not check(near(ours[names], theirs[names]), "%s: %s has %s, not %s" % (
                what, names, ours[names], theirs[names])):
            return


def speedscope(data, profile, _):
    check(data.get("$schema") == "https://www.speedscope.app/file-format-schema.json", "$schema")
    frames = data["shared"]["frames"]
    for f in frames:
        check(set(f) <= {"name", "file", "line", "col"} and isinstance(f.get("name"), str) and
              isinstance(f.get("file", ""), str) and is_int(f.get("line", 1)), "frame %s" % f)
    check(is_int(data["activeProfileIndex"]), "activeProfileIndex")
    check(len(data["profiles"]) == len(profile["types"]), "a profile for each sample type")
    for index, p in enumerate(data["profiles"]):
        check(set(p) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"},
              "fields %s" % sorted(p))
        check(p["type"] == "sampled" and isinstance(p["name"], str), "type and name")
        check(p["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds",
                            "bytes"), "unit %s" % p["unit"])
        check(len(p["samples"]) == len(p["weights"]), "as many weights as samples")
        check(p["endValue"] - p["startValue"] == sum(p["weights"]), "endValue is the sum")
        ours = collections.Counter()
        for stack, weight in zip(p["samples"], p["weights"]):
            check(is_int(weight) and weight > 0, "weight %s" % weight)
            check(all(is_int(i) and 0 <= i < len(frames) for i in stack), "stack %s" % stack)
            ours[tuple(frames[i]["name"] for i in stack)] += weight
        same("profile %d" % index, ours, sums(profile, index))


STEP_US = 0.125   # a call ends so much before the next one begins


def chrome(data, profile, index):
    tracks = collections.defaultdict(list)
    for e in data["traceEvents"]:
        check(e["ph"] in ("X", "M") and is_int(e["pid"]) and is_int(e["tid"]) and
              isinstance(e["name"], str), "event %s" % e)
        if e["ph"] == "M":
            check(isinstance(e["args"]["name"], str), "metadata %s" % e)
            continue
        check(e["dur"] >= 0 and e["ts"] >= 0, "times %s" % e)
        check("args" not in e and isinstance(e["cat"], str), "speedscope adds args to names: %s" % e)
        tracks[e["pid"], e["tid"]].append(e)
    ours, calls = collections.Counter(), collections.Counter()
    for events in tracks.values():
        stack = []
        for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while stack and e["ts"] >= stack[-1][1] and \
                    not (e["dur"] == 0 and e["ts"] <= stack[-1][1]):
                stack.pop()
            end = e["ts"] + e["dur"]
            if stack:
                check(end <= stack[-1][1], "%s ends after its caller" % e)
                ours[tuple(name for name, _ in stack)] -= e["dur"] + STEP_US
            stack.append((e["name"], end))
            ours[tuple(name for name, _ in stack)] += e["dur"] + STEP_US
            calls[tuple(name for name, _ in stack)] += 1
    us_each = {"nanoseconds": 1e-3, "milliseconds": 1e3, "seconds": 1e6}.get(data["otherData"]["unit"], 1)
    theirs = collections.Counter({k: v * us_each for k, v in sums(profile, index).items() if k})
    check(abs(sum(ours.values()) - sum(theirs.values())) <= STEP_US * 2 * sum(calls.values()) + 1e-6,
          "trace: total %s us, not %s" % (sum(ours.values()), sum(theirs.values())))
    if any(None in names for names in theirs):
        return
    for names in set(ours) | set(theirs):
        if not check(abs(ours[names] - theirs[names]) <= STEP_US * 2 * calls[names] + 1e-6,
                     "trace: %s has %s us, not %s" % (names, ours[names], theirs[names])):
            return


COLUMNS = {
    "frameTable": "address inlineDepth category subcategory func nativeSymbol innerWindowID line "
                  "column",
    "funcTable": "name isJS relevantForJS resource source lineNumber columnNumber",
    "resourceTable": "lib name host type",
    "nativeSymbols": "libIndex address name functionSize",
    "stackTable": "frame prefix",
    "sources": "id filename startLine startColumn sourceMapURL",
}
META = {"categories", "debug", "extensions", "interval", "preprocessedProfileVersion", "version",
        "processType", "product", "sampleUnits", "startTime", "symbolicated", "pausedRanges",
        "usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox", "markerSchema"}
THREAD = {"name", "processName", "pid", "tid", "isMainThread", "processType", "pausedRanges",
          "processStartupTime", "processShutdownTime", "registerTime", "unregisterTime", "markers",
          "showMarkersInTimeline", "samples"}


def table(where, name, columns):
    t = where[name]
    for column in columns.split():
        check(len(t.get(column, "no")) == t["length"], "%s.%s has not %d rows" % (
            name, column, t["length"]))
    check(set(t) == set(columns.split()) | {"length"}, "%s has the columns %s" % (name, sorted(t)))
    return t


def indices(what, values, n, also=None):
    for v in values:
        if not check(v == also or (is_int(v) and 0 <= v < n), "%s: %s of %d" % (what, v, n)):
            return


def firefox(data, profile, index):
    shared, meta = data["shared"], data["meta"]
    check(META <= set(meta), "meta lacks %s" % (META - set(meta)))
    check(set(data) == {"meta", "libs", "pages", "counters", "profilerOverhead", "shared",
                        "threads"}, "parts %s" % sorted(data))
    t = {name: table(shared, name, columns) for name, columns in COLUMNS.items()}
    strings = shared["stringArray"]
    check(all(isinstance(s, str) for s in strings), "strings")
    indices("func.name", t["funcTable"]["name"], len(strings))
    indices("func.resource", t["funcTable"]["resource"], t["resourceTable"]["length"], -1)
    indices("func.source", t["funcTable"]["source"], t["sources"]["length"], None)
    indices("source.filename", t["sources"]["filename"], len(strings))
    indices("resource.name", t["resourceTable"]["name"], len(strings))
    indices("resource.lib", t["resourceTable"]["lib"], len(data["libs"]))
    indices("frame.func", t["frameTable"]["func"], t["funcTable"]["length"])
    indices("frame.category", t["frameTable"]["category"], len(meta["categories"]))
    indices("stack.frame", t["stackTable"]["frame"], t["frameTable"]["length"])
    for i, prefix in enumerate(t["stackTable"]["prefix"]):
        check(prefix is None or 0 <= prefix < i, "stack %d begins with %s" % (i, prefix))
    for lib in data["libs"]:
        check(set(lib) == {"arch", "name", "path", "debugName", "debugPath", "breakpadId",
                           "codeId"} and len(lib["breakpadId"]) == 33, "lib %s" % lib)
    ours, scale = collections.Counter(), 1
    for thread in data["threads"]:
        check(set(thread) == THREAD, "thread has %s" % sorted(thread))
        check(isinstance(thread["pid"], str) and isinstance(thread["tid"], str), "ids are strings")
        s = thread["samples"]
        check({len(s[c]) for c in ("stack", "timeDeltas", "weight")} == {s["length"]}, "samples")
        check(s["weightType"] in ("samples", "tracing-ms", "bytes"), "weightType")
        scale = 1000000 if s["weightType"] == "tracing-ms" else 1
        indices("sample.stack", s["stack"], t["stackTable"]["length"], None)
        for stack, weight in zip(s["stack"], s["weight"]):
            names = []
            while stack is not None:
                func = t["frameTable"]["func"][t["stackTable"]["frame"][stack]]
                names.append(strings[t["funcTable"]["name"][func]])
                stack = t["stackTable"]["prefix"][stack]
            if weight > 0:
                ours[tuple(reversed(names))] += weight * scale
    check(len({(x["pid"], x["tid"]) for x in data["threads"]}) == len(data["threads"]),
          "ids distinguish the threads")
    same("profile", ours, sums(profile, index))


def main():
    form, path, source = sys.argv[1:4]
    profile = read_profile(source)
    index = int(sys.argv[4]) if len(sys.argv) > 4 else len(profile["types"]) - 1
    with open(path, encoding="utf-8") as f:
        data = json.load(f, parse_constant=no_constant)
    {"speedscope": speedscope, "chrome": chrome, "firefox": firefox}[form](data, profile, index)
    for p in problems[:10]:
        print(p)
    return 1 if problems else 0


sys.exit(main())
