"""Threads that wait in known calls, or run; writes what Python itself knows of them.

    pywaits.py FILE.json WAITING MOVING SPINNING

FILE.json: for each waiting thread its tid in its own namespace, and [function, file, line] of each frame, innermost
first.  After "ready" on stdout the program ends when its input does.
"""
import json
import os
import sys
import threading
import time

N_WAITING, N_MOVING, N_SPINNING = (int(x) for x in sys.argv[2:5])
ready = threading.Barrier(N_WAITING + 1)
never = threading.Event()


def wait():
    ready.wait()
    never.wait()


def recurse(n):
    return recurse(n - 1) if n else wait()


def generate():
    yield 1
    wait()
    yield 2


def generator():
    for _ in generate():
        pass


def by_key():
    sorted([1], key=lambda x: wait())


class Größe:
    @property
    def ευρώ(self):
        wait()

    def __lt__(self, other):
        return self.ευρώ


def other_letters():
    sorted([Größe(), Größe()])


KINDS = [lambda: recurse(20), generator, by_key, other_letters, wait]


def waiting(i):
    KINDS[i % len(KINDS)]()


def nap1():
    time.sleep(0.001)


def nap2():
    sorted([1], key=lambda x: time.sleep(0.002))


def moving():
    while True:
        nap1()
        nap2()


def spin(n):
    while n:
        n -= 1


def spinning():
    while True:
        spin(1000000)


def frames_of(frame):
    while frame:
        code = frame.f_code
        yield [getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno or 0]
        frame = frame.f_back


def start(target, n, *args):
    threads = [threading.Thread(target=target, args=[a(i) for a in args], daemon=True) for i in range(n)]
    for t in threads:
        t.start()
    return threads


def stacks_of(threads):
    now = sys._current_frames()
    return {t.native_id: list(frames_of(now[t.ident])) for t in threads}


def are_waiting(stacks):
    return all(s[0][0].endswith("wait") and s[1][0].endswith("wait") and s[0][1] != __file__ for s in stacks.values())


waiters = start(waiting, N_WAITING, lambda i: i)
ready.wait()
before, stacks = None, stacks_of(waiters)
while stacks != before or not are_waiting(stacks):
    time.sleep(0.1)
    before, stacks = stacks, stacks_of(waiters)
with open(sys.argv[1], "w", encoding="utf-8") as f:
    json.dump(stacks, f)
start(moving, N_MOVING)
start(spinning, N_SPINNING)
time.sleep(0.05)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
