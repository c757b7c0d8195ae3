#!/usr/bin/python3
"""Kills, starves and confuses cprof at random moments; see tests/live/chaos.sh.

    chaos.py SCENARIO [N]

Each scenario repeats one attack N times in the current folder and exits with status 1, and one line
per finding, unless after each attack
  - every profile is the old file, byte by byte, or a complete new one,
  - no temporary file is left (where the file system has O_TMPFILE); only SIGKILL within the few
    system calls that put a set of files in place may leave a complete one,
  - all functions of the target have the names of the target's functions, and
  - an exit status other than 0 comes with a message.
CPROF and CPROF_PROG name the command and the folder of the test programs.  The random numbers
begin with CPROF_CHAOS_SEED (1), so that a finding can be repeated.
"""
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pprof

CPROF = os.environ["CPROF"]
PROG = pathlib.Path(os.environ["CPROF_PROG"])
SEED = int(os.environ.get("CPROF_CHAOS_SEED", "1"))
TWO = ("-e", "cpu-clock/freq=4999/", "-e", "page-faults/period=1/")
FILES = ("x.cpu-clock.pb.gz", "x.page-faults.pb.gz")
OLD = b"an old profile\n"
TIMEOUT_S = 100
# the functions of each program's own code
FUNCTIONS = {
    "spin": {"main", "recurse", "spin_leaf"},
    "manystacks": {"main", "walk", "left", "middle", "right", "next_random"},
    "serial": {"main", *"ABCDEFGHIJ"},
    "labelchaos": {"main", "work", "overwrite", "bad_value", "next_random"},
}
# tests/prog/prog.h, cprof-labels.h, and the C run-time code that the linker adds
SHARED = re.compile(r"prog_|cprof_labels?_|_start$|_init$|_fini$|__do_global|"
                    r"(de)?register_tm_clones$|frame_dummy$|\[")
findings = []
n_old = n_new = 0


def find(text):
    findings.append(text)
    print(text)


def reset_files():
    for name in FILES:
        pathlib.Path(name).write_bytes(OLD)


def wrong_names(path):
    """Frames of our programs whose function is not the program's, and whose process is another."""
    wrong = set()
    profile = pprof.Profile(path)
    for locations, _, labels in profile.samples:
        process = labels.get("process_name")
        for location in locations:
            if not location.mapping:
                continue
            program = os.path.basename(location.mapping.file)
            known = FUNCTIONS.get(program)
            if not known:
                continue
            if process in FUNCTIONS and process != program:
                wrong.add("code of %s in process %s" % (program, process))
            for function, _ in location.lines:
                name = function.name.split(".")[0]
                if name not in known and not SHARED.match(name) and "@plt" not in name:
                    wrong.add("%s in %s" % (function.name, program))
    return wrong


def check_file(what, name, may_be_old=True):
    global n_old, n_new
    path = pathlib.Path(name)
    if not path.exists():
        find("%s: %s is gone" % (what, name))
        return
    if path.read_bytes() == OLD:
        n_old += 1
        if not may_be_old:
            find("%s: %s was not written" % (what, name))
        return
    n_new += 1
    try:
        wrong = wrong_names(name)
    except Exception as e:  # whatever a reader dislikes
        find("%s: %s is damaged: %s" % (what, name, e))
        return
    for text in sorted(wrong):
        find("%s: %s: %s" % (what, name, text))


def check_folder(what, folder=".", known=(), is_killed=False):
    """the number of complete temporary files, which only SIGKILL may leave"""
    n_left = 0
    for name in os.listdir(folder):
        if name in FILES or name in known or name.endswith(".keep"):
            continue
        path = os.path.join(folder, name)
        if is_killed and name.startswith(".cprof-"):
            check_file(what, path)
            n_left += 1
        else:
            find("%s: left behind: %s" % (what, name))
        os.unlink(path)
    return n_left


def check_end(what, status, message, command=()):
    """cprof, not killed by us, ended with this status"""
    if status < 0:
        find("%s: killed by signal %d" % (what, -status))
    elif status and status not in command and "cprof" not in message:
        find("%s: status %d without a message: %r" % (what, status, message[:200]))


def start(*args, program=(str(PROG / "spin"), "6", "100000"), **options):
    return subprocess.Popen([CPROF, "record", "-q", *args, *(("--",) + program if program else ())],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=True, **options)


