#!/bin/sh
# Nothing that a target or a file contains makes cprof run on, ignore signals, or use up the memory.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
# shellcheck disable=SC2034 # lib.sh evaluates this at the end
tap_cleanup='eval "$remove_maps"'
remove_maps=:

# A program with executable memory and a perf map of that kind.
cat >jit.py.keep <<'PYTHON'
import mmap, os, sys, time
kind, seconds = sys.argv[1], float(sys.argv[2])
path = "/tmp/perf-%d.map" % os.getpid()
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
lines = b"".join(b"%x 10 name%d\n" % (0x7f0000000000 + 16 * (i % 500), i % 50) for i in range(40000))
end = time.monotonic() + seconds


def burn(until):
    while time.monotonic() < until:
        sum(range(1000))


def grow(file):
    parent = os.getppid()
    while os.getppid() == parent and os.fstat(file.fileno()).st_size < 2 << 30:
        file.write(lines)
    os._exit(0)


if kind == "growing":
    file = open(path, "wb", buffering=0)
    if os.fork() == 0:
        grow(file)
elif kind == "sparse":
    with open(path, "wb") as file:
        file.write(b"1000 10 first\n")
        file.truncate(8 << 40)
elif kind == "rewritten":
    if os.fork() == 0:
        parent = os.getppid()
        while os.getppid() == parent:
            with open(path, "wb") as file:
                file.write(lines)
        os._exit(0)
elif kind == "dump":
    # A mapped jitdump whose records are a hole of terabytes.
    import struct
    dump = os.path.join(os.getcwd(), "jit-%d.dump" % os.getpid())
    with open(dump, "w+b") as file:
        file.write(struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, os.getpid(), 0, 0))
        file.truncate(8 << 40)
        keep = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE,
                         prot=mmap.PROT_READ | mmap.PROT_EXEC)
elif kind == "storm":
    big = path + ".cprof-test"
    with open(big, "wb") as file:
        for _ in range(60):
            file.write(lines)
    print("ready", flush=True)
    while time.monotonic() < end:
        child = os.fork()
        if child == 0:
            own = "/tmp/perf-%d.map" % os.getpid()
            os.link(big, own)
            mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            burn(time.monotonic() + 0.01)
            os.unlink(own)
            os._exit(0)
        os.utime(big)
        os.waitpid(child, 0)
    os.unlink(big)
    sys.exit(0)
print("ready", flush=True)
burn(end)
PYTHON

# Starts that program, and cprof on it.
start() {
	: >ready.keep
	background "$PYTHON" jit.py.keep "$1" 60 >ready.keep
	target=$pid
	remove_maps="$remove_maps; rm -f /tmp/perf-$target.map /tmp/perf-$target.map.cprof-test"
	wait_for 20 test -s ready.keep
	start_cprof record -p "$target" -o p.pb.gz
	sleep 1
}

# Ends with the target: its helpers follow when their parent is gone.
stop_target() {
	kill -KILL "$target"
	wait "$target" 2>/dev/null
	rm -f "/tmp/perf-$target.map" "/tmp/perf-$target.map.cprof-test" jit-*.dump
}

# ends SIGNAL NAME: cprof ends soon after the signal.  Two seconds are promised; a busy machine gets
# more here, while an attack that succeeds takes much longer or forever.
ends() {
	kill "-$1" "$cprof_pid"
	if wait_for 8 ended "$cprof_pid"; then
		end_cprof
		is "$status" 0 "$2"
	else
		kill -KILL "$cprof_pid"
		end_cprof
		fail "$2"
	fi
}

ended() {
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}

# ---- files that the target writes

for signal in INT TERM; do
	start growing
	ends "$signal" "a perf map that grows while it is read: SIG$signal ends the recording"
	stop_target
done
profile 'and its samples are there' p.pb.gz 'total > 0'
like err 'names of JIT code were not read completely' 'what was not read is reported'

rm -f p.pb.gz
start growing
kill -TERM "$cprof_pid"
check 'the last read of that map does not block a second signal' "$PYTHON" - "$cprof_pid" <<'PYTHON'
import os, signal, sys, time
proc = "/proc/%s/" % sys.argv[1]
# a signal within a tenth of a second belongs to the first one
soonest = time.monotonic() + 0.2


