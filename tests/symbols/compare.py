#!/usr/bin/python3
"""Compares our names, inline chains and lines with llvm-symbolizer's and eu-addr2line's.

usage: compare.py SYMDUMP SOURCE_ROOT

The fixtures of tests/unit/symbolize are compiled in many ways, and every 13th address of .text is
looked up (fewer in a large one).  Speaks TAP: one assertion per variant and tool.  class Variant
names the accepted differences with their reasons; any other fails.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

STEP = 13
MAX_ADDRESSES = 3000
SHOWN = 5


def run(args, text=None, any_status=False):
    done = subprocess.run(args, input=text, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 or any_status else None


def sections(path):
    """name -> (address, size)"""
    found = {}
    for line in run(["readelf", "-SW", path]).splitlines():
        m = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", line)
        if m:
            found[m[1]] = (int(m[2], 16), int(m[3], 16))
    return found


def symbols(path):
    """[(start, end, name)] of functions"""
    found = []
    for line in run(["readelf", "-sW", path]).splitlines():
        f = line.split()
        if len(f) >= 8 and f[3] in ("FUNC", "NOTYPE", "IFUNC") and f[6] != "UND":
            start = int(f[1], 16)
            found.append((start, start + int(f[2], 0), f[7].split("@")[0]))
    return found


def split_position(text):
    """file:line:column, as all three tools write it; also ' (discriminator 3)'"""
    text = re.sub(r" \(.*\)$", "", text)
    file, line, column = (text.rsplit(":", 2) + ["0", "0"])[:3]
    number = lambda s: int(s) if s.isdigit() else 0
    return file, number(line), number(column)


def frames_by_address(text):
    """Blank-line separated blocks: address, then pairs of name and position."""
    result = {}
    for block in re.split(r"\n(?=0x)", text or ""):
        lines = [line for line in block.splitlines() if line]
        if not lines:
            continue
        chain = []
        for i in range(1, len(lines) - 1, 2):
            name = re.split(r" inlined (?:at|in) ", lines[i])[0]
            chain.append((name, *split_position(lines[i + 1])))
        caller = re.search(r" inlined at (\S+) in (\S+)$", lines[-2]) if chain else None
        if caller:
            # eu-addr2line sometimes has the next frame only here
            chain.append((caller[2], *split_position(caller[1])))
        result[int(lines[0].split()[0].rstrip(":"), 16)] = chain
    return result


def same_file(a, b):
    if a in ("", "??") or b in ("", "??"):
        return a in ("", "??") and b in ("", "??")
    return os.path.normpath(a) == os.path.normpath(b)


def plain(name):
    """without the clone suffix of an outlined part"""
    return name.split(".")[0]


class Variant:
    def __init__(self, path):
        self.path = path
        start, size = sections(path)[".text"]
        step = STEP * max(1, size // STEP // MAX_ADDRESSES)
        self.addresses = list(range(start, start + size, step))
        self.text = "".join("%#x\n" % a for a in self.addresses)
        self.symbols = symbols(path)
        self.labels = {name for start, end, name in self.symbols if start == end}

    def symbols_at(self, address):
        return {plain(n) for s, e, n in self.symbols if s <= address < e}

    def same_name(self, address, ours, theirs, outermost, tool):
        if ours == theirs:
            return True
        if not outermost:
            return False
        if tool == "llvm-symbolizer":
            # LLVM takes the outermost name from the ELF symbol, any alias, with the suffix of an
            # outlined part ("f.cold"); we take it from DWARF.
            names = self.symbols_at(address)
            if plain(theirs) in names:
                return plain(ours) in names or ours in theirs
            # A label inside a function with a size: we name the function.
            return ours in names and theirs in self.labels
        # elfutils has no mangled name if gcc wrote none (static functions, anonymous namespaces);
        # we take it from the symbol.
        return ours in self.symbols_at(address) and \
            (theirs.startswith("operator") or theirs.split("<")[0].lstrip("~") in ours)

    def same_position(self, ours, theirs, tool):
        if tool == "llvm-symbolizer" and ours == ("??", 0, 0) and theirs[1:] == (0, 0):
            # LLVM gives the source file's name from the symbol table, without a line.
            return True
        return same_file(ours[0], theirs[0]) and ours[1:] == theirs[1:]

    def frames_differ(self, address, ours, theirs, tool):
        """How the two chains differ, or None."""
        if len(ours) != len(theirs):
            return "%d frames, not %d" % (len(ours), len(theirs))
        if len(ours) == 1 and re.match(r"\[.*\]\+0x", ours[0][0]) and \
                not self.symbols_at(address):
            # Padding between functions: the others name the nearest symbol before it, whatever
            # its size; we name only addresses that a symbol covers.
            self.n_padding += 1
            return None
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if not self.same_name(address, a[0], b[0], i + 1 == len(ours), tool):
                return "frame %d is '%s', not '%s'" % (i, a[0], b[0])
            if not self.same_position(a[1:], b[1:], tool):
                return "frame %d at %s:%d:%d, not %s:%d:%d" % (i, *a[1:], *b[1:])
        return None

    def compare(self, ours, theirs, tool):
        """The differences as text; self.n_padding counts the addresses that were not compared."""
        self.n_padding = 0
        bad = []
        for address in self.addresses:
            why = self.frames_differ(address, ours.get(address, []), theirs.get(address, []), tool)
            if why:
                bad.append("%#x: %s" % (address, why))
        return bad


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def ok(self, good, text, notes=()):
        self.n += 1
        self.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", self.n, text))
        for note in notes:
            print("# " + note)
        sys.stdout.flush()

    def skip(self, text, why):
        self.n += 1
        print("ok %d - %s # SKIP %s" % (self.n, text, why))


def variants(root, folder):
    """(name, path) of each way to build that works here"""
    c = os.path.join(root, "tests/unit/symbolize/fixture-c.c")
    cxx = os.path.join(root, "tests/unit/symbolize/fixture-cxx.cc")
    rust = os.path.join(root, "tests/unit/symbolize/fixture-rust.rs")
    for cc, cpp in (("gcc", "g++"), ("clang", "clang++")):
        for flags in ("-gdwarf-4 -O0", "-gdwarf-4 -O2", "-gdwarf-5 -O0", "-gdwarf-5 -O2",
                      "-gdwarf-2 -O2", "-gdwarf-3 -O2", "-g1 -O2", "-g -O3 -gz",
                      "-g -O2 -ffunction-sections", "-g -O2 -gsplit-dwarf"):
            for compiler, source in ((cc, c), (cpp, cxx)):
                yield (compiler, flags, source)
    # forms and layouts that matter to the reader of DWARF itself
    for compiler, flags in (("g++", "-gdwarf-5 -O2 -gdwarf64"), ("g++", "-gdwarf-4 -O2 -gdwarf64"),
                            ("clang++", "-gdwarf-5 -O2 -gdwarf64"),
                            ("g++", "-gdwarf-4 -O2 -gz=zlib-gnu"),
                            ("clang++", "-g -O2 -gz=zlib"),
                            ("g++", "-gdwarf-3 -gstrict-dwarf -O3"),
                            ("g++", "-g -O2 -fdebug-types-section"),
                            ("g++", "-gdwarf-4 -O2 -fdebug-types-section"),
                            ("clang++", "-gdwarf-4 -O2 -fdebug-types-section"),
                            ("g++", "-g -O2 -flto"), ("gcc", "-gdwarf-4 -O2 -flto"),
                            ("clang++", "-g -O2 -flto -fuse-ld=lld"),
                            ("clang++", "-g -O2 -flto=thin -fuse-ld=lld"),
                            ("clang++", "-gmlt -O2"),
                            ("g++", "-g -Os -freorder-blocks-and-partition"),
                            ("g++", "-g -O2 -ffunction-sections -Wl,--gc-sections"),
                            ("clang++", "-g -O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections"),
                            ("g++", "-g -O2 -fuse-ld=mold"),
                            ("g++", "-gdwarf-4 -O2 -gsplit-dwarf"),
                            ("clang++", "-gdwarf-4 -O2 -gsplit-dwarf"),
                            ("clang++", "-g -O2 -ffunction-sections -fuse-ld=lld -Wl,--icf=all"),
                            ("clang++", "-gdwarf-4 -gstrict-dwarf -O2"),
                            ("clang++", "-g -O2 -gsplit-dwarf -fsplit-dwarf-inlining"),
                            ("g++", "-g -O2 -fno-dwarf2-cfi-asm -fpatchable-function-entry=2"),
                            ("gcc", "-gdwarf-5 -Og -gcolumn-info"),
                            ("gcc", "-gdwarf-5 -O2 -gno-column-info")):
        yield (compiler, flags, cxx if "++" in compiler else c)
    yield ("rustc", "-g -O", rust)
    nested = os.path.join(folder, "nested.c")
    with open(nested, "w") as f:
        f.write(nested_source())
    for compiler in ("gcc", "clang"):
        for flags in ("-gdwarf-4 -O2", "-gdwarf-5 -O2"):
            yield (compiler, flags, nested)


def nested_source(depth=12):
    """Functions inlined into each other, so many deep."""
    text = "volatile int sink;\n"
    for i in range(depth):
        call = "\tf%d(x + %d);\n\tsink -= x;\n" % (i - 1, i) if i else ""
        text += ("static inline __attribute__((always_inline)) void f%d(int x)\n{\n"
                 "\tsink += x * %d;\n%s}\n" % (i, i + 3, call))
    return text + "int main(int n, char **v)\n{\n\tf%d(n);\n\treturn sink;\n}\n" % (depth - 1)


def build(compiler, flags, source, out):
    if not shutil.which(compiler):
        return "no %s here" % compiler
    done = subprocess.run([compiler] + flags.split() + [source, "-o", out], capture_output=True,
                          text=True, cwd=os.path.dirname(out))
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def check(tap, name, path, symdump, tools):
    v = Variant(path)
    ours = frames_by_address(run([symdump, "-l", path], v.text))
    missing = [a for a in v.addresses if not ours.get(a)]
    tap.ok(not missing, "%s: each of %d addresses has a line" % (name, len(v.addresses)))
    for tool, args in tools:
        if tool == "eu-addr2line" and (".debug_aranges" not in sections(path) or
                                       re.search("split|rustc|-g1|strict|^g.*flto", name)):
            # It opens no .dwo file, finds only units in .debug_aranges (not Rust's), confuses the
            # frames of inlined calls with -g1 and -gstrict-dwarf, and loses those
            # that gcc's link-time optimization describes in another unit (LLVM and GNU
            # addr2line agree with us).
            continue
        # eu-addr2line ends with 1 if it knows nothing about one of the addresses
        theirs = frames_by_address(run([tool] + args + [path], v.text, any_status=True))
        bad = v.compare(ours, theirs, tool)
        tap.ok(not bad, "%s: as %s (%d in padding)" % (name, tool, v.n_padding), bad[:SHOWN])
        tap.ok(v.n_padding * 4 < len(v.addresses), "%s: little padding" % name)


# Ways to write linker stubs: compiler, flags, disassembler.
STUBS = (
    ("gcc", "-O1", "objdump"),
    ("gcc", "-O1 -Wl,-z,now", "objdump"),
    ("gcc", "-O1 -fcf-protection=full -Wl,-z,ibtplt", "objdump"),
    ("clang", "-O1 -fuse-ld=lld", "objdump"),
    ("clang", "-O1 -fuse-ld=lld --target=aarch64-linux-gnu -nostdlib -shared -fPIC",
     "llvm-objdump"),
    ("clang", "-O1 -fuse-ld=lld --target=aarch64-linux-gnu -nostdlib -shared -fPIC "
     "-mbranch-protection=bti -Wl,-z,force-bti", "llvm-objdump"),
)
STUB_SOURCE = """
extern void *malloc(unsigned long), *calloc(unsigned long, unsigned long), free(void *);
int puts(const char *);
int main(int n, char **v)
{
	void *(*volatile f)(unsigned long, unsigned long) = calloc;
	void *p = malloc(n), *q = f(n, 1);
	free(p);
	free(q);
	return puts(v[0]) + puts(v[n - 1]);
}
"""


def check_stubs(tap, folder, symdump):
    """Compares our names of linker stubs with a disassembler's."""
    source = os.path.join(folder, "stubs.c")
    with open(source, "w") as f:
        f.write(STUB_SOURCE)
    for n, (compiler, flags, disassembler) in enumerate(STUBS):
        name = "stubs of %s %s" % (compiler, flags)
        path = os.path.join(folder, "s%d" % n)
        if not shutil.which(disassembler):
            tap.skip(name, "no %s here" % disassembler)
            continue
        why = build(compiler, flags, source, path)
        if why:
            tap.skip(name, why)
            continue
        labels = re.findall(r"^([0-9a-f]+) <(\w+@plt)>:\n((?: +[0-9a-f]+:.*\n)+)",
                            run([disassembler, "-d", path]), re.M)
        wanted = {}
        for _, label, code in labels:
            for address in re.findall(r"^ +([0-9a-f]+):", code, re.M):
                wanted[int(address, 16)] = label
        ours = frames_by_address(run([symdump, path], "".join("%x\n" % a for a in wanted)))
        bad = ["%#x is %s, not %s" % (a, ours[a][0][0], w) for a, w in wanted.items()
               if ours[a][0][0] != w]
        tap.ok(wanted and not bad, "%s: %d stubs" % (name, len(labels)), bad[:SHOWN])


