"""Programs that snapshots are taken of, and what a tool that looks at them costs them."""
import os
import resource
import subprocess
import sys
import time

ROUNDS = 5
ROUND_S = 1.0


class Program:
    """A running one: waits until it has printed its first line, and ends it."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, last):
        """Its answer to a line, up to the one with that key: {key: number}."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        answer = {}
        while last not in answer:
            key, number = self.process.stdout.readline().split()
            answer[key.decode()] = int(number)
        return answer


def run(command, out=subprocess.DEVNULL):
    """Time of a command in ms, its memory in MB, its status, and what it printed to stderr."""
    start = time.perf_counter()
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
    text = p.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return (time.perf_counter() - start) * 1e3, usage.ru_maxrss / 1024, p.returncode, text


def busy(seconds):
    """A command that does nothing but use so much CPU time."""
    return [sys.executable, "-S", "-E", "-c",
            "import time\nwhile time.process_time() < %f: pass" % seconds]


def repeat(command):
    """Runs it four times within about a second.  The CPU time of one run in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for i in range(4):
        start = time.perf_counter()
        run(command)
        if i < 3:
            time.sleep(max(0, ROUND_S / 4 - (time.perf_counter() - start)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 4


def gaps(program, last, command, n_rounds=ROUNDS):
    """The longest gap of the program's gauge in ms, in rounds of about a second: without anything, with a
    command that is run four times in each, and with a process instead that uses as much CPU time; and the
    sums of the other numbers in the answers beside the command."""
    without, beside, control, others = [], [], [], {}
    for _ in range(n_rounds):
        program.ask(last)
        time.sleep(ROUND_S)
        before = program.ask(last)
        without.append(before["gap"] / 1e6)
        seconds = repeat(command)
        after = program.ask(last)
        beside.append(after["gap"] / 1e6)
        for key in after:
            others[key] = others.get(key, 0) + after[key] - before[key]
        repeat(busy(seconds))
        control.append(program.ask(last)["gap"] / 1e6)
    return without, beside, control, others


def span(values):
    """Median and maximum."""
    values = sorted(values)
    return "%.1f (%.1f)" % (values[len(values) // 2], values[-1])