def reads_map():
    for fd in os.listdir(proc + "fd"):
        try:
            if "/perf-" in os.readlink(proc + "fd/" + fd):
                return True
        except FileNotFoundError:
            pass
    return False


def blocks_term():
    with open(proc + "status") as status:
        mask = [line for line in status if line.startswith("SigBlk")][0].split()[1]
    return int(mask, 16) >> signal.SIGTERM - 1 & 1


def has_ended():
    with open(proc + "stat") as stat:
        return stat.read().rpartition(") ")[2][0] in "XZ"


try:
    while blocks_term() or not reads_map() or time.monotonic() < soonest:
        if has_ended():
            sys.exit("it ended before")
except (OSError, IndexError):
    sys.exit("it ended before")
PYTHON
kill -TERM "$cprof_pid"
end_cprof
is "$status" 143 'which ends it'
no_files 'and leaves no file'
stop_target

start sparse
ends INT 'a sparse perf map of 8 TiB'
stop_target
like err 'at most 1 GiB of a file is read' 'the limit is named'

start dump
ends INT 'a jitdump that is a hole of 8 TiB'
stop_target

start rewritten
ends INT 'a perf map that is rewritten all the time'
stop_target

start storm
sleep 2
ends INT 'many processes that end at once, each with a map of 60 MB'
stop_target

# ---- files that cprof reads

# memory_of LIMIT_MB COMMAND...: the command fails, and needs less memory
memory_of() {
	"$PYTHON" - "$@" <<'PYTHON'
import resource, subprocess, sys
end = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=open("err", "wb"))
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print("status %d, %d MB" % (end.returncode, used))
sys.exit(not (end.returncode == 1 and used < int(sys.argv[1])))
PYTHON
}

# 1 MB that becomes 1 GB of zeros, or of empty samples
"$PYTHON" - <<'PYTHON'
import gzip
for name, start, block in ("zeros", b"", b"\0" * (1 << 20)), ("samples", b"\x32\0", b"\x12\0" * (1 << 19)):
    with gzip.open(name + ".keep", "wb", 9) as file:
        file.write(start)
        for _ in range(1024):
            file.write(block)
with open("many.keep", "wb") as file:
    file.write(b"\x32\0" + b"\x12\0" * (56 << 20))
PYTHON
# A program whose debug sections claim 8 TiB, and have 256 MiB of zeros.
"$PYTHON" - "$PROG/spin" <<'PYTHON'
import struct, sys, zlib
with open(sys.argv[1], "rb") as file:
    elf = bytearray(file.read())
at, = struct.unpack_from("<Q", elf, 40)
n, names = struct.unpack_from("<HH", elf, 60)
names, = struct.unpack_from("<Q", elf, at + 64 * names + 24)
section = struct.pack("<IIQQ", 1, 0, 8 << 40, 1) + zlib.compress(bytes(256 << 20), 1)
for header in range(at, at + 64 * n, 64):
    name = names + struct.unpack_from("<I", elf, header)[0]
    if elf[name:name + 7] == b".debug_":
        struct.pack_into("<Q", elf, header + 8, 0x800)
        struct.pack_into("<QQ", elf, header + 24, len(elf), len(section))
with open("claims.keep", "wb") as file:
    file.write(elf + section)
PYTHON
chmod 755 claims.keep
claim() {
	prlimit --as=2000000000 timeout 60 "$CPROF" "$@"
}
run claim record -e cpu-clock -o claims.pb.gz -- ./claims.keep 1 50
is "$status" 0 'debug sections that claim 8 TiB: recorded'
profile 'and functions have the names of the symbol table' claims.pb.gz "cum('main') > 0.5"
run claim report --list main claims.pb.gz
is "$status" 0 'debug sections that claim 8 TiB: --list ends'
rm -f claims.pb.gz

for bomb in zeros samples; do
	check "check: a bomb of $bomb" memory_of 600 "$CPROF" check $bomb.keep
	check "report: a bomb of $bomb" memory_of 600 "$CPROF" report $bomb.keep
	like err 'bytes when uncompressed' 'the message has the limit'
	like err 'gzip -d' 'and the way around it'
