#!/usr/bin/python3
"""Reads a pprof file for the tests, without other Python modules.

    pprof.py FILE                     prints the contents
    pprof.py FILE EXPRESSION...       status 1, and the values, unless all expressions are true

An expression sees:
    n, total            sums of the first and of the last value over all samples
    share(NAME)         part of the total with function NAME as the leaf
    count(NAME)         sum of the first value with NAME anywhere in the stack
    unblocked(FILE, NAME)  of another profile: the time below NAME that no wait for others took,
                        as while another task had the CPU
    cum(NAME)           part of the total with NAME anywhere in the stack
    leaf(RE), anywhere(RE)   the same with regular expressions
    labels(KEY)         the values of a label, as a set
    near(A=0.1, ...)    each share is within 4 standard errors of the truth
    ranked(A=0.1, ...)  shares are in the true order if they differ by more than that
    label_share(KEY, VALUE)  part of the total with this label
    agree(KEY, RE)      of the samples with a function that matches RE, the part whose label
                        equals the group of RE; agree(KEY, RE, True): of those with the label
    unlabelled()        the part of the samples that lacks the program's labels, as the file says
    comments            all comments as a single text
    names               all function names that samples use
    user_frames(RE), named(RE)   weighted number of frames in mappings matching RE, and
                        the part of them with a real name
    roots(RE)           part of the total whose outermost frame matches RE
    lines(NAME)         (file, line) pairs of the frames with this name
    chain(A, B, ...)    True if a location has this chain of inlined calls, innermost first
    path(A, B, ...)     part of the total whose stack, leaf first, starts with these names
    lives(FILE)         the threads whose sums are not the lives that tests/prog/lives has printed
                        to FILE; labels: tid, thread_name
    site(FUNCTION, FILE)  what it printed for a function, in nanoseconds
    p                   the Profile itself
It is stricter than readers must be: anything malformed is an error.
"""
import gzip
import re
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & 0xffffffffffffffff, at
        shift += 7
        if shift > 63:
            raise ValueError("varint longer than ten bytes")


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
            if at > len(data):
                raise ValueError("field reaches beyond its message")
        else:
            raise ValueError("wire type %d is not used in profile.proto" % (tag & 7))
        yield tag >> 3, value


def numbers(value):
    """A repeated number: packed bytes or a single one."""
    if isinstance(value, int):
        return [value]
    result, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        result.append(number)
    return result


class Message:
    def __init__(self, data, names, lists=()):
        for name in names.values():
            setattr(self, name, [] if name in lists else 0)
        for field, value in fields(data):
            if field not in names:
                raise ValueError("unknown field %d" % field)
            if names[field] in lists:
                getattr(self, names[field]).append(value)
            else:
                setattr(self, names[field], value)


class Profile:
    def __init__(self, path):
        with (sys.stdin.buffer if path == "-" else open(path, "rb")) as f:
            raw = f.read()
        if raw[:2] != b"\x1f\x8b":
            raise ValueError("not gzipped")
        m = Message(gzip.decompress(raw), {
            1: "sample_type", 2: "sample", 3: "mapping", 4: "location", 5: "function",
            6: "string", 7: "drop_frames", 8: "keep_frames", 9: "time_nanos",
            10: "duration_nanos", 11: "period_type", 12: "period", 13: "comment",
            14: "default_sample_type", 15: "doc_url"},
            ("sample_type", "sample", "mapping", "location", "function", "string", "comment"))
        self.strings = s = [x.decode("utf-8") for x in m.string]
        if not s or s[0] != "":
            raise ValueError("the first string is not empty")
        self.time_nanos, self.duration_nanos = signed(m.time_nanos), signed(m.duration_nanos)
        self.period = signed(m.period)
        self.default_sample_type = s[m.default_sample_type]
        self.comments = [s[i] for c in m.comment for i in numbers(c)]

        def value_type(data):
            v = Message(data, {1: "type", 2: "unit"})
            return s[v.type], s[v.unit]
        self.sample_types = [value_type(x) for x in m.sample_type]
        self.period_type = value_type(m.period_type) if m.period_type else None
        self.mappings, self.functions, self.locations = {}, {}, {}
        for x in m.mapping:
            v = Message(x, {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id",
                            7: "has_functions", 8: "has_filenames", 9: "has_line_numbers",
                            10: "has_inline_frames"})
            v.file, v.build_id = s[v.file], s[v.build_id]
            self.mappings[v.id] = v
        for x in m.function:
            v = Message(x, {1: "id", 2: "name", 3: "system_name", 4: "file", 5: "start_line"})
            v.name, v.system_name, v.file = s[v.name], s[v.system_name], s[v.file]
            self.functions[v.id] = v
        for x in m.location:
            v = Message(x, {1: "id", 2: "mapping", 3: "address", 4: "line", 5: "is_folded"}, ("line",))
            v.mapping = self.mappings[v.mapping] if v.mapping else None
            lines = [Message(y, {1: "function", 2: "line", 3: "column"}) for y in v.line]
            v.lines = [(self.functions[y.function], signed(y.line)) for y in lines]
            self.locations[v.id] = v
        self.samples = []
        for x in m.sample:
            v = Message(x, {1: "location", 2: "value", 3: "label"}, ("location", "value", "label"))
            locations = [self.locations[i] for y in v.location for i in numbers(y)]
            values = [signed(i) for y in v.value for i in numbers(y)]
            if len(values) != len(self.sample_types):
                raise ValueError("a sample with %d values" % len(values))
            labels = {}
            for y in v.label:
                label = Message(y, {1: "key", 2: "str", 3: "num", 4: "num_unit"})
                labels[s[label.key]] = s[label.str] if label.str else signed(label.num)
            self.samples.append((locations, values, labels))

    def stack(self, locations):
        """(name, function or None, line, location), leaf first, inlined frames expanded."""
        for location in locations:
            for function, line in location.lines:
                yield function.name, function, line, location
            if not location.lines:
                yield "", None, 0, location


