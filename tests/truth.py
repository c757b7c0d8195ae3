#!/usr/bin/python3
"""Compares recorded stacks with the call chains that the programs themselves print.

    truth.py [-v] [-j JOBS] [-F HZ] [-m CPU_MS] [-n TRIES] [-s SCOPE]
             PROGRAM[:SCENARIO[,SCENARIO...]]...
    truth.py [-v] --recorded FOLDER [--samples N] PROGRAM[:SCENARIO[,SCENARIO...]]...

Records each scenario of each PROGRAM (tests/prog/truth/truth.h) with $CPROF and prints TAP, one
assertion each: 99.9 % of the stacks (of few: all but one) are a chain of the program, and every other
stack begins with [truncated] and has a reason for its end. Besides, 2 % may end early in a page fault:
where a function touches a page of its stack for the first time, there is nothing to be copied.

With --recorded the recordings are from elsewhere: FOLDER has the program's chains in PROGRAM.chains,
and PROGRAM.SCENARIO.pb.gz, .out, .err and .status of cprof record --json. Each must have at least N
samples, and nothing is tried again.

A recorded stack equals a chain if, outermost first and below the start functions of programs and
threads, the functions of the program are a prefix of the chain, and other functions occur only where
the chain has `~`, or innermost. The last word `^f` of a chain may follow any prefix.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["CPROF_SOURCE_ROOT"] + "/tests")
import pprof  # noqa: E402

START = re.compile(r"_start|_start_c|start|__libc_start_\w+|libc_start_main_stage2|start_thread|"
                   r"thread_start|(__)?clone3?|__start_context|_dl_start.*|\[libc\.so(\.6)?\]\+0x[0-9a-f]+")

# The kernel's entry functions on x86-64 and arm64, including those that return from a system call
# or a fork.
ENTRY = re.compile(r"entry_|asm_|do_syscall_64|syscall_return|swapgs_restore|ret_from|el0|ret_to_user"
                   r"|vectors|common_interrupt|native_|__irqentry|irqentry|error_|paranoid_|x64_sys")
SYSCALL = re.compile(r"entry_SYSCALL_64|el0t_64_sync$")

# The kernel's functions on these processors that handle a missing page of user code.
FAULT = re.compile(r"(asm_)?exc_page_fault|el0_[di]a|do_mem_abort")


def expand(text):
    """The words of a chain."""
    def repeat(match):
        return " ".join([match.group(1)] * int(match.group(2)))
    return re.sub(r"\(([\w ]+)\)\*(\d+)", repeat, text).split()


def matches(names, chain, known):
    """names: user frames, outermost first, without the start functions. The number of words of the
    chain that they match, or None."""
    at = 0
    leaf = chain[-1][1:] if chain[-1][0] == "^" else None
    for i, word in enumerate(chain):
        if at == len(names):
            return i
        if leaf and at + 1 == len(names) and names[at] == leaf:
            return len(chain)
        if word == "~":
            if names[at] in known:
                return None
            while at < len(names) and names[at] not in known:
                at += 1
        elif names[at] == word:
            at += 1
        elif any(name in known for name in names[at:]):
            return None
        else:
            return i
    return None if any(name in known for name in names[at:]) else len(chain)


def is_kernel(location):
    return bool(location.mapping and location.mapping.file.startswith("[kernel"))


def border(locations):
    """The problem with the kernel part, or None: it starts with an entry function, is entered once,
    and contains no user frames."""
    kernel = [is_kernel(location) for location in reversed(locations)]
    if True not in kernel:
        return None
    first = kernel.index(True)
    if not all(kernel[first:]):
        return "user code called by the kernel"
    names = [f.name for location in locations[:len(locations) - first] for f, _ in location.lines]
    outer = names[-1] if names else "[kernel]"
    if first and outer[0] != "[" and not ENTRY.match(outer): # [ if names may not be read
        return "kernel code begins with " + outer
    n_entries = sum(bool(SYSCALL.match(name)) for name in names)
    return "%d system calls in one stack" % n_entries if n_entries > 1 else None


def is_fault(locations):
    """Was the sample taken while the kernel handled a page fault of user code?"""
    return any(FAULT.fullmatch(f.name) for location in locations if is_kernel(location)
               for f, _ in location.lines)


def user_names(locations):
    """Outermost first."""
    names = []
    for location in reversed(locations):
        if is_kernel(location):
            continue
        frames = [f.name for f, _ in location.lines] or ["0x%x" % location.address]
        names += [re.sub(r"\.(cold|part|constprop|isra|lto_priv)\b.*", "", name)
                  for name in reversed(frames)]
    return names


class Run:
    def __init__(self, program, scenario, chains, known, options):
        self.arguments = program, scenario, chains, known, options
        self.program, self.scenario, self.options = program, scenario, options
        self.chains = [expand(c) for c in chains]
        self.known = known
        self.total = self.equal = self.ended = self.full = self.n_wanted = self.n_faults = 0
        self.bad = {}
        self.said = ""

    def judge(self, names):
        """'equal', 'full' (equal up to the leaf), 'ended' or 'bad'."""
        ended = names and names[0] == "[truncated]"
        if ended:
            names = names[1:]
        while names and START.fullmatch(names[0]):
            names = names[1:]
        if not ended:
            if not any(name in self.known for name in names):
                return "outside" # before main, or after it
            found = [matches(names, c, self.known) for c in self.chains]
            if any(f == len(c) for f, c in zip(found, self.chains)):
                return "full"
            return "equal" if any(f is not None for f in found) else "bad"
        # the frames must be the innermost part of a chain
        own = [name for name in names if name in self.known]
        for c in self.chains:
            words = [w.lstrip("^") for w in c if w != "~"]
            if own[-1:] == words[-1:]:
                if any(own[:-1] == words[i:i + len(own) - 1] for i in range(len(words))):
                    return "ended"
            if any(own == words[i:i + len(own)] for i in range(len(words))):
                return "ended"
        return "bad"

    def record(self):
        with tempfile.TemporaryDirectory() as folder:
            file = folder + "/p.pb.gz"
            done = subprocess.run(
                [os.environ["CPROF"], "record", "-q", "--json", "-e", "cpu-clock",
                 "-F", str(self.options.freq), "-o", file, "--scope", self.options.scope,
                 "--",
                 self.program, self.scenario, str(self.options.cpu_ms)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
            if done.returncode:
                raise RuntimeError("status %d: %s" % (done.returncode, done.stderr.decode()))
            self.count(file, done.stdout.decode())
        # an ordinary user gets samples of user code only
        share = 4 if os.geteuid() == 0 else 16
        self.n_wanted = self.options.freq * self.options.cpu_ms / 1000 / share
        return self

    def take(self):
        """A recording from elsewhere: see --recorded."""
        file = "%s/%s.%s" % (self.options.recorded, os.path.basename(self.program), self.scenario)
        with open(file + ".status", encoding="ascii") as status, \
                open(file + ".out", encoding="utf-8") as out, \
                open(file + ".err", encoding="utf-8") as err:
            said = status.read().strip()
            if said != "0":
                raise RuntimeError("status %s: %s" % (said, err.read()))
            self.count(file + ".pb.gz", out.read())
        self.n_wanted = self.options.n_wanted
        return self

    def count(self, file, printed):
        """Checks the stacks of a profile; printed: the output of --json."""
        summary = json.loads(printed.splitlines()[-1])
        self.said = ", ".join("%d %s" % (n, k) for k, n in summary["stack_ends"].items() if n)
        self.said += ", %d joined" % summary["stacks_joined"]
        self.n_early = sum(n for k, n in summary["stack_ends"].items() if k != "root")
        for locations, values, _ in pprof.Profile(file).samples:
            names = user_names(locations)
            n = values[0]
            wrong = border(locations)
            if wrong:
                self.bad["border", wrong] = self.bad.get(("border", wrong), 0) + n
            if not names or names == ["[lost samples]"]:
                continue
            verdict = self.judge(names)
            self.total += n
            if verdict in ("equal", "full", "outside"):
                self.equal += n
            if verdict == "full":
                self.full += n
            if verdict == "ended":
                self.ended += n
                self.n_faults += n * is_fault(locations)
            if verdict in ("bad", "ended"):
                if len(names) > 40:
                    names = names[:12] + ["... (%d) ..." % len(names)] + names[-12:]
                key = verdict, " ".join(names)
                self.bad[key] = self.bad.get(key, 0) + n

    def problems(self):
        allowed = max(1, self.total // 1000)
        n_bad = sum(n for (verdict, _), n in self.bad.items() if verdict == "bad")
        problems = []
        n_border = sum(n for (verdict, _), n in self.bad.items() if verdict == "border")
        if n_border > allowed:
            problems.append("%d of %d stacks do not join the kernel's part to the user's"
                            % (n_border, self.total))
        if self.total < self.n_wanted:
            problems.append("only %d samples" % self.total)
        if n_bad > 0:
            problems.append("%d of %d stacks are no chain of the program, and none says so"
                            % (n_bad, self.total))
        in_faults = min(self.n_faults, self.total // 50)
        if self.total - self.equal - in_faults > allowed:
            problems.append("%d of %d stacks differ" % (self.total - self.equal, self.total))
        # Where the host makes signals expensive, most of the time of the alarms is the kernel's.
        part = 0.05 if self.scenario.startswith("alarms") else 0.2
        if self.full < part * self.total and self.scenario not in ("deep", "bigs", "fast"):
            problems.append("%d of %d stacks reach the innermost function of a chain"
                            % (self.full, self.total))
        if self.ended > self.n_early:
            problems.append("%d stacks ended early, %d are counted" % (self.ended, self.n_early))
        return problems


def tried(run, n_tries):
    """The run, or another one if too many stacks differ: other load may keep cprof from a process for
    longer than its stack exists."""
    if run.options.recorded:
        return run.take()
    for _ in range(n_tries - 1):
        try:
            run.record()
            if not run.problems():
                return run
        except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired):
            pass
        run = Run(*run.arguments)
    return run.record()


def scenarios(program, recorded):
    if recorded:
        with open("%s/%s.chains" % (recorded, os.path.basename(program)), encoding="ascii") as f:
            text = f.read()
    else:
        text = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = {}
    for line in text.splitlines():
        name, _, chain = line.partition(": ")
        found.setdefault(name, []).append(chain)
    known = {word.lstrip("^") for chains in found.values() for c in chains for word in expand(c)} - {"~"}
    return found, known


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-v", action="store_true", dest="verbose")
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    parser.add_argument("-F", type=int, default=4001, dest="freq")
    parser.add_argument("-m", type=int, default=150, dest="cpu_ms")
    parser.add_argument("-n", type=int, default=3, dest="tries")
    parser.add_argument("-s", default="auto", dest="scope")
    parser.add_argument("--recorded")
    parser.add_argument("--samples", type=int, default=1, dest="n_wanted")
    parser.add_argument("what", nargs="+")
    options = parser.parse_args()
    runs = []
    for what in options.what:
        program, _, wanted = what.partition(":")
        found, known = scenarios(program, options.recorded)
        for name in wanted.split(",") if wanted else found:
            if name in found:
                runs.append(Run(program, name, found[name], known, options))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for i, (run, future) in enumerate([(r, pool.submit(tried, r, options.tries))
                                           for r in runs], 1):
            name = "%s, %s" % (os.path.basename(run.program), run.scenario)
            try:
                run = future.result()
                problems = run.problems()
            except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
                problems = ["%s: %s" % (type(error).__name__, error)]
            print("%s %d - %s: the stacks are its chains"
                  % ("not ok" if problems else "ok", i, name))
            if problems or options.verbose:
                print("# %d samples, %d equal, %d of these whole chains, %d ended early; ends: %s"
                      % (run.total, run.equal, run.full, run.ended, run.said))
                for problem in problems:
                    print("# " + problem.replace("\n", "\n# "))
                for (verdict, stack), n in sorted(run.bad.items(), key=lambda x: -x[1])[:8]:
                    print("# %5d %s: %s" % (n, verdict, stack))
            sys.stdout.flush()
            failed += bool(problems)
    print("1..%d" % len(runs))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
