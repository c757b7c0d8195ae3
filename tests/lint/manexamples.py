#!/usr/bin/python3
"""The examples of libcprof(3) compile."""
import os
import re
import shutil
import subprocess

import tap

CC = shutil.which(os.environ.get("CC", "cc").split()[-1]) or shutil.which("gcc")
HEAD = """#include <cprof.h>
#include <stdio.h>
void sort_rows(void);
void example(void);
void example(void)
{
"""


def examples(page):
    for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.M | re.S):
        if "struct cprof_" in block and not block.startswith("class"):
            yield block.replace("\\e", "\\")


def compiles(text):
    r = subprocess.run([CC, "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-fsyntax-only", "-I",
                        os.path.join(tap.ROOT, "lib"), "-x", "c", "-"],
                       input=HEAD + text + "}\n", capture_output=True, text=True)
    return r.stderr.splitlines()


found = list(examples(tap.read("man/libcprof.3")))
tap.check([] if len(found) >= 2 else ["%d found" % len(found)], "libcprof.3 has examples in C")
for number, example in enumerate(found, 1):
    tap.check(compiles(example), "example %d of libcprof.3 compiles" % number)
tap.done()
