#!/usr/bin/python3
"""Makes the completion for a shell from a template and the options that dump-options prints.

    completions.py bash|zsh|fish TEMPLATE OPTIONS

OPTIONS is the output of dump-options.  The completion goes to stdout.
"""
import re
import sys

# What an option's argument is, by its name in the help.
KINDS = {"FILE": "files", "OUT": "files", "BASE": "files", "DIR": "folders", "PID": "processes",
         "FILE|PID": "files",
         "EVENT": "events", "PMU": "pmus"}


class Option:
    def __init__(self, fields):
        self.long, self.short, self.argument, self.how, words, before, after = fields
        self.is_list = words.startswith(",")
        self.words = words.lstrip(",").split()
        self.argument_name = re.split(r"\W", self.argument)[0]
        self.kind = ("list" if self.is_list else "words") if self.words else KINDS.get(self.argument_name, "text")
        self.repeatable = "," in self.argument or "repeatable" in before + after
        # The shell shows the words itself, and has no room for more than the first clause.
        self.help = re.split(r"[;(]", re.sub(r"[:,]? *$", "", before) if self.words else before)[0].strip()

    def names(self):
        return ["-" + self.short] * bool(self.short) + ["--" + self.long] * bool(self.long)


class Command:
    def __init__(self, fields):
        self.name, self.help, self.arguments = fields
        self.options = []


def read(text):
    commands = []
    for line in text.splitlines():
        what, *fields = line.split("\t")
        if what == "command":
            commands.append(Command(fields))
        else:
            commands[-1].options.append(Option(fields))
    return commands


def quote(text):
    return "'%s'" % text.replace("'", "'\\''")


# ---- bash ------------------------------------------------------------------------------------

def bash(commands):
    lines = []
    for c in commands:
        for o in c.options:
            kind = "flag" if o.how == "flag" else "=" * (o.how == "optional") + o.kind
            lines.append(" ".join([c.name, ",".join(o.names()), kind] + o.words))
    return {
        "OPTIONS": "\n".join(lines) + "\n",
        "COMMANDS": " ".join(c.name for c in commands),
        "RECORDERS": " ".join(c.name for c in commands if "COMMAND" in c.arguments),
        "READERS": " ".join(c.name for c in commands if "FILE" in c.arguments),
    }


# ---- zsh -------------------------------------------------------------------------------------

ZSH_ACTIONS = {"files": "_files", "folders": "_files -/", "processes": "_sequence _pids", "events": "_cprof_events",
               "pmus": "_cprof_pmus", "text": ""}


def zsh_option(o):
    def escape(text):
        return re.sub(r"([][:\\])", r"\\\1", text)
    if o.kind == "words":
        action = "(%s)" % " ".join(escape(w) for w in o.words)
    elif o.kind == "list":
        action = "_values -s , word %s" % " ".join(o.words)
    else:
        action = ZSH_ACTIONS[o.kind]
    message = o.argument_name.lower()
    argument = {"flag": "", "required": ":%s:%s" % (message, action), "optional": "::%s:%s" % (message, action)}[o.how]
    many = "*" if o.repeatable else ""
    for name in o.names():
        joined = "=-" if o.how == "optional" else ""
        exclude = "" if o.repeatable or len(o.names()) == 1 else "(%s)" % " ".join(o.names())
        yield quote("%s%s%s%s[%s]%s" % (exclude, many, name, joined, escape(o.help), argument))


def zsh(commands):
    functions = []
    for c in commands:
        lines = ["_cprof_%s() {" % c.name, "\tlocal -a args", "\targs=("]
        lines += ["\t\t" + text for o in c.options for text in zsh_option(o)]
        lines.append("\t)")
        if "COMMAND" in c.arguments:    # whose options are not ours
            lines.append("\t_arguments -S -s -A '-*' $args '--help[show help]' "
                         "'(-)1:command: _command_names -e' '*::arguments:_normal'")
        else:
            files = " '*:file:_files'" if "FILE" in c.arguments else ""
            lines.append("\t_arguments -S -s $args '--help[show help]'" + files)
        functions.append("\n".join(lines) + "\n}\n")
    return {
        "OPTIONS": "\n".join(functions),
        "COMMANDS": "\n".join("\t\t" + quote("%s:%s" % (c.name, c.help)) for c in commands),
    }


# ---- fish ------------------------------------------------------------------------------------

FISH_ACTIONS = {"folders": "(__fish_complete_directories)", "processes": "(__fish_append , (__fish_complete_pids))",
                "events": "(__fish_append , (__cprof_events))", "pmus": "(__cprof_pmus)"}


def fish_option(o):
    words = [] if not o.short else ["-s", o.short]
    words += ["-l", o.long] if o.long else []
    if o.kind == "files":
        words += ["-r", "-F"] if o.how == "required" else []
    else:
        words += ["-x"] if o.how == "required" else []
        action = " ".join(o.words) if o.kind == "words" else \
            "(__fish_append , %s)" % " ".join(o.words) if o.kind == "list" else FISH_ACTIONS.get(o.kind)
        words += ["-a", quote(action)] if action else []
    return " ".join(words + ["-d", quote(o.help)])


def fish(commands):
    lines = []
    for c in commands:
        lines.append("complete -c cprof -n __cprof_no_command -a %s -d %s" % (c.name, quote(c.help)))
    for c in commands:
        using = "complete -c cprof -n '__cprof_using %s' " % c.name
        lines += [""] + [using + fish_option(o) for o in c.options]
        if "COMMAND" in c.arguments:
            lines.append(using + "-a '(__fish_complete_subcommand --fcs-skip=2)'")
        elif "FILE" in c.arguments:
            lines.append(using + "-F")
    return {"OPTIONS": "\n".join(lines)}


def main():
    shell, template, options = sys.argv[1:]
    with open(options, encoding="utf-8") as f:
        parts = {"bash": bash, "zsh": zsh, "fish": fish}[shell](read(f.read()))
    with open(template, encoding="utf-8") as f:
        text = f.read()
    sys.stdout.write(re.sub(r"@([A-Z]+)@", lambda m: parts[m.group(1)], text))


main()