class View:
    """The names that expressions can use."""

    def __init__(self, profile):
        self.p = profile
        self.n = sum(v[0] for _, v, _ in profile.samples)
        self.total = sum(v[-1] for _, v, _ in profile.samples)
        self.rows = [([f[0] for f in profile.stack(locations)], values[-1], labels, locations)
                     for locations, values, labels in profile.samples]
        self.comments = "\n".join(profile.comments)
        self.names = {name for row in self.rows for name in row[0]}

    def part(self, test):
        return sum(r[1] for r in self.rows if test(r)) / self.total if self.total else 0.0

    def share(self, name):
        return self.part(lambda r: r[0][:1] == [name])

    def cum(self, name):
        return self.part(lambda r: name in r[0])

    def count(self, name):
        return sum(values[0] for locations, values, _ in self.p.samples
                   if name in [f[0] for f in self.p.stack(locations)])

    def unblocked(self, path, name):
        return sum(r[1] for r in View(Profile(path)).rows
                   if name in r[0] and r[2].get("state") in ("preempted", "runnable"))

    def leaf(self, pattern):
        return self.part(lambda r: r[0] and re.search(pattern, r[0][0]))

    def anywhere(self, pattern):
        return self.part(lambda r: any(re.search(pattern, name) for name in r[0]))

    def roots(self, pattern):
        return self.part(lambda r: r[0] and re.search(pattern, r[0][-1]))

    def path(self, *names):
        return self.part(lambda r: r[0][:len(names)] == list(names))

    def through(self, *patterns):
        """Stacks in which frames match the patterns, each the caller of the previous one."""
        def at(names, i):
            return all(re.search(p, name) for p, name in zip(patterns, names[i:]))
        last = len(patterns) - 1
        return self.part(lambda r: any(at(r[0], i) for i in range(len(r[0]) - last)))

    def labels(self, key):
        return {r[2][key] for r in self.rows if key in r[2]}

    def near(self, errors=4, **truth):
        """The share of each function is within that many standard errors of the truth."""
        return all(abs(self.share(name) - part) <= errors * self.error(part)
                   for name, part in truth.items())

    def ranked(self, errors=4, **truth):
        """Functions whose true shares differ by more than the error are in the true order."""
        return all(self.share(a) > self.share(b) for a, x in truth.items() for b, y in truth.items()
                   if x - y > errors * (self.error(x) + self.error(y)))

    def error(self, part):
        return (part * (1 - part) / self.n) ** 0.5 if self.n else 0.0

    def label_share(self, key, value):
        return self.part(lambda r: r[2].get(key) == value)

    def agree(self, key, pattern, only_labelled=False, of=lambda labels: True):
        good = bad = 0
        for names, value, labels, _ in self.rows:
            found = [m.group(1) for m in (re.match(pattern, name) for name in names) if m]
            if found and of(labels) and (key in labels or not only_labelled):
                good, bad = (good + value, bad) if labels.get(key) == found[0] else (good, bad + value)
        return good / (good + bad) if good + bad else 0.0

    def unlabelled(self):
        """The share of the samples of which the profile says that it lacks the program's labels."""
        said = re.search(r"losses: (\d+) samples without the labels", self.comments)
        return int(said.group(1)) / self.n if said else 0.0

    def frames(self, pattern):
        """(name, weight, location) of every frame in a mapping that matches."""
        for _, values, locations in ((r[2], r[1], r[3]) for r in self.rows):
            for name, _, _, location in self.p.stack(locations):
                if location.mapping and re.search(pattern, location.mapping.file):
                    yield name, values, location

    def user_frames(self, pattern="^/"):
        return sum(w for _, w, _ in self.frames(pattern))

    def named(self, pattern="^/"):
        frames = list(self.frames(pattern))
        good = sum(w for name, w, _ in frames if name and not re.match(r"\[.*\]\+0x|0x", name))
        every = sum(w for _, w, _ in frames)
        return good / every if every else 0.0

    def unnamed(self, pattern="^/", limit=10):
        """The heaviest frames without a name, for the message of a failed test."""
        sums = {}
        for name, w, _ in self.frames(pattern):
            if not name or re.match(r"\[.*\]\+0x|0x", name):
                sums[name] = sums.get(name, 0) + w
        return sorted(sums.items(), key=lambda x: -x[1])[:limit]

    def thread_sums(self):
        """The sums of all threads by the name that each had for most of its time."""
        threads, sums = {}, {}
        for _, value, labels, _ in self.rows:
            names = threads.setdefault(labels["tid"], {})
            name = labels.get("thread_name", "")
            names[name] = names.get(name, 0) + value
        for names in threads.values():
            sums.setdefault(max(names, key=names.get), []).append(sum(names.values()))
        return sums

    def tid_sums(self):
        sums = {}
        for _, value, labels, _ in self.rows:
            sums[labels["tid"]] = sums.get(labels["tid"], 0) + value
        return sums

    def same_sums(self, path, names, percent):
        """Threads that were in one of the functions have the same sum as in another profile."""
        mine, other = self.tid_sums(), View(Profile(path)).tid_sums()
        tids = {r[2]["tid"] for r in self.rows if set(names) & set(r[0])}
        return tids and all(abs(mine[t] - other.get(t, 0)) <= mine[t] * percent / 100
                            for t in tids)

    def lives(self, path, percent=0.1):
        sums, wrong, lives = self.thread_sums(), [], {}
        for line in open(path):
            if line.startswith("life "):
                _, name, at_least, at_most = line.split()
                lives.setdefault(name, []).append((int(at_least), int(at_most)))
        for name, spans in lives.items():
            got = sorted(sums.get(name, []))
            if len(got) != len(spans) or not all(
                    low * (1 - percent / 100) <= value <= high * (1 + percent / 100)
                    for value, (low, high) in zip(got, sorted(spans))):
                wrong.append((name, got, sorted(spans)))
        return wrong if lives else ["no lives"]

    def life(self, name, path, column=2):
        """The least time (in column 3: the longest) that a thread of that name existed, by clocks of
        the program."""
        return min(int(line.split()[column]) for line in open(path)
                   if line.startswith("life %s " % name))

    def pid(self, function, path):
        return next(line.split()[2] for line in open(path) if line.startswith("pid %s " % function))

    def differ(self, path, column, kinds=("main", "thread")):
        """Threads whose sum is not the column of perfwaits.py's lines, to a microsecond."""
        sums = self.tid_sums()
        wanted = [line.split() for line in open(path)]
        wrong = [(f[1], sums.get(f[1], 0), f[column]) for f in wanted
                 if f[0] in kinds and abs(sums.get(f[1], 0) - int(f[column])) > 1000]
        return wrong if wanted else ["no threads"]

    def torn(self, path):
        """The time of waits whose end is missing in the file of perf, by perfwaits.py."""
        return sum(int(line.split()[3]) for line in open(path))

    def site(self, function, path):
        return next(int(line.split()[2]) for line in open(path)
                    if line.startswith("site %s " % function))

    def lines(self, name):
        return {(f.file, line) for locations, _, _ in self.p.samples
                for n, f, line, _ in self.p.stack(locations) if n == name}

    def chain(self, *names):
        return any([f.name for f, _ in location.lines][:len(names)] == list(names)
                   for location in self.p.locations.values())

    def scope(self):
        return {name: getattr(self, name) for name in dir(self) if not name.startswith("_")} | {
            "re": re}


