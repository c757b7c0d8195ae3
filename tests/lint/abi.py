#!/usr/bin/python3
"""libcprof's binary interface: what is exported is in the map file, the header and the man page."""
import os
import re
import shutil
import subprocess
import tempfile

import tap

FOLDER = os.path.join(tap.BUILD, "lib", "abi")
SHARED = os.path.join(FOLDER, "libcprof.so")
STATIC = os.path.join(FOLDER, "libcprof.a")
# Writable data that is not ours to avoid: the loader's, libiberty's, how libpfm4 was set up, once,
# and the capabilities that cprof's own file gave (base/rights), which belong to the process. The
# seed of hashes (base/hash) does not change.
DATA = {"first_break", "name", "_xexit_cleanup",
        "rights_kept", "rights_are_raised",
        "__dso_handle", "completed.0", "once", "init_code", "api", "hash_seed", "hash_factor",
        ".data", ".bss", "__TMC_END__", "__bss_start", "_edata", "_end", "_DYNAMIC", "_GLOBAL_OFFSET_TABLE_"}

header = tap.read("lib/cprof.h")
mapped = set(re.findall(r"^\t(cprof_\w+);$", tap.read("lib/abi/libcprof.map"), re.M))
page = set(re.findall(r"^\.Fn (\w+)", tap.read("man/libcprof.3"), re.M))
plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
inline = set(re.findall(r"^static inline [\w ]+?\**(cprof_\w+)\(", plain, re.M))
declared = set(re.findall(r"^(?!static|\t|#|\s)[\w ]+?\**(cprof_\w+)\([^{]*?\);", plain, re.M | re.S))
declared -= inline


def compare(have, want, where):
    return (["%s is not %s" % (n, where[0]) for n in sorted(want - have)] +
            ["%s is %s" % (n, where[1]) for n in sorted(have - want)])


def dynamic():
    for line in tap.output("nm", "-D", "--defined-only", SHARED).splitlines():
        m = re.match(r"[0-9a-f]+ (\w) (\w+)@@(\w+)$", line)
        if m:
            yield m.group(1), m.group(2), m.group(3)


def other_symbols():
    for line in tap.output("nm", "-D", "--defined-only", SHARED).splitlines():
        name = line.split()[-1]
        if not name.startswith(("cprof_", "LIBCPROF_", "__asan", "__ubsan", "__tsan")):
            yield "%s is exported" % name
    for kind, name, version in dynamic():
        if kind != "T" or version != "LIBCPROF_1":
            yield "%s is of type %s, version %s" % (name, kind, version)


def static_symbols():
    return set(re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$",
                          tap.output("nm", "-g", "--defined-only", STATIC), re.M))


def writable():
    for line in tap.output("objdump", "-t", SHARED).splitlines():
        m = re.match(r"[0-9a-f]+ .{7} (\.data|\.bss|\.tdata|\.tbss)\t[0-9a-f]+ +(?:\.\w+ )?(\S+)$", line)
        if m and m.group(2) not in DATA:
            yield "%s in %s" % (m.group(2), m.group(1))


def comments_missing():
    """Each function, or the one of its group, has a comment right before it."""
    for name in sorted(declared):
        at = re.search(r"^[^\n]*\b%s\(" % name, header, re.M).start()
        group = header[:at].rsplit("\n\n", 1)[-1]
        line = header[at:header.index("\n", header.index(";", at))]
        if "/*" not in group and "/*" not in line:
            yield "%s has no comment" % name


def does_not_compile():
    text = "#include <cprof.h>\n#include <cprof-labels.h>\nint main(void) { return 0; }\n"
    for compiler, standard, ending in (("gcc", "c99", "c"), ("gcc", "c11", "c"),
                                       ("g++", "c++11", "cc"), ("g++", "c++20", "cc")):
        if not shutil.which(compiler):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x." + ending)
            with open(path, "w") as f:
                f.write(text)
            # cprof-labels.h needs GNU C, with any of the standards
            done = subprocess.run([compiler, "-std=" + standard, "-Wall", "-Wextra", "-Werror",
                                   "-D_GNU_SOURCE", "-fsyntax-only", "-isystem", "/usr/include",
                                   "-I", os.path.join(tap.ROOT, "lib"), path],
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                yield "%s -std=%s: %s" % (compiler, standard, done.stderr[:500])


tap.check(compare({n for _, n, _ in dynamic()}, mapped, ("exported", "exported, not in the map")),
          "the shared library exports the names in libcprof.map")
tap.check(other_symbols(), "with the version LIBCPROF_1, and nothing else")
tap.check(compare(static_symbols(), mapped, ("global in libcprof.a", "global in libcprof.a only")),
          "no other name of the static library can meet one of a program")
tap.check(compare(declared, mapped, ("declared in cprof.h", "declared, not in the map")),
          "cprof.h declares them all")
tap.check(comments_missing(), "with a comment")
tap.check(compare(page & (mapped | inline), mapped | inline, ("in libcprof.3", "")),
          "libcprof.3 describes them all")
tap.check(("%s in libcprof.3 does not exist" % n for n in sorted(page)
           if n.startswith("cprof_") and n not in mapped | inline), "and no other")
tap.check(writable(), "the library has no writable data of its own")
tap.check(does_not_compile(), "the headers are accepted as C99, C11, C++11, C++20")
tap.done()
