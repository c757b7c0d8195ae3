#!/usr/bin/python3
"""Modules without a unit test of their own: each names the test that covers it, and why that one."""
import os

import tap

SCRIPTS = "it prints or parses options: its promises are tests of the command line"
LIVE = "it needs a running target: its promises are tests with real events"
PART = "a part of the module that the test is named after"
THROUGH = "tested through its only user"

# module -> (test, reason). A folder stands for all of its modules that have no entry.
COVERED = {
    "cmd": ("tests/cli", SCRIPTS),
    "cmd/record": ("tests/live", LIVE),
    "cmd/report": ("tests/cli", SCRIPTS),
    "cmd/top": ("tests/live/top.sh", LIVE),
    "cmd/serve": ("tests/live/serve.sh", LIVE),
    "cmd/push": ("tests/live/push.sh", "it needs a spool and a server"),
    "cmd/agent": ("tests/live/agent.sh", LIVE),
    "cmd/snapshot": ("tests/live/snapshot.sh", LIVE),
    "cmd/stat": ("tests/live/stat.sh", LIVE),
    "cmd/completion": ("tests/cli/completion.sh", SCRIPTS),
}

UNIT = "tests/unit/"
COVERED.update({
    "cmd/agent/keyvalue": (UNIT + "cmd/agent/test-spool.c", "the files of a spool have this form"),
    "lib/base/arena": (UNIT + "base/test-strtab.c", THROUGH),
    "lib/base/bpfcall": (UNIT + "source/live/test-filterprog.c", THROUGH),
    "lib/base/hash": (UNIT + "base/test-hashindex.c", THROUGH),
    "lib/source/live/bpfcode": (UNIT + "source/live/test-filterprog.c", THROUGH),
    "lib/source/live/livecopy": (UNIT + "source/live/test-filterprog.c", "the kernel verifies its program there"),
    "lib/base/helper": (UNIT + "base/test-foreign.c", "it is run for files there, and in tests/live/security-files.sh"),
    "lib/base/memhelper": (UNIT + "base/test-remotemem.c", THROUGH),
    "lib/base/memhelper-serve": (UNIT + "base/test-remotemem.c", THROUGH),
    "lib/profile/timesets": ("tests/live/timeline.sh", "its sets come from a recording that outgrows its steps"),
    "lib/proc/childpids": (UNIT + "recorder/test-coverage.c", THROUGH),
    "lib/source/silent": ("tests/live/waits-polls.sh", "a recording without perf events"),
    "lib/source/share": (UNIT + "source/live/test-livereaders.c", THROUGH),
    "lib/engine/unwound": (UNIT + "recorder/test-copysize.c", THROUGH),
    "lib/engine/gc-ids": (UNIT + "engine/test-gc-tables.c", PART),
    "lib/event/evcatalog": ("tests/cli/list-events.sh", "it is the table that cprof list prints"),
    "lib/event/evcursor": (UNIT + "event/test-evparse.c", "a part of the parser, as are the next three"),
    "lib/event/evkind": (UNIT + "event/test-evparse.c", "a part of the parser"),
    "lib/event/evterm": (UNIT + "event/test-evparse.c", "a part of the parser"),
    "lib/event/evpmu": (UNIT + "event/test-evspec.c", "the PMUs are folders of the test"),
    "lib/event/evelf": ("tests/live/events.sh", "probes need functions of real programs"),
    "lib/engine/probesamples": ("tests/live/usdt.sh", "its samples come from probes of a real program"),
    "lib/event/evnote": (UNIT + "event/test-evsdt.c", "it reads the notes of these files"),
    "lib/event/evprobe": ("tests/live/events.sh", "probes need functions of real programs"),
    "lib/event/evusdt": ("tests/live/usdt.sh", "probes need code of real programs"),
    "lib/event/evusdt-parse": ("tests/live/usdt.sh", "probes need files that have them"),
    "lib/probe/probecost": ("tests/live/usdt.sh", "it warns about the code of real programs"),
    "lib/probe/probefiles": ("tests/live/usdt.sh", "it reads the files of running processes"),
    "lib/probe/probelist": ("tests/live/usdt.sh", "it lists the probes of files and processes"),
    "lib/probe/probelocate": ("tests/live/usdt.sh", "it searches running processes"),
    "symbolize/arch/archprobe": (UNIT + "event/test-evarg.c", "operands are read as parts of arguments"),
    "symbolize/arch/arm64/arm64probe": (UNIT + "event/test-evarg.c", "operands and steps are tested there"),
    "symbolize/arch/x86-64/x86probe": (UNIT + "event/test-evarg.c", "operands and steps are tested there"),
    "lib/event/evexplain": (UNIT + "event/test-evcause.c", "each cause is tested with its explanation"),
    "lib/event/evfield": (UNIT + "event/test-evcause.c", "the field is a part of the cause"),
    "lib/event/evladder": (UNIT + "event/test-evopen.c", "the ladder is climbed by evopen only"),
    "lib/event/evpfm": ("tests/live/attr-perf.sh", "its events are compared with those of perf"),
    "lib/event/evpfm-none": ("tests/cli/list-events.sh", "it only reports that libpfm4 is missing"),
    "lib/event/evtrace": ("tests/live/events.sh", "tracepoints need a real tracefs"),
    "lib/source/schedpoint": (UNIT + "source/test-tracepoint.c", "its only kind of tracepoint"),
    "lib/importer/importreaders": (UNIT + "importer/test-importer.c", THROUGH),
    "lib/importer/importfiles": ("tests/live/import.sh", "it chooses among the files of a real machine"),
    "lib/stack/stack-chain": (UNIT + "stack/test-stack-walk.c", PART),
    "lib/stack/stack-descend": (UNIT + "stack/test-stack-walk.c", PART),
    "lib/stack/stack-frames": (UNIT + "stack/test-stack-walk.c", PART),
    "lib/stack/stack-tables": (UNIT + "stack/test-stack-walk.c", PART),
    "lib/stack/stack-fp": ("tests/live/waits.sh", "it needs code that keeps a frame pointer"),
    "lib/stack/stack-link": ("tests/guest/snapshot.sh", "it needs an architecture with a link register"),
    "lib/interp/activations": (UNIT + "interp/test-interp-samples.c", THROUGH),
    "lib/stack/stack-regs": ("tests/live/python.sh", "it needs the frames of real code"),
    "lib/proc/goprocess": ("tests/live/goroutines.sh", "it opens the files of real processes"),
    "lib/proc/idmap": (UNIT + "proc/test-procs.c", THROUGH),
    "lib/proc/jit": (UNIT + "engine/test-engine.c", "JIT code is tested with the records that bring it"),
    "lib/proc/jitlive": ("tests/live/java.sh", "it finds the library of a running JVM"),
    "lib/proc/jitread": ("tests/live/jit.sh", "it reads files that grow while a program runs"),
    "lib/proc/mapdso": ("tests/live/containers.sh", "it opens files of real processes and namespaces"),
    "lib/profile/fetch": ("tests/live/debuginfod.sh", "it needs servers and files without names"),
    "lib/profile/locknames": ("tests/live/waits-locks.sh", "it needs the variables of a real program"),
    "symbolize/jit/jitcalls": (UNIT + "proc/test-livecode.c", THROUGH),
    "lib/stack/stack-bytecode": ("tests/live/node.sh", LIVE),
    "symbolize/runtime/v8-bytecode": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-calls": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-function": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-layout": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-ranges": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-script": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/v8-text": (UNIT + "symbolize/runtime/test-v8-code.c", PART),
    "symbolize/runtime/hotspot-heap": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-interpreter": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-layout": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-method": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-scopes": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-tables": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "symbolize/runtime/hotspot-unloads": (UNIT + "symbolize/runtime/test-hotspot-code.c", PART),
    "lib/stack/stack-args": (UNIT + "engine/test-waits-locks.c", THROUGH),
    "lib/profile/offline-files": ("tests/live/symbolize.sh", PART),
    "lib/profile/offline-names": ("tests/live/symbolize.sh", PART),
    "lib/recorder/recorder-groups": ("tests/live/agent.sh", "it is the agent that divides profiles"),
    "lib/recorder/recorder-names": ("tests/live/parts.sh", "it needs names that another process has looked up"),
    "lib/profile/offline": ("tests/live/symbolize.sh", "it completes profiles of real programs"),
    "lib/profile/results": (UNIT + "profile/test-export.c", "it passes the tables of the engine to the exporter"),
    "lib/engine/wakees": (UNIT + "engine/test-waitcount.c", THROUGH),
    "lib/profile/wakeelabels": ("tests/live/waits-idle.sh", "it needs the names of real programs"),
    "lib/profile/waitlabel": ("tests/live/waits-idle.sh", "it needs the names of real programs"),
    "lib/view/model/waiting": (UNIT + "view/table/test-top.c", THROUGH),
    "lib/snapshot/targetmem": (UNIT + "snapshot/test-syscalls.c", "memory is read for system calls, too"),
    "lib/snapshot/waiton": (UNIT + "snapshot/test-syscalls.c", "the system calls are those of the other table"),
    "lib/snapshot/idlecpus": (UNIT + "snapshot/test-crew.c", "it decides how many threads work there"),
    "lib/snapshot/oneshot": ("tests/live/snapshot.sh", "it samples real threads"),
    "lib/proc/memoryrights": ("tests/live/snapshot-rights.sh", "it needs other users"),
    "lib/snapshot/refusal": ("tests/live/snapshot-rights.sh", "it needs other users"),
    "lib/snapshot/take-running": ("tests/live/snapshot.sh", "it reads real threads"),
    "lib/snapshot/take-stack": ("tests/live/snapshot.sh", "it reads real threads"),
    "lib/recorder/cost": ("tests/live/accounts.sh", "it measures the cost of real samples"),
    "lib/engine/readerpool": (UNIT + "recorder/test-readers.c", THROUGH),
    "lib/source/round": (UNIT + "source/test-merge.c", THROUGH),
    "lib/recorder/recorder": (UNIT + "recorder/test-recorders.c", "the plural is the name of its test"),
    "lib/recorder/slices": (UNIT + "recorder/test-window.c", "slices are windows of the flight recorder"),
    "lib/recorder/why-empty": ("tests/live/errors.sh", "it explains recordings of idle targets"),
    "lib/source/live/liveopen": (UNIT + "source/live/test-live.c", PART),
    "lib/source/live/livescan": (UNIT + "source/live/test-livetask.c", PART),
    "lib/source/live/livestack": (UNIT + "source/live/test-live.c", PART),
    "lib/source/live/livevary": ("tests/live/coverage.sh", "only a real timer falls into step with a program"),
    "lib/view/convert/frompacked": ("tests/cli/convert-heap.sh", "a packed file of the real tool"),
    "lib/view/convert/fromtext": (UNIT + "view/convert/test-fromheap.c", THROUGH),
    "lib/view/convert/emit": (UNIT + "view/convert/test-conv.c", THROUGH),
    "lib/view/convert/forest": (UNIT + "view/convert/test-conv.c", THROUGH),
    "lib/view/html/svg": (UNIT + "view/html/test-html.c", "both pictures are tested on the same profile"),
    "lib/view/table/failif": (UNIT + "view/table/test-diff.c", "conditions are tested on compared profiles"),
    "symbolize/arch/x86-64/x86insn": (UNIT + "symbolize/cfi/test-cfi-code.c", THROUGH),
    "symbolize/dwarf": ("tests/symbols/oracle.py", "every address of the corpus is compared with libdw"),
    "symbolize/elf": ("tests/symbols/compare.py", "every symbol of the corpus is compared with other tools"),
    "lib/recorder/kinds/targetswitch": ("tests/live/golang.sh", "it looks at the executables of real processes"),
    "lib/recorder/recorder-out": (UNIT + "recorder/test-recorders.c", "a part of recorder, as are the next two"),
    "lib/recorder/recorder-part": (UNIT + "recorder/test-recorders.c", "a part of recorder, as is the next one"),
    "lib/recorder/recorder-stats": (UNIT + "recorder/test-recorders.c", "a part of recorder, whose test is plural"),
    "lib/recorder/recorder-window": (UNIT + "recorder/test-window.c", "the calls that window carries out"),
    "lib/source/maps": (UNIT + "source/test-synth.c", "tested with the records that are made of its lines"),
    "lib/view/convert/format": (UNIT + "view/convert/test-conv.c", "the table of what that test converts to"),
    "lib/view/model/filter": ("tests/cli/report-parity.sh", "filtered reports are compared with go tool pprof"),
    "lib/view/model/filter-tag": ("tests/cli/report-parity.sh", "filtered reports are compared with go tool pprof"),
    "lib/view/table/rows": ("tests/cli/report-parity.sh", "rows of each kind are compared with go tool pprof"),
    "symbolize/jit/jitdump": (UNIT + "symbolize/jit/test-jitcode.c", "its records become the code of that test"),
    "symbolize/jit/perfmap": (UNIT + "symbolize/jit/test-jitcode.c", "its lines become the code of that test"),
    "lib/snapshot/gofuncs": ("tests/live/goroutines.sh", "it names functions of real Go programs"),
    "lib/snapshot/goroutines": ("tests/live/goroutines.sh", "it reads real Go programs"),
    "lib/recorder/kinds/snapshotkind": (UNIT + "snapshot/test-recorder-snapshot.c", THROUGH),
    "lib/snapshot/remaps": ("tests/live/snapshot.sh", "it reads mappings of real processes"),
    "lib/snapshot/gostack": ("tests/live/goroutines.sh", "it unwinds goroutines of real Go programs"),
    "lib/snapshot/gowaits": ("tests/live/waits-go.sh", "it reads real Go programs"),
    "lib/snapshot/gotarget": ("tests/live/goroutines.sh", "it opens real Go programs"),
    "symbolize/runtime/go-dwarf": ("tests/live/goroutines.sh", "it reads debug information of Go's compiler"),
    "symbolize/runtime/go-proof": (UNIT + "symbolize/runtime/test-go-program.c", THROUGH),
    "lib/snapshot/interps": ("tests/live/snapshot-python.sh", "it reads real programs"),
    "symbolize/runtime/python-glue": (UNIT + "symbolize/runtime/test-python-program.c", "a list of names"),
    "lib/labels/appprocess": (UNIT + "labels/test-applabels.c", THROUGH),
    "lib/preload/alloc-hooks": ("tests/live/alloc.sh", "real programs call its functions"),
    "lib/preload/alloc-jumps": ("tests/live/alloc-jumps.sh", "it changes the code of a loaded library"),
    "lib/preload/alloc-next": ("tests/live/alloc-jumps.sh", "it looks up functions in real programs"),
    "lib/preload/alloc-program": ("tests/live/alloc-others.sh", "it reads the program that has loaded it"),
    "lib/preload/alloc-ring": ("tests/live/alloc.sh", "real programs write their samples"),
    "lib/preload/alloc-ringmap": ("tests/live/alloc.sh", "real programs map its memory"),
    "lib/preload/alloc-sampler": ("tests/live/alloc.sh", "the bytes of real programs are compared with the truth"),
    "lib/preload/alloc-stack": ("tests/live/alloc.sh", "the stacks of real programs are whole"),
    "lib/preload/alloc-thread": ("tests/live/alloc.sh", "threads and forked children of real programs"),
    "lib/profile/allocframes": ("tests/live/alloc.sh", "the leaves of C and C++ programs"),
    "lib/recorder/preload": ("tests/live/alloc.sh", "commands are started with its variables"),
    "lib/recorder/kinds/allocempty": ("tests/live/alloc-others.sh", "it reports what real programs do"),
    "lib/recorder/kinds/allocprogram": ("tests/live/alloc.sh", "it reads real programs"),
    "lib/engine/allocage": ("tests/live/alloc.sh", "ages of real blocks"),
    "lib/recorder/kinds/allocblocks": ("tests/live/alloc.sh", "it gives samples to a whole engine"),
    "lib/recorder/kinds/allocids": ("tests/live/alloc.sh", "it needs a pid namespace"),
    "lib/recorder/kinds/allocprobes": ("tests/live/alloc-probes.sh", "it needs probes of real processes"),
    "lib/recorder/kinds/allocrings": ("tests/live/alloc.sh", "it opens the rings of real processes"),
    "cmd/record/alloclib": ("tests/live/alloc.sh", "it finds the library of the build"),
    "lib/recorder/hugepages": ("tests/live/growth.sh", "it reads the kernel's counter"),
    "lib/labels/gofind": ("tests/live/golabels.sh", "it opens real Go programs"),
    "lib/labels/golabels": ("tests/live/golabels.sh", "it reads real Go programs"),
    "lib/labels/gopieces": (UNIT + "labels/test-goread.c", THROUGH),
    "lib/labels/goprocess-labels": ("tests/live/golabels.sh", "it reads real Go programs"),
    "lib/labels/gosets": (UNIT + "labels/test-goread.c", THROUGH),
    "lib/labels/lateness": (UNIT + "labels/test-gotimes.c", "how sure its readings are"),
    "symbolize/runtime/go-places": (UNIT + "symbolize/runtime/test-go-program.c", THROUGH),
    "symbolize/runtime/go-switch": ("tests/live/golang.sh", "it follows stacks of real Go programs"),
})


