#!/usr/bin/python3
"""Help texts, man pages and completions agree; the man pages are well formed."""
import os
import re
import shutil

import tap

CPROF = os.environ.get("CPROF", "")
# argp's own, the same everywhere
COMMON = {"--help", "--usage", "--version"}


def commands():
    """The commands that `cprof --help` lists, one a line, indented."""
    return re.findall(r"^  ([a-z]+) {2,}\S", tap.output(CPROF, "--help"), re.M)


def help_options(command):
    text = tap.output(CPROF, command, "--help")
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "\n".join(
        line for line in text.splitlines() if re.match(r"\s+(-\w, |-\w\b.*, )?--|\s+-\w,? *--", line))))


def page(name):
    return tap.read("man/%s" % name) if os.path.exists(os.path.join(tap.ROOT, "man", name)) else ""


def man_options(text):
    """Options that a page describes: the paragraphs tagged with them."""
    text = text.replace("\\-", "-")
    tags = re.findall(r"^\.It (.*)$", text, re.M) + re.findall(r"^\.TP.*\n(.*)$", text, re.M)
    options = set()
    for tag in tags:
        tag = re.sub(r"\\f.", "", tag)
        options |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", tag))
        options |= {"--" + x for x in re.findall(r"Fl -([a-z][a-z-]+)", tag)}
    return options


def completion_options(shell, command):
    """The options that a generated completion offers for a command."""
    name = {"bash": "cprof", "zsh": "_cprof", "fish": "cprof.fish"}[shell]
    with open(os.path.join(os.path.dirname(CPROF), "completion", name), encoding="utf-8") as f:
        text = f.read()
    if shell == "fish":
        lines = re.findall(r"^.*__cprof_using %s\b.*$" % command, text, re.M)
        return {"--" + x for line in lines for x in re.findall(r"\s-l ([a-z][a-z-]+)", line)}
    if shell == "bash":
        lines = re.findall(r"^%s (-\S+) " % command, text, re.M)
        return set(re.findall(r"--[a-z][a-z-]+", " ".join(lines)))
    function = re.search(r"^_cprof_%s\(\) \{$(.*?)^\}$" % command, text, re.M | re.S)
    return set(re.findall(r"(--[a-z][a-z-]+)(?:=-)?\[", function.group(1))) if function else set()


names = commands()
tap.check([] if len(names) >= 3 else ["found: %s" % names], "cprof --help lists the commands")
main_page = page("cprof.1").replace("\\-", "-")
for command in names:
    want = help_options(command) - COMMON
    tap.check([] if want else ["no options found"], "cprof %s --help shows options" % command)
    have = man_options(page("cprof-%s.1" % command)) - COMMON
    tap.check(["%s is not in man/cprof-%s.1" % (o, command) for o in sorted(want - have)] +
              ["%s is in man/cprof-%s.1 but does not exist" % (o, command)
               for o in sorted(have - want)],
              "cprof-%s.1 describes the options that exist" % command)
    tap.check([] if "cprof-%s" % command in main_page or "cprof-%s" % command in
              main_page.replace(" ", "") else ["no cprof-%s in man/cprof.1" % command],
              "cprof.1 names the command %s" % command)
    for shell in ("bash", "zsh", "fish"):
        have = completion_options(shell, command) - COMMON
        tap.check(["%s is not completed" % o for o in sorted(want - have)] +
                  ["%s is completed but does not exist" % o for o in sorted(have - want)],
                  "%s completes the options of cprof %s" % (shell, command))

def missing_tests():
    """The tests that cprof-security(7) names are there."""
    for name in re.findall(r"\btests/[\w./-]*[\w]", page("cprof-security.7")):
        if not os.path.exists(os.path.join(tap.ROOT, name)):
            yield "man/cprof-security.7 names %s, which does not exist" % name


tap.check(missing_tests(), "the tests of cprof-security(7) exist")

pages = list(tap.sources(".1", ".3", ".7", folders=("man",)))
tap.check(["man/%s is missing" % x for x in
           ("cprof.1", "cprof-doctor.1", "cprof-record.1", "cprof-list.1", "cprof-events.7", "cprof-profile.7",
            "cprof-internals.7", "cprof-security.7", "cprof-stacks.7", "cprof-symbols.7", "cprof-waiting.7") if "man/" + x not in pages], "all man pages are there")
for path in pages:
    if not shutil.which("mandoc"):
        tap.skip("mandoc accepts %s" % path, "needs mandoc")
        continue
    complaints = tap.output("mandoc", "-Tlint", "-Wwarning", os.path.join(tap.ROOT, path))
    tap.check([c for c in complaints.splitlines() if not re.search(r"referenced manual not found", c)],
              "mandoc accepts %s" % path)
    text = re.sub(".\b", "", tap.output("mandoc", "-Tutf8", "-Owidth=1000", os.path.join(tap.ROOT, path)))
    tap.check(["quotes within quotes: %s" % line.strip() for line in text.splitlines()
               if re.search("‘[^’]*‘", line)] +
              ["a blank before a mark: %s" % line.strip() for line in text.splitlines()
               if re.search(r"[a-z)’] [.,;]( |$)", line)] +
              ["the heading '%s' is shown as something else" % heading
               for heading in re.findall(r"^\.S[hs] (.*)", tap.read("man/" + os.path.basename(path)), re.M)
               if not re.search("^ *" + re.escape(heading.replace("\\&", "").replace('"', "")) + "$", text, re.M)],
              "%s shows its quotes and headings as they are meant" % path)
    if path.endswith(".7"):   # whose own name is that of a subject
        body = tap.read("man/" + os.path.basename(path)).partition(".Sh DESCRIPTION")[2]
        tap.check(["a program '%s' does something" % os.path.basename(path)[:-2]
                   for _ in re.findall(r"^\.Nm$", body, re.M)], "%s names the program that acts" % path)
    installed = os.path.basename(path)
    tap.check([] if installed in tap.read("man/meson.build") else ["not in man/meson.build"],
              "%s is installed" % path)
# A newcomer installs cprof from the first screen of the README.
readme = tap.read("README.md")
tap.check([] if re.search(r"^## Install$", "\n".join(readme.splitlines()[:24]), re.M) else ["there is no section 'Install'"],
          "the first screen of README.md says how to install cprof")
modes = set(re.findall(r"^#\t\./bootstrap (\w+)", tap.read("bootstrap"), re.M))
tap.check(["bootstrap has no '%s'" % m for m in re.findall(r"\./bootstrap (\w+)", readme) if m not in modes],
          "what README.md does with bootstrap exists")
tap.check(["%s does not exist" % x for x in re.findall(r"\]\(([^):]+)\)", readme)
           if not os.path.exists(os.path.join(tap.ROOT, x))], "the files to which README.md links exist")
tap.done()
