#!/usr/bin/python3
"""oddprofiles.py FOLDER: writes profiles that are valid but unusual.

    odd-ids            ids with gaps and beyond 32 bits, locations before functions in the file
    odd-unpacked       repeated numbers not packed, unknown fields between the known ones
    odd-split          a packed field in several pieces, messages of one kind not contiguous
    odd-duplicates     the same stack several times, in duplicated locations and functions
    odd-negative       negative values, and samples that cancel each other
    odd-nameless       locations without lines, without mapping, functions without name
    odd-recursive      direct and indirect recursion, inlined and not
    odd-labels         text and numbers, several with one key, in any order, with units
    odd-units          bytes in megabytes and kilobytes
    odd-types          five sample types, the default not the last
    odd-empty          no samples; and samples without a stack
    odd-drop           drop_frames and keep_frames
    odd-files          functions with the same name in several files, lines 0
    odd-deep           a stack of 2000 frames
    odd-random-N       a random mix
"""
import gzip
import os
import random
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def body(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, numbers):
    return body(field, b"".join(varint(n) for n in numbers)) if numbers else b""


class Profile:
    """Parts are (order, bytes), so a test can write them in any order."""

    def __init__(self, types=(("samples", "count"), ("cpu", "nanoseconds"))):
        self.strings = {"": 0}
        self.parts = []
        self.n_locations = self.n_functions = self.n_mappings = 0
        self.types = types
        self.location_id = lambda n: n
        self.function_id = lambda n: n
        self.pack = True
        for kind, unit in types:
            self.add(1, number(1, self.s(kind)) + number(2, self.s(unit)))

    def s(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def add(self, field, data):
        self.parts.append((field, body(field, data)))

    def scalar(self, field, n):
        self.parts.append((field, number(field, n)))

    def mapping(self, filename, start=0x1000, size=0x10000, offset=0, build_id=""):
        self.n_mappings += 1
        self.add(3, number(1, self.n_mappings) + number(2, start) + number(3, start + size) +
                 number(4, offset) + number(5, self.s(filename)) + number(6, self.s(build_id)) +
                 number(7, 1))
        return self.n_mappings

    def function(self, name, filename="", start=0):
        self.n_functions += 1
        i = self.function_id(self.n_functions)
        self.add(5, number(1, i) + number(2, self.s(name)) + number(3, self.s(name)) +
                 number(4, self.s(filename)) + number(5, start))
        return i

    def location(self, lines, mapping=1, address=None):
        """lines: (function id, line), innermost first."""
        self.n_locations += 1
        i = self.location_id(self.n_locations)
        address = 0x1000 + 16 * self.n_locations if address is None else address
        data = number(1, i) + number(2, mapping) + number(3, address)
        for function, line in lines:
            data += body(4, number(1, function) + number(2, line))
        self.add(4, data)
        return i

    def at(self, name, line=1, filename=None):
        """A location with one line in its own function."""
        return self.location([(self.function(name, name + ".c" if filename is None else filename),
                               line)])

    def sample(self, stack, values, labels=()):
        pack = packed if self.pack else lambda f, ns: b"".join(number(f, n) for n in ns)
        data = pack(1, stack) + pack(2, values)
        for label in labels:
            key, value = label[0], label[1]
            one = number(1, self.s(key))
            if isinstance(value, str):
                one += number(2, self.s(value))
            else:
                one += number(3, value)
                if len(label) > 2:
                    one += number(4, self.s(label[2]))
            data += body(3, one)
        self.add(2, data)

    def write(self, path, order=None):
        self.add(11, number(1, self.s("cpu")) + number(2, self.s("nanoseconds")))
        self.scalar(12, 1000000)
        self.scalar(9, 1600000000000000000)
        self.scalar(10, 3000000000)
        for text in self.strings:
            self.parts.append((6, body(6, text.encode("utf-8", "surrogateescape"))))
        parts = sorted(self.parts, key=lambda p: order(p[0])) if order else self.parts
        data = b"".join(p[1] for p in parts)
        with open(path, "wb") as f:
            f.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


def three(p):
    return p.at("leaf"), p.at("middle"), p.at("main")


def ids():
    p = Profile()
    p.location_id = lambda n: (1 << 40) + 7 * n
    p.function_id = lambda n: 0xffffffff00000000 + 1000 * n
    p.mapping("/bin/ids")
    leaf, middle, main = three(p)
    p.sample([leaf, middle, main], [1, 10])
    p.sample([middle, main], [2, 20])
    return p, lambda field: -field


def unpacked():
    p = Profile()
    p.pack = False
    p.mapping("/bin/unpacked")
    leaf, middle, main = three(p)
    p.sample([leaf, middle, main], [1, 10])
    p.parts.append((99, body(99, b"unknown") + varint(100 << 3 | 1) + b"12345678" +
                    varint(101 << 3 | 5) + b"1234" + number(102, 1 << 63)))
    p.sample([middle, main], [2, 20])
    return p


def split():
    p = Profile()
    p.mapping("/bin/split")
    leaf, middle, main = three(p)
    p.add(2, packed(1, [leaf]) + packed(2, [5]) + packed(1, [middle]) + number(1, main) +
          number(2, 50))
    other = p.at("other")
    p.sample([other, main], [6, 60])
    return p


def duplicates():
    p = Profile()
    p.mapping("/bin/duplicates")
    first, second = p.function("f", "f.c", 1), p.function("f", "f.c", 1)
    a, b = p.location([(first, 3)], address=0x1100), p.location([(second, 3)], address=0x1100)
    main = p.at("main")
    for leaf in (a, b, a, b):
        p.sample([leaf, main], [1, 10])
    return p


def negative():
    p = Profile()
    p.mapping("/bin/negative")
    leaf, middle, main = three(p)
    p.sample([leaf, main], [5, 50])
    p.sample([leaf, main], [-5, -50])
    p.sample([middle, main], [-3, -70])
    p.sample([leaf, middle, main], [2, 20])
    p.sample([main], [9, 0])
    return p


def nameless():
    p = Profile()
    one, two = p.mapping("/usr/lib/libone.so.1"), p.mapping("/opt/libtwo.so", 0x100000)
    nothing = p.mapping("", 0x200000)
    main = p.at("main")
    places = [p.location([], one), p.location([], two), p.location([], nothing),
              p.location([], 0, 0), p.location([], one, 0x1fff)]
    for i, place in enumerate(places):
        p.sample([place, main], [1 << i, 10 << i])
    p.sample([places[0], places[1], main], [100, 1000])
    return p


def recursive():
    p = Profile()
    p.mapping("/bin/recursive")
    f, g, main = p.function("f", "f.c"), p.function("g", "g.c"), p.at("main")
    lf, lg = p.location([(f, 10)]), p.location([(g, 20)])
    inlined = p.location([(g, 21), (f, 11), (f, 12)])
    p.sample([lf, lf, lf, main], [1, 10])
    p.sample([lg, lf, lg, lf, main], [2, 20])
    p.sample([inlined, inlined, main], [4, 40])
    p.sample([lf, main], [8, 80])
    return p


def labels():
    p = Profile()
    p.mapping("/bin/labels")
    leaf, middle, main = three(p)
    p.sample([leaf, main], [1, 10], [("tid", "12"), ("kind", "red")])
    p.sample([leaf, main], [2, 20], [("kind", "red"), ("tid", "12")])
    p.sample([leaf, main], [4, 40], [("kind", "blue"), ("bytes", 4096, "bytes")])
    p.sample([middle, main], [8, 80], [("bytes", 100, "bytes"), ("kind", "dark red")])
    p.sample([middle, main], [16, 160], [("bytes", 3000, "bytes"), ("request", 7)])
    p.sample([main], [32, 320], [("kind", "red"), ("kind", "green")])
    p.sample([main], [64, 640])
    return p


def units():
    p = Profile((("alloc_objects", "count"), ("alloc_space", "megabytes"),
                 ("inuse_space", "kB"), ("latency", "milliseconds")))
    p.mapping("/bin/units")
    leaf, middle, main = three(p)
    p.sample([leaf, middle, main], [3, 5, 700, 12])
    p.sample([middle, main], [4, 1, 20000, 100000])
    return p


def types():
    p = Profile((("a", "count"), ("b", "widgets"), ("c", "bytes"), ("d", "nanoseconds"),
                 ("e", "count")))
    p.scalar(14, p.s("c"))
    p.mapping("/bin/types")
    leaf, middle, main = three(p)
    p.sample([leaf, middle, main], [1, 0, 2048, 5, 0])
    p.sample([middle, main], [0, 0, 0, 0, 0])
    p.sample([middle], [0, 7, 1, 0, 1])
    return p


def empty():
    p = Profile()
    p.mapping("/bin/empty")
    p.sample([], [3, 30])
    return p


def drop():
    p = Profile()
    p.scalar(7, p.s("alloc.*|.*trampoline"))
    p.scalar(8, p.s("allocate_kept"))
    p.mapping("/bin/drop")
    main, work = p.at("main"), p.at("work")
    alloc, deep, kept = p.at("alloc(int, long)"), p.at("deep"), p.at("allocate_kept")
    tramp = p.at("x_trampoline")
    mixed = p.location([(p.function("inner"), 1), (p.function("alloc_inlined"), 2),
                        (p.function("outer"), 3)])
    p.sample([deep, alloc, work, main], [1, 10])
    p.sample([deep, kept, work, main], [2, 20])
    p.sample([work, tramp], [4, 40])
    p.sample([deep, mixed, main], [8, 80])
    p.sample([mixed], [16, 160])
    return p


def files():
    p = Profile()
    p.mapping("/bin/files")
    main = p.at("main", 5)
    a = p.location([(p.function("init", "src/a.c", 1), 10)])
    b = p.location([(p.function("init", "src/b.c", 1), 10)])
    c = p.location([(p.function("init", "", 1), 0)])
    d = p.location([(p.function("init", "src/a.c", 1), 0)])
    for i, leaf in enumerate((a, b, c, d)):
        p.sample([leaf, main], [1 << i, 10 << i])
    return p


def deep():
    p = Profile()
    p.mapping("/bin/deep")
    frames = [p.at("f%d" % i) for i in range(40)]
    p.sample([frames[i % 40] for i in range(2000)], [7, 70])
    p.sample(frames[:20], [3, 30])
    return p


def at_random(seed):
    r = random.Random(seed)
    p = Profile()
    maps = [p.mapping("/lib/lib%d.so" % i, 0x100000 * (i + 1)) for i in range(4)]
    functions = [p.function(r.choice(["f", "g", "h", "ns::k", "T.m"]) + str(r.randrange(12)),
                            r.choice(["", "a.c", "b/c.go", "/x/y.cc"]), r.randrange(3))
                 for _ in range(30)]
    places = [p.location([(r.choice(functions), r.randrange(4))
                          for _ in range(r.choice([0, 1, 1, 1, 2, 3]))],
                         r.choice(maps + [0]), 0x1000 * r.randrange(1, 40)) for _ in range(60)]
    for _ in range(400):
        tags = [("kind", "k%d" % r.randrange(4))] if r.random() < 0.5 else []
        if r.random() < 0.3:
            tags.append(("bytes", r.randrange(1, 9000), "bytes"))
        n = r.randrange(1, 50)
        p.sample([r.choice(places) for _ in range(r.randrange(0, 12))], [n, n * 1000], tags)
    return p


ALL = {"ids": ids, "unpacked": unpacked, "split": split, "duplicates": duplicates,
       "negative": negative, "nameless": nameless, "recursive": recursive, "labels": labels,
       "units": units, "types": types, "empty": empty, "drop": drop, "files": files, "deep": deep}


def main():
    folder = sys.argv[1]
    for name, make in ALL.items():
        made = make()
        p, order = made if isinstance(made, tuple) else (made, None)
        p.write(os.path.join(folder, "odd-%s.pb" % name), order)
    for seed in range(4):
        at_random(seed).write(os.path.join(folder, "odd-random-%d.pb.gz" % seed))


if __name__ == "__main__":
    main()