def end(process, what):
    """(status, message); a process that does not end is a finding"""
    try:
        _, message = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        find("%s: cprof does not end" % what)
        os.killpg(process.pid, signal.SIGKILL)
        _, message = process.communicate()
    return process.returncode, message.decode(errors="replace")


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def child_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


# ---- the scenarios -----------------------------------------------------------------------------

def kills(n):
    """Signals to cprof and to targets at random moments of short recordings with two events."""
    n_left = 0
    for i in range(n):
        what = "kill %d" % i
        reset_files()
        p = start(*TWO, "-o", "x.pb.gz", program=(str(PROG / "manystacks"), "40"))
        time.sleep(random.random() ** 2 * 0.12)
        number = random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
        to_target = random.random() < 0.3
        for pid in child_of(p.pid) if to_target else [p.pid]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        if not to_target and random.random() < 0.3:
            time.sleep(random.random() * 0.01)
            p.send_signal(random.choice((signal.SIGINT, signal.SIGTERM)))
        status, message = end(p, what)
        kill_group(p)
        what += " (%s to the %s)" % (number.name, "target" if to_target else "recorder")
        if to_target and status < 0:
            find("%s: the recorder ended by signal %d" % (what, -status))
        for name in FILES:
            check_file(what, name, may_be_old=not to_target or status != 0)
        n_left += check_folder(what, is_killed=number == signal.SIGKILL and not to_target)
    print("complete temporary files: %d" % n_left)
    if n_left > 2 + n // 50:
        find("%d temporary files were left behind" % n_left)


def full(n):
    """A file system that is full after K pages, for N values of K, with an old file on it."""
    folder = pathlib.Path("mnt.keep")
    folder.mkdir()
    source = "s.keep"
    subprocess.run([CPROF, "record", "-q", "-e", "cpu-clock", "-F", "20000", "-o", source, "--",
                    str(PROG / "manystacks"), "400"], stdout=subprocess.DEVNULL, check=True)
    pages = os.path.getsize(source) // 4096 + 2
    for i in range(n):
        free = i * pages // n
        what = "full after %d of %d pages" % (free, pages)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % ((free + 2) * 4096), "chaos",
                        str(folder)], check=True)
        try:
            old = folder / "x.pb.gz"
            old.write_bytes(OLD)
            p = subprocess.run([CPROF, "merge", "-o", str(old), source], capture_output=True,
                               timeout=TIMEOUT_S)
            message = p.stderr.decode(errors="replace")
            if p.returncode == 0:
                check_file(what, str(old), may_be_old=False)
            else:
                check_end(what, p.returncode, message)
                if "No space left" not in message:
                    find("%s: the message does not name the reason: %r" % (what, message[:200]))
                if old.read_bytes() != OLD:
                    find("%s: the old file has changed" % what)
            check_folder(what, str(folder), known=("x.pb.gz",))
        finally:
            subprocess.run(["umount", str(folder)], check=True)


def limited(what, kind, limit):
    reset_files()

    def apply():
        resource.setrlimit(kind, (limit, limit))
    p = start(*TWO, "-o", "x.pb.gz", program=(str(PROG / "spin"), "6", "30"), preexec_fn=apply)
    status, message = end(p, what)
    check_end(what, status, message)
    for name in FILES:
        check_file(what, name)
    check_folder(what)
    return status