# ---- the same debug information in other places ----------------------------------

def check_lost(tap, symdump, text, what, path):
    """A part of the debug information is lost: functions have names from the symbol table, and -v
    prints which part is missing."""
    done = subprocess.run([symdump, "-l", "-v", path], input=text, capture_output=True, text=True)
    told = re.search("a part of its debug information, '([^']+)', is missing", done.stderr)
    tap.ok(told and not os.path.exists(told[1]), "lost: %s: reported" % what, [done.stderr])

    def outermost(text):
        return {a: plain(chain[-1][0]) for a, chain in frames_by_address(text).items()}
    want = outermost(run([symdump, "-l", "-n", path], text))
    got = outermost(done.stdout)
    differ = ["%#x: %s, not %s" % (a, got[a], want[a]) for a in want
              if got[a] != want[a] and not want[a].startswith("[")]
    tap.ok(len(want) > 50 and not differ, "lost: %s: functions are named" % what, differ[:SHOWN])


class Kept:
    """A program whose names were compared above, with its debug information in other places."""

    def __init__(self, tap, folder, symdump, source):
        self.tap, self.symdump = tap, symdump
        self.folder = os.path.join(folder, "kept")
        os.makedirs(self.folder)
        self.plain = self.path("plain", "program")
        why = build("g++", "-g -O2 -Wl,--build-id", source, self.plain)
        if why:
            sys.exit("compare.py: " + why)
        self.text = Variant(self.plain).text
        self.wanted = self.ask(self.plain)
        note = run(["readelf", "-n", self.plain])
        self.id = re.search(r"Build ID: (\w+)", note)[1]

    def path(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def ask(self, path, *options):
        return run([self.symdump, "-l", *options, path], self.text)

    def same(self, what, path, *options):
        self.tap.ok(self.ask(path, *options) == self.wanted, "kept: " + what)

    def differ(self, what, path, *options):
        """No names and lines from DWARF, and -v prints why."""
        done = subprocess.run([self.symdump, "-l", "-v", *options, path], input=self.text,
                              capture_output=True, text=True)
        self.tap.ok(done.returncode == 0 and "fixture-cxx.cc" not in done.stdout,
                    "kept: %s: not used" % what)
        self.tap.ok("was not used" in done.stderr, "kept: %s: reported" % what, [done.stderr])

    def copy(self, *parts):
        path = self.path(*parts)
        shutil.copy(self.plain, path)
        return path

    def stripped(self, folder, link=True):
        """A program without symbols, with a link to program.debug, and that file."""
        path, debug = self.copy(folder, "program"), self.path(folder, "program.debug")
        run(["objcopy", "--only-keep-debug", path, debug])
        run(["objcopy", "--strip-all"] + ["--add-gnu-debuglink=" + debug] * link + [path])
        return path, debug

    def check_packed(self):
        for how in ("zlib", "zlib-gnu", "zstd"):
            path = self.path("packed-" + how, "program")
            done = subprocess.run(["objcopy", "--compress-debug-sections=" + how, self.plain, path],
                                  capture_output=True)
            if done.returncode:
                self.tap.skip("kept: compressed by " + how, "this objcopy cannot")
            else:
                self.same("compressed by " + how, path)

    def check_dwz(self):
        if not shutil.which("dwz"):
            self.tap.skip("kept: by dwz", "no dwz here")
            return
        for n, flags in enumerate(([], ["-5"])):
            alone = self.copy("dwz%d" % n, "program")
            subprocess.run(["dwz", *flags, alone], check=True)
            self.same("by dwz %s" % " ".join(flags), alone)
            pair = [self.copy("multi%d" % n, f, "program") for f in ("1", "2")]
            common = self.path("multi%d" % n, "common")
            # -5 requires DWARF 5 in all units
            done = subprocess.run(["dwz", *flags, "-m", common, "-M", common] + pair)
            if done.returncode or not os.path.exists(common):
                self.tap.skip("kept: by dwz %s -m" % " ".join(flags), "dwz cannot")
                continue
            self.same("by dwz %s, in a common file" % " ".join(flags), pair[0])
            os.rename(common, common + ".away")
            check_lost(self.tap, self.symdump, self.text, "by dwz %s" % " ".join(flags), pair[0])

    def check_places(self):
        path, debug = self.stripped("same")
        self.same("debug link, same folder", path)
        path, debug = self.stripped("sub")
        os.renames(debug, self.path("sub", ".debug", "program.debug"))
        self.same("debug link, .debug/", path)
        path, debug = self.stripped("global")
        tree = self.path("global-debug", "x")
        os.renames(debug, os.path.dirname(tree) + os.path.dirname(path) + "/program.debug")
        self.same("debug link, global folder", path, "-d", os.path.dirname(tree))
        path, debug = self.stripped("by-id", link=False)
        tree = self.path("id-debug", ".build-id", self.id[:2], self.id[2:] + ".debug")
        os.rename(debug, tree)
        self.same("build id", path, "-d", self.path("id-debug"))
        self.differ_root(tree)

    def differ_root(self, debug):
        """Below the root of a container."""
        root = self.path("root")
        where = self.path("root", "usr/lib/debug/.build-id", self.id[:2], self.id[2:] + ".debug")
        shutil.copy(debug, where)
        path, own = self.stripped("in-root", link=False)
        os.unlink(own)
        self.same("build id, below another root", path, "-r", root)

    def check_misfits(self):
        path, debug = self.stripped("crc")
        with open(debug, "ab") as f:
            f.write(b"more")
        self.differ("debug link with another CRC", path)
        path, debug = self.stripped("other-id")
        run(["objcopy", "--update-section", ".note.gnu.build-id=/proc/self/cmdline", debug])
        other = self.path("other-id", "other")
        build("g++", "-g -O1 -Wl,--build-id=0xabcdabcdabcd", self.source_of(), other)
        os.replace(other, debug)
        self.differ("debug link to a file with another build id", path)

    def source_of(self):
        return re.search(r"^(/.*fixture-cxx\.cc):", self.wanted, re.M)[1]

    def check_tricks(self):
        """Nothing hangs, and only regular files are read."""
        path, debug = self.stripped("fifo")
        os.unlink(debug)
        os.mkfifo(debug)
        self.tap.ok(self.ask(path), "kept: the debug file is a FIFO")
        path, debug = self.stripped("loop")
        os.unlink(debug)
        os.symlink("program.debug", debug)
        self.tap.ok(self.ask(path), "kept: the debug file is a symbolic link to itself")
        link = self.path("upwards", "link")
        with open(link, "wb") as f:
            f.write(b"../same/program.debug\0" + bytes(2) + bytes(4))
        path = self.copy("upwards", "program")
        run(["objcopy", "--strip-all", "--add-section", ".gnu_debuglink=" + link, path])
        self.tap.ok("fixture-cxx.cc" not in self.ask(path), "kept: a debug link that leads upwards")

    def check_mini(self):
        if not shutil.which("xz"):
            self.tap.skip("kept: .gnu_debugdata", "no xz here")
            return
        path = self.copy("mini", "program")
        mini = self.path("mini", "symbols")
        run(["objcopy", "--only-keep-debug", "--strip-debug", path, mini])
        subprocess.run(["xz", mini], check=True)
        run(["objcopy", "--strip-all", "--add-section", ".gnu_debugdata=" + mini + ".xz", path])
        self.tap.ok(self.ask(path) == self.ask(self.plain, "-n"), "kept: .gnu_debugdata")

    def check_cut_short(self):
        """A file that is truncated while it is read does not crash the reader."""
        size = os.path.getsize(self.plain)
        for keep in (0, 100, size // 4, size // 2, size - 4096):
            path = self.copy("cut", "program")
            p = subprocess.Popen([self.symdump, "-l", path], stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
            half = len(self.text) // 2
            p.stdin.write(self.text[:half])
            p.stdin.flush()
            os.truncate(path, keep)
            p.stdin.write(self.text[half:])
            p.stdin.close()
            self.tap.ok(p.wait() >= 0, "kept: truncated to %d bytes after it was opened" % keep)

    def check_timeout(self):
        done = subprocess.run([self.symdump, "-l", "-v", "-T", "1", self.plain], input=self.text,
                              capture_output=True, text=True)
        self.tap.ok(done.returncode == 0 and len(frames_by_address(done.stdout)) ==
                    len(frames_by_address(self.wanted)), "kept: every address has a name after a timeout")
        self.tap.ok("--symbol-timeout" in done.stderr, "kept: the timeout is reported", [done.stderr])

    def check_all(self):
        self.check_packed()
        self.check_dwz()
        self.check_places()
        self.check_misfits()
        self.check_tricks()
        self.check_mini()
        self.check_cut_short()
        self.check_timeout()


def check_dwp(tap, folder, symdump, source):
    """Split units give the same names in a .dwp file as in .dwo files."""
    for n, (compiler, flags, tool) in enumerate((
            ("g++", "-gdwarf-5", "llvm-dwp"), ("g++", "-gdwarf-4", "llvm-dwp"),
            ("clang++", "-gdwarf-5", "llvm-dwp"), ("clang++", "-gdwarf-4", "llvm-dwp"),
            ("g++", "-gdwarf-4", "dwp"))):
        name = "%s %s -gsplit-dwarf, %s" % (compiler, flags, tool)
        where = os.path.join(folder, "dwp%d" % n)
        os.makedirs(where)
        path = os.path.join(where, "program")
        if not shutil.which(tool):
            tap.skip(name, "no %s here" % tool)
            continue
        why = build(compiler, flags + " -O2 -gsplit-dwarf", source, path)
        if why:
            tap.skip(name, why)
            continue
        text = Variant(path).text
        apart = run([symdump, "-l", path], text)
        done = subprocess.run([tool, "-e", path, "-o", path + ".dwp"], capture_output=True)
        if done.returncode:
            tap.skip(name, "%s failed" % tool)
            continue
        for f in os.listdir(where):
            if f.endswith(".dwo"):
                os.unlink(os.path.join(where, f))
        together = run([symdump, "-l", path], text)
        tap.ok(together == apart and "??:0" != apart, name)
        os.unlink(path + ".dwp")
        tap.ok(run([symdump, "-l", path], text) != apart, name + ": it came from the .dwp file")
        check_lost(tap, symdump, text, name, path)


# ---- relocatable files, as kernel modules are ------------------------------------------

RELOCATABLE = (
    ("gcc", "-gdwarf-4 -O2"), ("gcc", "-gdwarf-5 -O2"), ("gcc", "-gdwarf-5 -O2 -gz"),
    ("gcc", "-gdwarf-4 -O2 -ffunction-sections"), ("gcc", "-gdwarf-5 -O2 -ffunction-sections"),
    ("gcc", "-gdwarf-5 -O2 -gdwarf64"), ("clang", "-gdwarf-4 -O2"), ("clang", "-gdwarf-5 -O2"),
    ("clang", "-gdwarf-4 -O2 -ffunction-sections"),
    ("clang", "-gdwarf-5 -O2 -ffunction-sections"),
    ("clang", "-gdwarf-4 -O2 -ffunction-sections --target=aarch64-linux-gnu"),
    ("clang", "-gdwarf-5 -O2 -ffunction-sections --target=aarch64-linux-gnu"),
)
MODULE_BASE = 0xffffffffc0100000


def code_sections(path):
    """[(name, size)] of executable sections"""
    found = re.findall(r"^\s*\[\s*\d+\]\s+(\S+)\s+PROGBITS\s+\w+\s+\w+\s+(\w+)\s+\w+\s+AX\b",
                       run(["readelf", "-SW", path]), re.M)
    return [(name, int(size, 16)) for name, size in found if int(size, 16)]


def link_at(module, places, out):
    """Links a module as the kernel does.  None, or why it failed."""
    script = out + ".ld"
    with open(script, "w") as f:
        f.write("SECTIONS {\n")
        for name, address in places.items():
            f.write("\t%s %#x : { *(%s) }\n" % (name, address, name))
        f.write("}\n")
    # Calls of libc's functions are unresolved: the result never runs.
    done = subprocess.run(["ld.lld", "--unresolved-symbols=ignore-all", "--noinhibit-exec", "-e0",
                           "-T", script, module, "-o", out], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def check_relocatable(tap, folder, symdump, tools, fixture):
    """A relocatable file with each section at an address of its own, as if it were linked there."""
    nested = os.path.join(folder, "nested-module.c")
    with open(nested, "w") as f:
        f.write(nested_source())
    for n, (compiler, flags) in enumerate(RELOCATABLE):
        # The headers of the other architecture are not installed.
        source = nested if "--target" in flags else fixture
        name = "relocatable: %s %s %s" % (compiler, flags, os.path.basename(source))
        module, linked = (os.path.join(folder, "module%d.%s" % (n, e)) for e in ("o", "linked"))
        if not shutil.which("ld.lld"):
            tap.skip(name, "no ld.lld here")
            continue
        why = build(compiler, flags + " -c -fno-pic", source, module)
        if why:
            tap.skip(name, why)
            continue
        code = code_sections(module)
        places = {s: MODULE_BASE + 0x10000 * i for i, (s, _) in enumerate(code)}
        why = link_at(module, places, linked)
        if why:
            tap.skip(name, why)
            continue
        v = Variant(linked)
        by_section = {s: range(places[s], places[s] + size, STEP) for s, size in code}
        v.addresses = [a for addresses in by_section.values() for a in addresses]
        v.text = "".join("%#x\n" % a for a in v.addresses)
        at = lambda some: ["-R%s=%#x" % (s, places[s]) for s in some]
        answer = run([symdump, "-l", *at(places), module], v.text)
        ours = frames_by_address(answer)
        named = [a for a in v.addresses if ours.get(a, [("",) * 4])[0][1].endswith(".c")]
        tap.ok(len(named) > 0.9 * len(v.addresses), "%s: %d addresses in %d sections" %
               (name, len(v.addresses), len(code)), [str(len(named))])
        for tool, args in tools:
            if tool == "eu-addr2line" and ".debug_aranges" not in sections(linked):
                continue
            theirs = frames_by_address(run([tool] + args + [linked], v.text, any_status=True))
            bad = v.compare(ours, theirs, tool)
            tap.ok(not bad, "%s: as %s of the linked file (%d in padding)" %
                   (name, tool, v.n_padding), bad[:SHOWN])
        # The kernel frees .init.text and no longer has its address.
        for lost in list(places)[:-1] if "sections" in flags else ():
            rest = [s for s in places if s != lost]
            text = "".join("%#x\n" % a for s in rest for a in by_section[s])
            answer = frames_by_address(run([symdump, "-l", *at(rest), module], text))
            bad = ["%#x" % a for s in rest for a in by_section[s] if answer.get(a) != ours[a]]
            tap.ok(not bad, "%s: without an address for %s" % (name, lost), bad[:SHOWN])


def main():
    symdump, root = sys.argv[1:3]
    tap = Tap()
    tools = []
    for tool, args in (("llvm-symbolizer", ["--inlines", "--no-demangle", "-a", "--obj"]),
                       ("eu-addr2line", ["-f", "-i", "-a", "-A", "-e"])):
        if shutil.which(tool):
            tools.append((tool, args))
        else:
            tap.skip("all variants as %s" % tool, "%s is not installed" % tool)
    with tempfile.TemporaryDirectory() as folder:
        for n, (compiler, flags, source) in enumerate(variants(root, folder)):
            name = "%s %s %s" % (compiler, flags, os.path.basename(source))
            path = os.path.join(folder, "v%d" % n)
            why = build(compiler, flags, source, path)
            if why:
                tap.skip(name, why)
                continue
            check(tap, name, path, symdump, tools)
            if flags == "-gdwarf-5 -O2" and compiler.startswith("g"):
                bare = path + "-no-aranges"
                run(["objcopy", "-R", ".debug_aranges", path, bare])
                check(tap, name + ", no .debug_aranges", bare, symdump, tools)
        cxx = os.path.join(root, "tests/unit/symbolize/fixture-cxx.cc")
        check_dwp(tap, folder, symdump, cxx)
        Kept(tap, folder, symdump, cxx).check_all()
        check_relocatable(tap, folder, symdump, tools,
                          os.path.join(root, "tests/unit/symbolize/fixture-c.c"))
        check_stubs(tap, folder, symdump)
    print("1..%d" % tap.n)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
