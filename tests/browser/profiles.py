#!/usr/bin/python3
"""Profiles for testing the page of `cprof report --html`.

    profiles.py small FOLDER         several small ones, whose numbers can be added up by eye
    profiles.py waits FOLDER         wall.pb.gz and later.pb.gz, with states of threads
    profiles.py times FOLDER         times.pb.gz: two threads over two seconds
    profiles.py large N FILE [SEED]  one with N distinct stacks
    profiles.py walk N FILE          one with N distinct stacks of three functions that call each other
    profiles.py narrow FILE          one with 3000 callees of the same size
    profiles.py deep FILE            one whose boxes are too many for a page
    profiles.py tall FILE            one whose only stack is higher than a window

Encodes profiles itself, so that names may contain anything.
"""
import gzip
import random
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return message(field, b"".join(map(varint, values)))


class Profile:
    """Frames are names, or tuples of names inlined at one address, innermost first. A name is
    NAME or NAME@FILE:LINE; one that begins with "k:" is the kernel's, with "c:" the C library's."""

    def __init__(self, types, period_type, seconds=2):
        self.strings = {"": 0}
        self.functions, self.locations = {}, {}
        self.has_library = False
        self.parts = []
        for type_, unit in types:
            self.parts.append(message(1, self.value_type(type_, unit)))
        self.parts.append(message(3, number(1, 1) + number(2, 0x1000) + number(3, 0x10000000)
                                  + number(5, self.string("/bin/app")) + number(7, 1)))
        self.parts.append(message(3, number(1, 2) + number(2, 0xffffffff80000000)
                                  + number(3, 0xffffffffc0000000)
                                  + number(5, self.string("[kernel.kallsyms]")) + number(7, 1)))
        self.parts.append(number(9, 1700000000 * 10**9) + number(10, seconds * 10**9)
                          + message(11, self.value_type(*period_type)) + number(12, 1000000))

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def value_type(self, type_, unit):
        return number(1, self.string(type_)) + number(2, self.string(unit))

    def comment(self, text):
        self.parts.append(number(13, self.string(text)))

    def function(self, name, file):
        key = (name, file)
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            self.parts.append(message(5, number(1, self.functions[key]) + number(2, self.string(name))
                                      + number(4, self.string(file))))
        return self.functions[key]

    def location(self, frame):
        if frame in self.locations:
            return self.locations[frame]
        id_ = self.locations[frame] = len(self.locations) + 1
        names = frame if isinstance(frame, tuple) else (frame,)
        kernel, library = names[0].startswith("k:"), names[0].startswith("c:")
        if library and not self.has_library:
            self.has_library = True
            self.parts.append(message(3, number(1, 3) + number(2, 0x20000000) + number(3, 0x30000000)
                                      + number(5, self.string("/lib/libc.so.6")) + number(7, 1)))
        lines = b""
        for name in names:
            name, _, place = name.removeprefix("k:").removeprefix("c:").partition("@")
            file, _, line = (place or "app.c:1").rpartition(":")
            lines += message(4, number(1, self.function(name, file)) + number(2, int(line)))
        start, mapping = (0xffffffff80000000, 2) if kernel else (0x20000000, 3) if library else (0x1000, 1)
        address = start + 16 * id_
        self.parts.append(message(4, number(1, id_) + number(2, mapping)
                                  + number(3, address) + lines))
        return id_

    def sample(self, stack, values, labels=()):
        """stack: root first"""
        data = packed(1, [self.location(f) for f in reversed(stack)]) + packed(2, values)
        for key, value in labels:
            item = number(1, self.string(key))
            if isinstance(value, tuple):
                item += number(3, value[0]) + number(4, self.string(value[1]))
            else:
                item += number(3, value) if isinstance(value, int) else number(2, self.string(value))
            data += message(3, item)
        self.parts.append(message(2, data))

    def write(self, path):
        for text in self.strings:
            self.parts.append(message(6, text.encode()))
        with open(path, "wb") as f:
            f.write(gzip.compress(b"".join(self.parts), 1, mtime=0))


