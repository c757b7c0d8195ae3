#!/usr/bin/python3
"""The runner counts right: what it does not see, nobody sees."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time

import tap

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run", os.path.join(tap.ROOT, "tests/run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)


def test_of(script, timeout=60, parallel=True, suite="s"):
    return run.Test("/build-x", {"name": "t", "suite": ["cprof:" + suite], "cmd": ["sh", "-c", script],
                                 "timeout": timeout, "protocol": "tap", "workdir": "/",
                                 "is_parallel": parallel})


def outcome(script, timeout=60):
    r = run.run_test(test_of(script, timeout))
    return r.passed, r.failed, len(r.skips), bool(r.problem)


CASES = [
    ("all pass", "echo ok 1; echo ok 2 - b; echo 1..2", (2, 0, 0, False)),
    ("one fails", "echo 1..2; echo ok 1; echo not ok 2; exit 1", (1, 1, 0, False)),
    ("one skips", "echo ok 1 - a '# SKIP no reason'; echo ok 2; echo 1..2", (1, 0, 1, False)),
    ("all skip", "echo 1..0 '# SKIP needs x'", (0, 0, 1, False)),
    ("a failure marked as known is still one", "echo not ok 1 - a '# TO''DO x'; echo 1..1",
     (0, 1, 0, False)),
    ("no plan", "echo ok 1", (1, 1, 0, True)),
    ("nothing at all", "true", (0, 1, 0, True)),
    ("too few", "echo 1..3; echo ok 1", (1, 1, 0, True)),
    ("too many", "echo 1..1; echo ok 1; echo ok 2", (2, 1, 0, True)),
    ("a status without a failed assertion", "echo ok 1; echo 1..1; exit 3", (1, 1, 0, True)),
    ("a crash", "echo ok 1; echo 1..1; kill -SEGV $$", (1, 1, 0, True)),
    ("bailing out", "echo ok 1; echo 'Bail out! no'; echo 1..1", (1, 1, 0, True)),
    ("a hang", "echo ok 1; echo 1..1; sleep 60", (1, 1, 0, True)),
]
for name, script, want in CASES:
    got = outcome(script, 4 if name == "a hang" else 60)
    tap.check([] if got == want else ["got %s, want %s" % (got, want)], "%s: %s" % (name, want))

with tempfile.NamedTemporaryFile("w", suffix=".skips") as f:
    f.write("# comment\n\n^live/x : needs a .*\n")
    f.flush()
    rules = run.expected_skips(f.name)
tap.check([] if len(rules) == 1 and rules[0][0].search("live/x") and
          rules[0][1].search("needs a PMU") and not rules[0][1].search("other") else [str(rules)],
          "rules for expected skips are read")

with tempfile.TemporaryDirectory() as d:
    once = "echo 1..1; cd %s; if [ -e was ]; then echo ok 1; else echo not ok 1 - x; fi; >was" % d
    r = run.SecondRuns().run(run.run_test(test_of(once)))
tap.check([] if (r.passed, r.failed) == (1, 0) and r.first.failed == 1 else ["%s" % vars(r)],
          "what fails alone runs once more, and both results are kept")
for parallel in (True, False):
    with tempfile.TemporaryDirectory() as d:
        said = io.StringIO()
        got = []
        with contextlib.redirect_stdout(said):
            run.run_all([
                test_of("cd %s; echo 1..1; if [ -e was ]; then echo ok 1; else echo not ok 1; fi; >was"
                        % d, parallel=parallel),
                test_of("echo 1..1; echo not ok 1; echo x >>%s/runs" % d, parallel=parallel),
                test_of("echo 1..1; echo ok 1; echo x >>%s/good" % d, parallel=parallel),
            ], 2, got.append)
        counts = sorted((x.passed, x.failed, x.first is not None) for x in got)
        want = [(0, 1, True), (1, 0, False), (1, 0, True)]
        lines = [len(open(os.path.join(d, x), encoding="ascii").readlines()) for x in ("runs", "good")]
    tap.check([] if counts == want and lines == [2, 1] else ["%s %s" % (counts, lines)],
              "%s tests: what fails runs once more, twice failed is failed, and nothing else runs twice"
              % ("parallel" if parallel else "serial"))
    tap.check([] if said.getvalue().count("again at the end") == 2 else [said.getvalue()], "%s tests: it is reported when"
              % ("parallel" if parallel else "serial"))
# Four guests, the first of which takes as long as the test that measures.
with tempfile.TemporaryDirectory() as d:
    with contextlib.redirect_stdout(io.StringIO()):
        group = "$(sed 's/.*nice//' /proc/self/autogroup 2>/dev/null || echo $(nice))"
        wait = "echo 1..1; echo guest $(nice) " + group + " >>%s/order; sleep %g; echo ok 1"
        got = []
        run.run_all([test_of("echo 1..1; sleep 1; echo alone >>%s/order; echo ok 1" % d, parallel=False)]
                    + [test_of(wait % (d, s), timeout=t, suite="guest")
                       for s, t in ((1.5, 60), (0, 50), (0, 50), (0, 50))], 2, got.append)
    with open(os.path.join(d, "order"), encoding="ascii") as f:
        order = f.read().split("\n")[:-1]
here = "guest %d %d" % (os.nice(0), 0 if os.path.exists("/proc/self/autogroup") else os.nice(0))
tap.check([] if len(got) == 5 and order == ["guest 19 19", "alone"] + 3 * [here]
          else [str(order)], "a guest runs beside what measures, at the lowest priority; others later")
r = run.SecondRuns().run(run.run_test(test_of("echo 1..1; echo not ok 1")))
tap.check([] if (r.passed, r.failed) == (0, 1) else ["%s" % vars(r)],
          "what fails twice has failed")
r.output = "ok 1 - a\n# of a\nnot ok 2 - b\n# of b\nok 3 - c\n1..3\n"
tap.check([] if run.what_failed(r) == ["not ok 2 - b", "# of b"] else run.what_failed(r),
          "what failed is shown with what was said of it")

# However a test starts something, it does not outlive the test.
STARTS = "timeout 100 sleep 987; true", "setsid sleep 987", "sh -c 'sleep 987 & setsid sleep 987'"
for start in STARTS:
    r = run.run_test(test_of("echo ok 1; echo here; { %s; } & wait" % start, 2))
    left = run.processes(r.tag, -1)
    tap.check([] if r.problem == "no end after 2 s: killed" and not left
              and "here" in "\n".join(run.what_failed(r)) else ["%s %s" % (vars(r), left)],
              "a hang is killed, with all that it has started by '%s', and its output shown" % start)
    r = run.run_test(test_of("echo 1..1; echo ok 1; { %s; } &" % start))
    left = run.processes(r.tag, -1)
    tap.check([] if (r.passed, r.failed) == (1, 0) and not left else ["%s %s" % (vars(r), left)],
              "a process left over from '%s' is killed" % start)

# As in execve(2), it has no environment when the test ends.
r = run.run_test(test_of(
    "echo 1..1; echo ok 1; setsid env -i sh -c \"sleep 0.25; exec env %s=$%s sleep 987\" & sleep 0.1"
    % (run.TAG, run.TAG)))
time.sleep(0.5)
left = run.processes(r.tag, -1)
tap.check([] if (r.passed, r.failed) == (1, 0) and not left else ["%s %s" % (vars(r), left)],
          "a process that was executing a file when the test ended is killed")

first = run.run_test(test_of("echo 1..1; echo not ok 1"))
second = run.SecondRuns(run.SECOND_RUNS_S)
second.left = 20
r = second.run(first)
tap.check([] if r is first and r.failed == 1 and "no time is left" in r.problem else ["%s" % vars(r)],
          "no second run when the time for them is used up")
first.seconds = 900.0
first.test.timeout = 900
tap.check([] if run.SecondRuns().run(first) is first else ["%s" % vars(first)],
          "no second run for what has taken longer than all of them may")
tap.done()
