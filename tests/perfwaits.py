#!/usr/bin/env python3
"""perfwaits.py FILE COMMAND: how long each thread of a command waited, by the records in a file of
perf, without cprof.

Prints "thread TID WAIT_NS TORN_NS LIFE_NS" for each, with "main" for the first one: TORN_NS is the part
of WAIT_NS after departures without an arrival, whose record the file lacks, up to the next departure or
the end of the thread; LIFE_NS is 0 if its end is missing.
"""

import re
import subprocess
import sys

SCRIPT = ["perf", "script", "--ns", "--show-switch-events", "--show-task-events", "-G",
          "-F", "comm,pid,tid,time,event,trace", "-i"]
LINE = re.compile(r"^ *(?P<comm>.*?) +(?P<pid>-?\d+)/(?P<tid>-?\d+) +(?P<s>\d+)\.(?P<ns>\d{9}): +(?P<rest>.*)$")


class Thread:
    def __init__(self, born_ns, off_ns, is_main):
        self.born_ns, self.off_ns, self.is_out, self.is_main = born_ns, off_ns, True, is_main
        self.wait_ns = self.torn_ns = self.life_ns = 0

    def leave(self, now_ns, is_out):
        """A departure: the sample of one precedes the record of the same one (is_out)."""
        if self.off_ns and is_out and not self.is_out:
            self.is_out = True
            return
        if self.off_ns:
            self.wait_ns += now_ns - self.off_ns
            self.torn_ns += now_ns - self.off_ns
        self.off_ns, self.is_out = now_ns, is_out

    def end(self, now_ns):
        """It runs now, so if it has not arrived, that record is missing."""
        self.is_out = True
        self.leave(now_ns, True)
        self.life_ns = now_ns - self.born_ns

    def arrive(self, now_ns):
        self.wait_ns += now_ns - self.off_ns if self.off_ns else 0
        self.off_ns = 0


def events(path):
    """(ns, comm, tid, text) of each line."""
    out = subprocess.run(SCRIPT + [path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True, text=True, errors="replace").stdout
    for m in map(LINE.match, out.splitlines()):
        if m:
            yield int(m["s"]) * 10**9 + int(m["ns"]), m["comm"], int(m["tid"]), m["rest"]


def switch(threads, ns, text):
    """A sample of sched:sched_switch is one thread's departure and another one's arrival."""
    before = re.search(r"prev_pid=(\d+)", text)
    after = re.search(r"next_pid=(\d+)", text)
    if int(before[1]) in threads:
        threads[int(before[1])].leave(ns, True)
    if int(after[1]) in threads:
        threads[int(after[1])].arrive(ns)


def feed(threads, ended, command, event):
    ns, comm, tid, text = event
    born = re.match(r"PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):(\d+)\)", text)
    if text.startswith("PERF_RECORD_COMM exec") and comm == command:
        threads[tid] = Thread(ns, 0, True)
    elif born and int(born[4]) in threads:
        threads[int(born[2])] = Thread(ns, ns, False)
    elif text.startswith("sched:sched_switch:"):
        switch(threads, ns, text)
    elif tid not in threads:
        return
    elif text.startswith("PERF_RECORD_EXIT"):
        thread = threads.pop(tid)
        thread.end(ns)
        ended[tid] = thread
    elif re.match(r"PERF_RECORD_SWITCH\S* +OUT", text):
        threads[tid].leave(ns, True)
    elif re.match(r"PERF_RECORD_SWITCH\S* +IN", text):
        threads[tid].arrive(ns)
    elif text.startswith("context-switches"):
        threads[tid].leave(ns, False)


def main(path, command):
    threads, ended = {}, {}
    for event in events(path):
        feed(threads, ended, command, event)
    for tid, t in sorted((ended | threads).items()):
        print("main" if t.is_main else "thread", tid, t.wait_ns, t.torn_ns, t.life_ns)


if __name__ == "__main__":
    main(*sys.argv[1:])