CPU = [("samples", "count"), ("cpu", "nanoseconds")]
MS = 1000000
HOSTILE = [
    "</script><img src=x onerror=\"document.title='broken';alert(1)\">",
    "<!--<script>alert(2)</script>",
    "\"'`><svg onload=alert(3)>&lt;b&gt;${alert(4)}{{5}}",
    "a\u2028b\u2029c\u0001\u202egnirts\x7f",
    "__proto__", "constructor", "javascript:alert(6)",
]


def small(folder):
    """A program: main calls parse (with lex inlined) and work, work calls the kernel."""
    for name, scale in (("cpu", 1), ("base", 1)):
        p = Profile(CPU, ("cpu", "nanoseconds"))
        p.comment("command: app --fast")
        p.comment("losses: 3 samples lost: the ring was full")
        p.comment("not in the profile: 1.00 s (30 %) of 3.40 s of CPU time, most of it in the kernel")
        work = 300 if name == "cpu" else 100
        for thread, tid, part in (("alpha", 11, 3), ("beta", 12, 1)):
            labels = [("thread_name", thread), ("tid", tid)]
            def add(stack, n):
                p.sample(stack, [n * part * scale, n * part * scale * MS], labels)
            add(["main@main.c:10", "parse@main.c:20"], 100)
            add(["main@main.c:10", ("lex@main.c:31", "parse@main.c:22")], 100)
            add(["main@main.c:11", "work@main.c:40"], work)
            add(["main@main.c:11", "work@main.c:41", "k:sys_read@fs/read_write.c:5"], 50)
            add(["main@main.c:11", "fib@main.c:50", "fib@main.c:51", "fib@main.c:52"], 50)
        p.write("%s/%s.pb.gz" % (folder, name))
    p = Profile([("samples", "count"), ("page-faults", "count")], ("page-faults", "count"))
    p.sample(["main@main.c:10", "parse@main.c:20"], [7, 70], [("thread_name", "alpha")])
    p.sample(["main@main.c:11", "work@main.c:40"], [3, 30], [("thread_name", "beta")])
    p.write(folder + "/faults.pb.gz")
    p = Profile(CPU, ("cpu", "nanoseconds"))
    for i, name in enumerate(HOSTILE):
        p.sample(["main", name + "@" + name.replace("@", "").replace(":", "") + ".c:3"],
                 [i + 1, (i + 1) * MS], [(name, name), ("thread_name", name)])
    p.write(folder + "/hostile.pb.gz")
    with open(folder + "/main.c", "w", encoding="utf-8") as f:
        f.write("".join("/* line %d </script> */\n" % n for n in range(1, 61)))


def waits(folder):
    """Two seconds of five threads: one that runs, waits and is preempted, one that reads, and three
    that only wait for work. Later, the first one waits twice as long."""
    types = [("samples", "count"), ("wall", "nanoseconds")]
    for name, factor in (("wall", 1), ("later", 2)):
        p = Profile(types, ("wall", "nanoseconds"))

        def add(thread, stack, n, ms, state, idle=None):
            labels = [("thread_name", thread), ("state", state)] + ([("idle", idle)] if idle else [])
            p.sample(stack, [n, ms * MS], labels)
        add("main", ["main", "run", "compute", "k:clear_page"], 500, 500, "running")
        add("main", ["main", "run", "fetch", "c:poll", "k:schedule"], 90 * factor, 1000 * factor, "blocked")
        add("main", ["main", "run", "fetch", "k:schedule"], 10, 500, "preempted")
        add("io-1", ["c:start_thread", "serve", "c:read", "k:schedule"], 40, 1000, "blocked")
        add("io-2", ["c:start_thread", "serve", "c:read", "k:schedule"], 40, 1000, "blocked")
        add("loop", ["c:start_thread", "uv_run", "c:epoll_wait", "k:schedule"], 1, 2000, "blocked", "event-loop")
        add("w-1", ["c:start_thread", "worker", "c:futex", "k:schedule"], 1, 2000, "blocked", "pool")
        add("w-2", ["c:start_thread", "worker", "c:futex", "k:schedule"], 1, 2000, "blocked", "pool")
        p.write("%s/%s.pb.gz" % (folder, name))