def module_paths():
    for path in tap.sources(".c", folders=("lib", "symbolize", "proto", "cmd")):
        yield path


def tested_names():
    return {os.path.basename(p)[len("test-"):-2] for p in tap.sources(".c", folders=("tests/unit",))
            if os.path.basename(p).startswith("test-")}


def is_tested(name, tests):
    """`a-b` is a part of `a`, so test-a covers it."""
    parts = name.split("-")
    return any("-".join(parts[:n]) in tests for n in range(len(parts), 0, -1))


def entry_of(path):
    return COVERED.get(path[:-2]) or COVERED.get(os.path.dirname(path))


def problems():
    tests = tested_names()
    for path in module_paths():
        name = os.path.basename(path)[:-2]
        has_entry = path[:-2] in COVERED
        if is_tested(name, tests):
            if has_entry:
                yield "%s has a test now: take it out of COVERED" % path
        elif not entry_of(path):
            yield "%s has neither tests/unit/.../test-%s.c nor an entry here" % (path, name)


def entry_problems():
    known = {p[:-2] for p in module_paths()} | {os.path.dirname(p) for p in module_paths()}
    for module, (test, reason) in COVERED.items():
        if module not in known:
            yield "there is no module '%s'" % module
        if not os.path.exists(os.path.join(tap.ROOT, test)):
            yield "%s: there is no '%s'" % (module, test)
        if len(reason.split()) < 4:
            yield "%s: '%s' is not a reason" % (module, reason)


def listed():
    tests = tested_names()
    for path in module_paths():
        if not is_tested(os.path.basename(path)[:-2], tests) and entry_of(path):
            yield "# %s: %s, because %s" % ((path,) + entry_of(path))


for line in listed():
    print(line)
tap.check(problems(), "every module has a unit test, or a reason why another test covers it")
tap.check(entry_problems(), "the tests and reasons of the others exist")
tap.done()
