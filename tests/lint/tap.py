"""The Test Anything Protocol for the lint scripts."""
import os
import subprocess
import sys

ROOT = os.environ.get("CPROF_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CPROF_BUILD_ROOT")
_n = 0
_failed = 0


def check(problems, name):
    """One assertion: no problems. Each problem is a line of text."""
    global _n, _failed
    _n += 1
    problems = list(problems)
    print("%sok %d - %s" % ("not " if problems else "", _n, name))
    _failed += bool(problems)
    for problem in problems[:60]:
        print("# " + problem)


def skip(name, why):
    global _n
    _n += 1
    print("ok %d - %s # SKIP %s" % (_n, name, why))


def done():
    print("1..%d" % _n)
    sys.exit(1 if _failed else 0)


def sources(*endings, folders=("cmd", "lib", "symbolize", "proto", "tests", "man")):
    """Paths below the given top folders, relative to the root; build folders left out."""
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(path, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL).stdout