def flat_list(view, limit=25):
    sums = {}
    for names, value, _, _ in view.rows:
        leaf = names[0] if names else "(no frame)"
        sums[leaf] = sums.get(leaf, 0) + value
    return sorted(sums.items(), key=lambda x: -x[1])[:limit]


def main(argv):
    profile = Profile(argv[1])
    view = View(profile)
    if len(argv) == 2:
        print("types %s, default %r, period %r %d" % (
            profile.sample_types, profile.default_sample_type, profile.period_type, profile.period))
        print("%d samples in %d rows, total %d, duration %d ns" % (
            view.n, len(view.rows), view.total, profile.duration_nanos))
        for comment in profile.comments:
            print("comment: " + comment)
        for m in profile.mappings.values():
            print("mapping %d %x-%x +%x %s %s" % (m.id, m.start, m.limit, m.offset, m.file, m.build_id))
        for name, value in flat_list(view):
            print("%6.2f %% %s" % (100 * value / view.total if view.total else 0, name))
        return 0
    failed = 0
    for expression in argv[2:]:
        if not eval(expression, view.scope()):
            failed = 1
            print("not true of %s: %s" % (argv[1], expression))
            # the value of each call in it that can be evaluated separately
            for call in re.findall(r"\w+\([^()]*\)|\bn\b|\btotal\b", expression):
                try:
                    print("  %s = %.300r" % (call, eval(call, view.scope())))
                except (NameError, SyntaxError, TypeError):
                    pass
    if failed:
        print("  leaves: " + ", ".join("%s %.2f %%" % (name, 100 * v / view.total if view.total else 0)
                                       for name, v in flat_list(view, 12)))
        print("  comments: " + " | ".join(profile.comments)[:1500])
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv))
