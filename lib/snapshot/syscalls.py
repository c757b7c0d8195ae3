#!/usr/bin/env python3
"""The names of this machine's system calls, as a C table sorted by number.

Usage: syscalls.py COMPILER...; prints the table.
"""
import re
import subprocess
import sys

text = subprocess.run(sys.argv[1:] + ["-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                      check=True, stdout=subprocess.PIPE).stdout.decode()
macros = dict(re.findall(r"^#define (__NR\w+) (\S+)$", text, re.M))


def number(name, depth=0):
    """The value of a macro, which may be the name of another one."""
    value = macros.get(name, name)
    if re.fullmatch(r"\d+", value):
        return int(value)
    return number(value, depth + 1) if value in macros and depth < 4 else None


calls = {}
for macro in macros:
    value = number(macro)
    if macro.startswith("__NR_") and value is not None and macro not in ("__NR_syscalls", "__NR_arch_specific_syscall"):
        calls[value] = macro[5:]
for value, name in sorted(calls.items()):
    print('\t{ %d, "%s" },' % (value, name))
