"""Burns CPU time in Python functions that C calls: each stack of a sample shows which C function that
was, and it must be the one.

    pymixed.py

A key function is called by sort, a replacement by re, a callback by sqlite3 and by ctypes, a
generator by sum.
"""
import ctypes
import re
import sqlite3


def work():
    x = 0.0
    for k in range(400):
        x += k * 0.5
    return x


def key(x):
    return work() + x


def in_sort():
    return sorted([3, 1, 2], key=key)


def replacement(match):
    work()
    return "y"


def in_re():
    return re.sub("x", replacement, "xax")


def callback(x):
    return work() + x


base = sqlite3.connect(":memory:")
base.create_function("callback", 1, callback)


def in_sqlite():
    return base.execute("select callback(1), callback(2)").fetchall()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def foreign(x):
    work()
    return x


def in_ctypes():
    return foreign(3)


def numbers():
    for x in range(2):
        yield work() + x


def in_generator():
    return sum(numbers())


def run():
    print("ready", flush=True)
    while True:
        in_sort()
        in_re()
        in_sqlite()
        in_ctypes()
        in_generator()


run()