def descriptors(n):
    """RLIMIT_NOFILE from 3 to 64."""
    ok = [limited("%d descriptors" % k, resource.RLIMIT_NOFILE, k) == 0
          for k in range(3, 65, max(1, 61 // n))]
    if not ok[-1]:
        find("64 descriptors are too few for a small program")


def memory(n):
    """RLIMIT_AS from 8 MiB up, in N steps; the target inherits it, so small ones end it, too."""
    for i in range(n):
        limited("address space of %d MiB" % (8 + 8 * i), resource.RLIMIT_AS, (8 + 8 * i) << 20)


def file_size(n):
    """RLIMIT_FSIZE from 0 to 16 KiB, in N steps."""
    for i in range(n):
        limited("files of %d bytes" % (16384 * i // n), resource.RLIMIT_FSIZE, 16384 * i // n)


def memory_cgroup(n):
    """A memory limit that is met or hit: cprof ends, killed or not, and the old files are whole."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split() for line in f]
    v1 = [m[1] for m in mounts if m[2] == "cgroup" and "memory" in m[3].split(",")]
    v2 = [m[1] for m in mounts if m[2] == "cgroup2" and
          "memory" in (pathlib.Path(m[1]) / "cgroup.subtree_control").read_text().split()]
    if not v1 and not v2:
        return "no memory controller is mounted, or v2 does not hand it down"
    group = pathlib.Path((v1 + v2)[0]) / ("cprof-chaos-%d" % os.getpid())
    limit = group / ("memory.limit_in_bytes" if v1 else "memory.max")
    group.mkdir()

    def enter():
        (group / "cgroup.procs").write_text("0")
    try:
        for i in range(n):
            what = "memory limit of %d MiB" % (24 - 22 * i // n)
            limit.write_text("%d" % ((24 - 22 * i // n) << 20))
            reset_files()
            p = start(*TWO, "-o", "x.pb.gz", program=(str(PROG / "manystacks"), "150"),
                      preexec_fn=enter)
            status, message = end(p, what)
            kill_group(p)
            if status != -signal.SIGKILL:
                check_end(what, status, message, command=(137,))
            for name in FILES:
                check_file(what, name)
            check_folder(what)
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)
    return None


def stopped(n):
    """SIGSTOP to the target or to cprof for a moment; the recording goes on."""
    for i in range(n):
        what = "stop %d" % i
        reset_files()
        p = start(*TWO, "-o", "x.pb.gz", program=(str(PROG / "spin"), "6", "150"))
        time.sleep(0.03 + random.random() * 0.1)
        for pid in child_of(p.pid) if i % 2 else [p.pid]:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(pid, signal.SIGCONT)
        status, message = end(p, what)
        check_end(what, status, message)
        for name in FILES:
            check_file(what, name, may_be_old=False)
        check_folder(what)


def two_machines(n):
    """Two recordings of the whole machine at the same time, while short programs come and go."""
    for i in range(n):
        what = "pair %d" % i
        pair = [start("-a", "-e", "cpu-clock", "-F", "999", "--duration", "0.7s", "--labels",
                      "process_name", "-o", "y%d.keep" % k, program=None) for k in range(2)]
        until = time.monotonic() + 0.7
        while time.monotonic() < until:
            for program in ("spin", "serial"):
                subprocess.run([str(PROG / program), "3", "4"], stdout=subprocess.DEVNULL)
        for k, p in enumerate(pair):
            status, message = end(p, what)
            check_end(what, status, message)
            check_file(what, "y%d.keep" % k, may_be_old=False)
        check_folder(what)


def reused_pids(n):
    """Two programs in turn, in a PID namespace of 350 ids, so that ids are used again and again."""
    inner = ("echo 350 >/proc/sys/kernel/pid_max 2>/dev/null; i=0; while [ $i -lt %d ]; do "
             "i=$((i+1)); '%s/spin' 3 1 >/dev/null; '%s/serial' 1 >/dev/null; done; "
             "cat /proc/sys/kernel/pid_max >pidmax.keep; sh -c 'echo $$' >lastpid.keep"
             % (n, PROG, PROG))
    p = start("-e", "cpu-clock", "-F", "4999", "--labels", "process_name", "-o", "z.keep",
              program=("unshare", "-p", "-f", "--mount-proc", "sh", "-c", inner))
    status, message = end(p, "reused ids")
    check_end("reused ids", status, message)
    check_file("reused ids", "z.keep", may_be_old=False)
    if pathlib.Path("pidmax.keep").read_text().strip() != "350":
        return "this kernel has no pid_max of a namespace's own (Linux 6.14)"
    if int(pathlib.Path("lastpid.keep").read_text()) > 350:
        find("the ids were not limited")
    processes = {labels.get("process_name") for _, _, labels in pprof.Profile("z.keep").samples}
    for program in ("spin", "serial"):
        if program not in processes:
            find("no process %s" % program)
    return None


def label_memory(n):
    """A program that overwrites its own label memory while it is read."""
    for i in range(n):
        what = "label memory %d" % i
        p = start("-e", "cpu-clock", "-F", "4999", "-o", "l.keep",
                  program=(str(PROG / "labelchaos"), "300", str(SEED + i)))
        status, message = end(p, what)
        check_end(what, status, message)
        check_file(what, "l.keep", may_be_old=False)
        check_folder(what)


def main():
    scenario = globals()[sys.argv[1]]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    random.seed(SEED)
    began = time.monotonic()
    why = scenario(n)
    print("%s: %d times in %.1f s, %d old files, %d new ones" %
          (sys.argv[1], n, time.monotonic() - began, n_old, n_new))
    if why and not findings:
        print("skip: " + why)
        return 77
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