done
check "merge: a bomb of $bomb" memory_of 600 "$CPROF" merge -o p.pb.gz $bomb.keep
check "convert: a bomb of $bomb" memory_of 600 "$CPROF" convert --to folded -o p.txt $bomb.keep
check "symbolize: a bomb of $bomb" memory_of 600 "$CPROF" symbolize -o p.pb.gz $bomb.keep
check "import: a bomb of $bomb" memory_of 600 "$CPROF" import -o p.pb.gz $bomb.keep
check 'check: 58 million empty samples' memory_of 600 "$CPROF" check many.keep
run "$CPROF" check many.keep
like out 'need more than 2 GiB of memory' 'the limit of its tables is named'
rm -f p.pb.gz p.txt

# ---- a file that is truncated while it is read

if command -v perf >/dev/null &&
	perf record -q -N --no-bpf-event -o data.keep -e cpu-clock -F 2999 --call-graph dwarf,8192 -- \
		"$PROG/serial" 20 >perf.keep 2>&1; then
	"$PYTHON" - "$CPROF" <<'PYTHON' >cut.keep 2>&1
import os, random, shutil, subprocess, sys, time
data = open("data.keep", "rb").read()
random.seed(1)
statuses = {}
begin = time.monotonic()
subprocess.run([sys.argv[1], "import", "-q", "-o", "whole.pb.gz", "data.keep"], check=True)
took = time.monotonic() - begin
before = open("whole.pb.gz", "rb").read()
for i in range(10):
    with open("cut.data", "wb") as f:
        f.write(data)
    p = subprocess.Popen([sys.argv[1], "import", "-o", "whole.pb.gz", "cut.data"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(random.random() * took / 2)
    os.truncate("cut.data", random.choice((0, 5000, len(data) // 2)))
    text = p.communicate()[1].decode()
    statuses[p.returncode] = statuses.get(p.returncode, 0) + 1
    if p.returncode not in (0, 1) or (p.returncode == 1 and "truncated" not in text and
                                      "damaged" not in text and "is empty" not in text and
                                      "no samples" not in text):
        print("status %d: %s" % (p.returncode, text))
        sys.exit(1)
os.remove("cut.data")
os.remove("whole.pb.gz")
print(statuses)
PYTHON
	is "$?" 0 'perf.data truncated while it is imported: an error, and never SIGBUS'
	diag <cut.keep

	# A FUSE file loses its second half when that is first read, so the moment is always the same.
	mkdir fs
	fs_pid=
	if [ "$(id -u)" = 0 ] && [ -c /dev/fuse ]; then
		: >fs.keep
		background "$CPROF_PROG/stuckfs" "$T/fs" data.keep cut >fs.keep
		fs_pid=$pid
		remove_maps="$remove_maps; umount -l '$T/fs' 2>/dev/null"
	fi
	if [ -n "$fs_pid" ] && wait_for 20 grep -q ready fs.keep; then
		echo old >p.pb.gz
		run timeout 60 "$CPROF" import -o p.pb.gz fs/file
		is "$status" 1 'perf.data that loses pages which are mapped: an error'
		like err 'truncated' 'it says so'
		is "$(cat p.pb.gz)" old 'the earlier output stays'
		rm p.pb.gz
		umount -l fs
	else
		skip 'perf.data that loses pages which are mapped' 'needs root and /dev/fuse'
	fi
	rm -rf fs
else
	skip 'perf.data truncated while it is imported' 'needs perf'
fi

# ---- the end

mkfifo stream
start_reader() {
	env --default-signal=INT,TERM "$CPROF" "$@" >"$T/out" 2>"$T/err" &
	cprof_pid=$!
	tap_pids="$tap_pids $cprof_pid"
	sleep 0.3
}
for signal in INT TERM; do
	start_reader check zeros.keep zeros.keep zeros.keep zeros.keep zeros.keep zeros.keep
	kill "-$signal" "$cprof_pid"
	check "check: SIG$signal ends it" wait_for 5 ended "$cprof_pid"
	end_cprof
	start_reader import -o p.pb.gz stream
	kill "-$signal" "$cprof_pid"
	check "import: SIG$signal ends it" wait_for 5 ended "$cprof_pid"
	end_cprof
done
rm -f stream
no_files 'no file is left'
finish
