#!/usr/bin/python3
"""parity.py CPROF [-focus=.. and other arguments] FILE...: do cprof and `go tool pprof` agree?

Compares for each sample type of the (merged) files: the tables by function, line and file; focus,
ignore, hide, show and tags; labels; all stacks with their values; callers and callees of some
functions. Prints differences; status 1 if there are any.
"""
import collections
import json
import re
import subprocess
import sys

CPROF = sys.argv[1]
FILES = sys.argv[2:]
PPROF = ["go", "tool", "pprof", "-symbolize=none", "-trim=false", "-nodecount=0",
         "-nodefraction=0", "-edgefraction=0"]
OWN_LABELS = {"pid", "tid", "thread_name", "process_name", "cpu", "name"}
problems = []
n_compared = 0


def run(command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if p.returncode:
        sys.exit("%s: status %d\n%s" % (" ".join(command), p.returncode, p.stderr.decode()))
    return p.stdout.decode("utf-8", "replace")


def pprof(*arguments):
    return run(PPROF + list(arguments) + FILES)


def cprof(*arguments):
    return run([CPROF, "report", "--limit", "0"] + list(arguments) + FILES)


def compare(what, ours, theirs):
    global n_compared
    n_compared += len(theirs)
    if ours != theirs:
        problems.append("%s\n  ours only %s\n  theirs only %s" % (
            what, sorted(set(ours) - set(theirs))[:8], sorted(set(theirs) - set(ours))[:8]))


def number(text):
    m = re.match(r"-?[\d.]+", text)
    return round(float(m.group())) if m else 0


def their_top(text):
    rows = []
    for line in text.splitlines():
        m = re.match(r" *(-?[\d.]+\S*) +\S+% +\S+% +(-?[\d.]+\S*) +\S+%  (.*?)"
                     r"(?: \((?:partial-)?inline\))?$", line)
        if m:
            # a file named "[x]" gets a second pair of brackets
            name = re.sub(r"^\[(\[.*\])\]$", r"\1", m.group(3))
            rows.append((name, number(m.group(1)), number(m.group(2))))
    return sorted(rows)


def our_top(text):
    rows = json.loads(text)
    return sorted((x["name"], x["flat"], x["cum"]) for x in rows.get("functions", rows.get("rows")))


def flat_sums(rows):
    """pprof has a row for each start line of a file's functions; only flat values can be added."""
    sums = collections.Counter()
    for name, flat, _ in rows:
        sums[name] += flat
    return {name: flat for name, flat in sums.items() if flat}


def our_stacks(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[stack] += int(value)
    return stacks


def their_stacks(text):
    stacks = collections.Counter()
    for block in text.split("-----------+---")[1:]:
        frames, value = [], None
        for line in block.splitlines()[1:]:
            if value is None:
                m = re.match(r" *(-?[\d.]+\S*|0) {3}(.+)$", line)
                if not m:
                    continue        # a label
                value, name = number(m.group(1)), m.group(2)
            else:
                name = line.strip()
            frames.append(re.sub(r" \(inline\)$", "", name))
        if frames and value:
            stacks[";".join(reversed(frames))] += value
    return stacks


def their_edges(text):
    """name -> (callers, callees), from -peek, which prints each node between its edges."""
    edges = {}
    for block in text.split("-" * 58 + "+")[2:]:
        callers, callees, name = [], [], None
        for line in block.splitlines()[1:]:
            m = re.match(r" {10,}(-?[\d.]+\S*) +\S+% \| {3}(.*?)(?: \(inline\))?$", line)
            if m:
                (callers if name is None else callees).append((m.group(2), number(m.group(1))))
                continue
            m = re.match(r" *\S+ +\S+% +\S+% +\S+ +\S+% +\| (.*)$", line)
            if m:
                name = m.group(1)
        if name is not None:
            edges[name] = (sorted(callers), sorted(callees))
    return edges


def their_tags(text):
    """key -> value -> sum, for text labels, from -tags."""
    tags, key = {}, None
    for line in text.splitlines():
        m = re.match(r" *(.*): Total \S+", line)
        if m:
            key = m.group(1)
            tags[key] = {}
            continue
        m = re.match(r" *(-?[\d.]+)\S* \( *\S+%\): (.*)$", line)
        if m:
            tags[key][m.group(2)] = number(m.group(1))
    return tags


def our_tags(key, *arguments):
    rows = json.loads(cprof("--by", key, *arguments))["rows"]
    return {x["name"]: x["flat"] for x in rows if x["name"] != "(none)" and x["flat"]}


def our_edges(option, name, type_name):
    tree = json.loads(cprof("--tree", option, name, "--json", "--sample-type", type_name))
    return sorted((x["name"], x["cum"]) for root in tree["children"] for x in root["children"])


def type_names():
    text = run(PPROF + ["-raw"] + FILES)
    m = re.search(r"^Samples:\n(.*)$", text, re.M)
    names = [re.sub(r"\[dflt\]$", "", x).split("/", 1) for x in m.group(1).split()]
    return names, json.loads(cprof("--json"))["type"]


def filters(rows):
    """Expressions that match names of this profile."""
    names = [re.escape(x[0]).replace("/", "/") for x in rows if not x[0].startswith(("[", "<"))]
    if len(names) < 2:
        return []
    one, two = "^" + names[0] + "$", "^" + names[-1] + "$"
    return [("focus", one), ("ignore", one), ("hide", two), ("show", one + "|" + two),
            ("hide", "\\.so|\\.c$"), ("focus", "a.*[ei]")]


names, default = type_names()
for index, (type_name, unit) in enumerate(names):
    unit_args = ["-unit=" + unit, "-sample_index=%d" % index]
    index_args = ["--json", "--sample-type", type_name]
    rows = their_top(pprof("-top", *unit_args))
    compare("%s: top" % type_name, our_top(cprof(*index_args)), rows)
    if type_name != default:
        continue
    compare("by line", our_top(cprof("--by", "line", *index_args)),
            their_top(pprof("-top", "-lines", *unit_args)))
    compare("by file", flat_sums(our_top(cprof("--by", "file", *index_args))),
            flat_sums(their_top(pprof("-top", "-files", *unit_args))))
    for option, text in filters(rows):
        compare("%s=%s" % (option, text), our_top(cprof("--" + option, text, *index_args)),
                their_top(pprof("-top", "-%s=%s" % (option, text), *unit_args)))
    for tag in ("kind=red", "kind=k[12]|fib", "kind=blue,green", "bytes=1kb:64kb", "bytes=:100b",
                "tid=^1"):
        compare("tag " + tag, our_top(cprof("--tag", tag, *index_args)),
                their_top(pprof("-top", "-tagfocus=" + tag, *unit_args)))
    # labels that cprof writes; pprof groups numbers into classes
    for key, values in their_tags(pprof("-tags", *unit_args)).items():
        if key in OWN_LABELS:
            compare("label " + key, our_tags(key, *index_args),
                    {value: total for value, total in values.items() if total})
    stacks = our_stacks(cprof("--folded", "--sample-type", type_name))
    compare("stacks", {s: v for s, v in stacks.items() if v},
            {s: v for s, v in their_stacks(pprof("-traces", *unit_args)).items() if v})
    if not rows:
        continue
    edges = their_edges(pprof("-peek=.", *unit_args))
    repeated = {f for s in stacks for f, n in collections.Counter(s.split(";")).items() if n > 1}
    chosen = [n for n in edges if n not in repeated][:4]
    for name in chosen:
        compare("callers of " + name, our_edges("--caller", name, type_name), edges[name][0])
        compare("callees of " + name, our_edges("--callee", name, type_name), edges[name][1])
for problem in problems:
    print(problem)
print("%d numbers compared" % n_compared)
sys.exit(1 if problems else 0)
