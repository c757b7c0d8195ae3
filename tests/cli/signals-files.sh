#!/bin/sh
# A signal ends the commands that write files, at any moment, and leaves no part of a file; so does
# a second one.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

awk 'BEGIN { for (i = 0; i < 30000; i++) print "main;a" i % 977 ";b" i % 499 ";c" i " " i % 9 + 1 }' >text.keep
run "$CPROF" convert -o big.keep.pb.gz text.keep
is "$status" 0 'a profile of many stacks'

# interrupted COMMAND...: every 4 ms of its run, once with one signal and once with two
interrupted() {
	"$PYTHON" - "$CPROF" "$@" <<'PYTHON'
import os, random, signal, subprocess, sys, time
before = set(os.listdir("."))
random.seed(1)
n_ended = n_complete = 0
for i in range(24):
    p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(i * 0.004)
    begin = time.monotonic()
    for _ in range(1 + i % 2):
        p.send_signal(signal.SIGINT)
        time.sleep(random.random() * 0.002)
    status = p.wait(timeout=60)
    if time.monotonic() - begin > 10:
        sys.exit("run %d: did not end" % i)
    new = set(os.listdir(".")) - before
    if new - {"result"}:
        sys.exit("run %d: leaves %s" % (i, new))
    if "result" in new:
        if open("result", "rb").read(2) == b"\x1f\x8b":
            subprocess.run([sys.argv[1], "convert", "--to=folded", "result"],
                           stdout=subprocess.DEVNULL, check=True)
        n_complete += 1
        os.unlink("result")
    elif status == 0:
        sys.exit("run %d: status 0, but there is no file" % i)
    else:
        n_ended += 1
print("# %d ended, %d were complete" % (n_ended, n_complete))
sys.exit(0 if n_ended else "no run was interrupted")
PYTHON
}
check 'merge' interrupted merge -o result big.keep.pb.gz big.keep.pb.gz
check 'convert to a profile' interrupted convert -o result --to=pprof text.keep
check 'convert from a profile' interrupted convert -o result --to=folded big.keep.pb.gz
check 'symbolize' interrupted symbolize -o result big.keep.pb.gz
check 'a page' interrupted report --html=result big.keep.pb.gz
check 'a flame graph' interrupted report --svg=result big.keep.pb.gz
finish
