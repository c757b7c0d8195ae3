#!/usr/bin/python3
"""Phrases that make English hard to read, and what to write instead."""
import re

import tap

# (regular expression, advice). They are looked for in comments, messages, man pages and test titles.
AVOID = [
    (r"\b(?:is|are|was|were|be|been|being) told\b", "say that it is reported, printed or known"),
    (r"\b(?:is|are|was|were) asked (?:for|of|with)\b", "say who requests what"),
    (r"\bfor who\b", "name the noun: for callers that"),
    (r"(?:^|[.:;/*] )Who (?:wants|asks|reads|needs|has|may)\b[^?]*$", "name the noun: a caller that"),
    (r"(?<!there )\b(?:is|are|was|were) none(?! of)\b", "say what it is not"),
    (r"\bis no(?:t)? (?:a )?matter of\b", "say what depends on what"),
    (r"\bwhat (?:is|was) made\b", "name what is created"),
    (r"\b(?:that|which) (?:is|are|was) made at run ?time\b", "JIT code"),
    (r"\bcode (?:that is )?made at run time\b", "JIT code"),
    (r"\bas (?:many|much) as (?:it|they) wants?\b", "give the number or its limit"),
    (r"\bso many (?:as|of)\b", "give the number"),
    (r"\bgoes by\b", "say what it uses"),
    (r"\bfor want of\b", "for lack of"),
    (r"\b(?:has|have|had) (?:had )?(?:a|their|its) say\b", "say what it decides"),
    (r"\b(?:is|are) said\b(?! to)", "say who reports it"),
    (r"\b(?:is|are) not there\b", "does not exist, or is missing"),
    (r"\bchains? of calls\b", "callchain"),
    (r"\bnames are right\b", "say which names are expected"),
    (r"\bby and by\b", "over time, or gradually"),
    (r"\bin vain\b", "without success"),
    (r"\bwithout (?:further ado|a word)\b", "silently"),
    (r"\bbut for\b", "except"),
    (r"\bno more than that\b", "only"),
    (r"\bis (?:taken|held) for\b|\bare (?:taken|held) for\b", "is treated as"),
    (r"\btell (?:of|apart)\b|\btells (?:of|apart)\b", "report, or distinguish"),
    (r"\bsays? nothing of\b", "does not describe"),
    (r"\bwhoever\b", "name the noun: any caller that"),
    (r"\bwhat it is worth\b", "say what it measures"),
    (r"\bstands? (?:in|on|at|there|behind|before|beside)\b", "is"),
    (r"\blies? (?:in|on|at|there|behind|before|beside)\b", "is"),
    (r"\ball the same\b", "nevertheless"),
    (r"\b(?:the|this) very (?!end|start|first|same)", "that"),
    (r"\bguess(?:ed|es)? (?:frame|caller|stack)s?\b", "heuristic frame"),
    (r"\blet it be\b|\bbe it\b", "use if or whether"),
    (r"\bwhat else\b", "name the noun: other"),
    (r"\bwhatever (?:is|was|it|has)\b", "name the noun: any"),
    (r"\b(?:a|the) (?:great|good) many\b", "many"),
    (r"\b(?:some|a few) (?:more|further) ones\b", "others"),
    (r"\bbehind (?!the (?:interface|source)\b|a mapping\b|an O_PATH\b|the running\b|one\b|such\b)"
     r"(?:[a-z':\"\\]|%)", "after, or past"),
    (r"(?<!there )\bis no (?:[A-Za-z]+ )?(?:file|folder|process|thread|number)\b", "is not a"),
    (r"\bbytes only\b", "only N bytes"),
    (r"\b(?:the|of) own\b", "say whose: your own, its own; or local"),
    (r"\btakes? (?:Linux|CAP_|root\b)", "needs"),
    (r"\blets? (?:nothing|everything|none)\b", "say what is allowed"),
    (r"\bothers than\b", "users other than"),
    (r"\bwhat (?:is|there is) still to be\b", "the rest of"),
]
# Words of the file formats that contain one of these, and quotations of other tools.
ALLOWED = re.compile(r"SKIP\b")

PATTERNS = [(re.compile(pattern), advice) for pattern, advice in AVOID]
# In pages, in addition.
PAGE_PATTERNS = [(re.compile(pattern), advice) for pattern, advice in [
    (r"\bsays? so\b", "reports this"),
    (r"\btold\b(?! apart)", "reported, or shown"),
    (r"\bso many (?:services|switches|events)\b", "this number of"),
    (r"\bcause any other event\b", "trigger"),
    (r"\b(?:that|which) runs? already\b", "already running"),
    (r"\bgo unseen\b", "are not seen"),
]]


def prose(path, text):
    """(line number, text) of what people read: all of a page; comments and strings of code."""
    if path.endswith((".c", ".h", ".cc")):
        for m in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', text, re.S):
            first = text.count("\n", 0, m.start()) + 1
            for offset, line in enumerate(m.group(0).splitlines()):
                yield first + offset, line
    else:
        yield from enumerate(text.splitlines(), 1)


def problems():
    paths = list(tap.sources(".c", ".h", ".cc", ".sh", ".py", ".1", ".3", ".7", ".build")) + ["README.md", "NEWS.md", "bootstrap"]
    for path in paths:
        if path == "tests/lint/words.py":
            continue
        is_page = path.endswith((".1", ".3", ".7", "README.md"))
        for number, line in prose(path, tap.read(path)):
            for pattern, advice in PATTERNS + (PAGE_PATTERNS if is_page else []):
                m = pattern.search(line)
                if m and not ALLOWED.search(line):
                    yield "%s:%d: '%s': %s" % (path, number, m.group(0), advice)


# What messages count.  A number that may be 1 is followed by "thread%s", and units_s().
COUNTED = (
    "addresses|arguments|calls|changes|clients|CPUs|descriptors|errors|events|files|frames|"
    "functions|goroutines|labels|lines|locations|matches|models|nodes|pieces|processes|profiles|"
    "readers|readings|records|recordings|rows|runs|samples|seconds|servers|snapshots|stacks|"
    "switches|tests|threads|times|users|values|waits|warnings")
PLURAL = re.compile(r"%(?:l|ll|z|h)?[ud] (?:(?:more|other|distinct|further) )?(?:" + COUNTED + r")\b")
# Limits, which are never 1; parts of another number; and messages about several things.
NOT_COUNTED_AFTER = re.compile(
    r"(?:at most|more than|less than|fewer than|up to|within|1 to|has|there are|Merged:|process|\bof) $")
NOT_COUNTED_BEFORE = re.compile(r",? (?:of at most|more than|have the name|in turns)|: at most|; at most")


def plurals():
    for path in tap.sources(".c", ".h", ".cc", folders=("cmd", "lib", "symbolize", "proto")):
        text = re.sub(r'"\s*PRI[uid](?:8|16|32|64)\s*"', "u", tap.read(path))
        text = re.sub(r'"\s*\n\s*"', "", text)
        for m in PLURAL.finditer(text):
            if not (NOT_COUNTED_AFTER.search(text[:m.start()]) or
                    NOT_COUNTED_BEFORE.match(text[m.end():])):
                yield "%s: '%s': units_s() gives the plural of a number that may be 1" % (
                    path, m.group(0))


if __name__ == "__main__":
    tap.check(plurals(), "messages say 1 thread, and 2 threads")
    tap.check(problems(), "comments, messages, pages and titles are plain English")
    tap.done()
