#!/usr/bin/python3
"""The suite `threads`, which runs with ThreadSanitizer, holds all unit tests that can start threads."""
import json
import subprocess

import tap


def starting_threads(programs):
    """Those that import pthread_create(3)."""
    lines = subprocess.run(["nm", "-D", "-u", "-A", *programs], check=True, stdout=subprocess.PIPE,
                           encoding="utf-8").stdout.splitlines()
    return {line.split(":")[0] for line in lines if " pthread_create" in line}


info = json.loads(subprocess.run(["meson", "introspect", "--tests", tap.BUILD], check=True,
                                 stdout=subprocess.PIPE).stdout)
suites = {t["cmd"][0]: [s.split(":")[-1] for s in t["suite"]] for t in info}
units = {program: names for program, names in suites.items() if "unit" in names}
starting = starting_threads(units)
tap.check([] if len(units) > 100 else ["only %d" % len(units)], "the unit tests are found")
tap.check(["%s can start threads: add it to unit_threads" % p for p, names in units.items()
           if p in starting and "threads" not in names], "no unit test with threads is missing")
tap.check(["%s cannot start threads" % p for p, names in units.items()
           if "threads" in names and p not in starting], "no other test is in the suite")
tap.done()