def times(folder):
    """One thread parses for a second and works for another; the second one works all the time, at
    half the speed in the second half."""
    p = Profile(CPU, ("cpu", "nanoseconds"))
    for ms in range(0, 2000, 20):
        def add(thread, tid, stack, n):
            labels = [("thread_name", thread), ("tid", str(tid)), ("time", (ms * MS, "nanoseconds"))]
            p.sample(stack, [n, n * MS], labels)
        add("alpha", 11, ["main@main.c:10", "parse@main.c:20" if ms < 1000 else "work@main.c:40"], 20)
        add("beta", 12, ["main@main.c:10", "idle@main.c:9"], 10 if ms < 1000 else 5)
    p.write(folder + "/times.pb.gz")


def deep(path):
    """12000 stacks of 40 frames, hardly two of which begin alike: half of them call odd, a quarter
    end in each of four leaves, and a third have the label."""
    p = Profile(CPU, ("cpu", "nanoseconds"))
    r = random.Random(1)
    for i in range(12000):
        stack = ["main@main.c:1"] + ["f%d@f.c:%d" % (k, k) for k in r.choices(range(9), k=36)]
        stack += ["odd@odd.c:7" if i % 2 else "even@even.c:8", "leaf%d@leaf.c:%d" % (i % 4, i % 4)]
        p.sample(stack, [1, MS], [("third", "yes")] if i % 3 == 0 else [])
    p.write(path)


def tall(path):
    """One stack of 61 frames."""
    p = Profile(CPU, ("cpu", "nanoseconds"))
    p.sample(["main@main.c:1"] + ["f%d@f.c:%d" % (i, i) for i in range(60)], [1000, 1000 * MS])
    p.write(path)


def narrow(path):
    p = Profile(CPU, ("cpu", "nanoseconds"))
    p.sample(["main@main.c:1", "wide@main.c:2"], [1000, 1000 * MS])
    for i in range(3000):
        p.sample(["main@main.c:1", "f%d@f.c:%d" % (i, i)], [1, MS])
    p.write(path)


def walk(n, path):
    """As tests/prog/manystacks.c: random walks of random depth, none of them twice."""
    p = Profile(CPU, ("cpu", "nanoseconds"))
    r, seen = random.Random(1), set()
    while len(seen) < n:
        steps = tuple(r.choices(("left@many.c:40", "middle@many.c:41", "right@many.c:42"),
                                k=10 + r.randrange(40)))
        if steps in seen:
            continue
        seen.add(steps)
        stack = ["main@many.c:60"]
        for step in steps:
            stack += ["walk@many.c:48", step]
        p.sample(stack + ["work@many.c:20"], [1, MS])
    p.write(path)


def large(n, path, seed=1):
    """Stacks like those of real programs: few roots, common prefixes, a long tail."""
    r = random.Random(seed)
    p = Profile(CPU, ("cpu", "nanoseconds"))
    names = ["%s::%s_%d" % (r.choice(["core", "net", "parse", "store", "std::__detail"]),
                            r.choice(["visit", "apply", "read", "flush", "lookup", "emplace"]), i)
             for i in range(max(500, n // 20))]
    seen, stacks = set(), []
    while len(stacks) < n:
        if stacks and r.random() < 0.9:
            old = r.choice(stacks[-5000:])
            stack = old[:r.randint(len(old) // 2, len(old))]
        else:
            stack = ("main@main.c:1", "run@main.c:2")
        while len(stack) < 60 and (r.random() < 0.8 or len(stack) < 6):
            i = int(len(names) * r.random() ** 3)
            stack += ("%s@src/f%d.cc:%d" % (names[i], i % 97, i % 13 + 1),)
        if stack in seen:
            continue
        seen.add(stack)
        stacks.append(stack)
        count = int(r.paretovariate(1.2))
        p.sample(stack, [count, count * MS], [("thread_name", "worker-%d" % r.randint(0, 15))])
    p.write(path)


if __name__ == "__main__":
    if sys.argv[1] == "small":
        small(sys.argv[2])
    elif sys.argv[1] == "waits":
        waits(sys.argv[2])
    elif sys.argv[1] == "times":
        times(sys.argv[2])
    elif sys.argv[1] == "walk":
        walk(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "tall":
        tall(sys.argv[2])
    elif sys.argv[1] == "narrow":
        narrow(sys.argv[2])
    elif sys.argv[1] == "deep":
        deep(sys.argv[2])
    else:
        large(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 1)
