#!/bin/sh
# Files that a target names: cprof opens no special file, waits for no file system, and says so.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gcc
need objcopy
mkdir fs
stuck_pid=
unstick() {
	[ -z "$stuck_pid" ] || kill -KILL "$stuck_pid" 2>/dev/null
	umount -l "$T/fs" 2>/dev/null
	stuck_pid=
}
# shellcheck disable=SC2034 # lib.sh evaluates this at the end
tap_cleanup='unstick; umount -l /tmp/perf-$target.map 2>/dev/null; rm -f /tmp/perf-$target.map'
target=0

# opens FILE COMMAND...: runs the command; prints yes if anything opened the file meanwhile
opens() {
	"$PYTHON" - "$@" <<'PYTHON'
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
IN_OPEN = 0x20
watch = libc.inotify_init1(os.O_NONBLOCK)
if libc.inotify_add_watch(watch, sys.argv[1].encode(), IN_OPEN) < 0:
    print("cannot watch")
    sys.exit()
with open("out", "wb") as out, open("err", "wb") as err:
    subprocess.run(sys.argv[2:], stdout=out, stderr=err)
try:
    print("yes" if os.read(watch, 4096) else "no")
except BlockingIOError:
    print("no")
PYTHON
}

# ---- special files

cp "$CPROF_SOURCE_ROOT/tests/prog/spin.c" "$CPROF_SOURCE_ROOT/tests/prog/prog.h" .
gcc -O1 -g -gsplit-dwarf -fno-omit-frame-pointer -o split.keep spin.c 2>gcc.keep || skip_all 'gcc has no split DWARF'
dwo=$(find . -name '*.dwo' | head -n 1)
rm -f spin.c prog.h
gcc_link() {
	cp "$PROG/spin" linked.keep
	: >named.debug
	objcopy --strip-debug --remove-section=.note.gnu.build-id \
		--add-gnu-debuglink=named.debug linked.keep
	rm named.debug
}
gcc_link

# attack NAME FILE PROGRAM MAKE...: FILE, which the program names, is made by MAKE
attack() {
	attack_name=$1
	attack_file=$2
	attack_program=$3
	shift 3
	rm -f "$attack_file"
	"$@" "$attack_file" || {
		skip "$attack_name" 'it cannot be made here'
		return
	}
	is "$(opens "$attack_file" timeout 60 "$CPROF" record -o p.pb.gz -- "./$attack_program")" no "$attack_name"
	profile "$attack_name: the samples are there" p.pb.gz 'total > 0'
	rm -f "$attack_file"
}
make_link() {
	ln -s "$link_to" "$1"
}
make_socket() {
	"$PYTHON" -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"
}
attack 'a .dwo that is a FIFO is not opened' "$dwo" split.keep mkfifo
attack 'a debug link to a FIFO is not followed' named.debug linked.keep mkfifo
attack 'a debug link to a socket is not followed' named.debug linked.keep make_socket
if mknod device.keep c 1 3 2>/dev/null && : <device.keep 2>/dev/null; then
	link_to=$T/device.keep
	attack 'a .dwo that leads to a device does not open it' "$dwo" split.keep make_link
	attack 'nor does a debug link' named.debug linked.keep make_link
else
	skip 'links to a device' 'no devices here'
fi
# A regular file by its type, but reading some of these has side effects.
link_to=/proc/sysvipc/msg
attack 'a .dwo that leads into /proc does not open that' "$dwo" split.keep make_link

# The writer of a FIFO waits for a reader: it still does.
mkfifo "$dwo"
background sh -c 'echo text >"$1"; : >released.keep' sh "$dwo"
run timeout 60 "$CPROF" record -o p.pb.gz -- ./split.keep
is "$status" 0 'a .dwo that is a FIFO: cprof records'
check 'and its writer is not released' test ! -e released.keep
rm -f "$dwo"

# Others can hold a lease on a file, for which an opener waits 45 seconds.
cp "$PROG/spin" named.debug
background "$PYTHON" -c '
import fcntl, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(open("named.debug", "r+b"), fcntl.F_SETLEASE, fcntl.F_WRLCK)
open("leased.keep", "w").close()
time.sleep(100)'
wait_for 10 test -e leased.keep
begin=$(date +%s)
run timeout 60 "$CPROF" record -o p.pb.gz -- ./linked.keep
is "$status" 0 'a debug file with a lease: cprof records'
check 'and does not wait for its holder' test $(($(date +%s) - begin)) -lt 30
rm -f named.debug

# ---- perf maps

cat >map.keep <<'PYTHON'
import mmap, os, sys, time
path = "/tmp/perf-%d.map" % os.getpid()
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
if sys.argv[1] == "fifo":
    os.mkfifo(path)
elif sys.argv[1] == "link":
    os.symlink(sys.argv[2], path)
elif sys.argv[1] == "file":
    open(path, "w").close()
open("ready.keep", "w").close()
end = time.monotonic() + 60
while time.monotonic() < end:
    sum(range(1000))
PYTHON
start_map() {
	rm -f ready.keep
	background "$PYTHON" map.keep "$@"
	target=$pid
	wait_for 20 test -e ready.keep
}
stop_map() {
	kill -KILL "$target"
	wait "$target" 2>/dev/null
	rm -f "/tmp/perf-$target.map"
}
start_map fifo
is "$(opens "/tmp/perf-$target.map" "$CPROF" record -p "$target" --duration 300ms -o p.pb.gz)" no \
	'a perf map that is a FIFO is not opened'
like err 'is not a regular file' 'and cprof reports it'
stop_map
echo '1000 10 secret' >secret.keep
start_map link "$T/secret.keep"
is "$(opens "$T/secret.keep" "$CPROF" record -p "$target" --duration 300ms -o p.pb.gz)" no \
	'a perf map that is a link is not followed'
like err 'is a symbolic link' 'and cprof reports it'
stop_map

# ---- a file system that does not answer

stuck=$CPROF_PROG/stuckfs
if [ "$(id -u)" != 0 ] || [ ! -c /dev/fuse ]; then
	skip 'a FUSE file system that never answers' 'needs root and /dev/fuse'
	rm -rf fs "$dwo"
	finish
fi

# mount_fs FILE [slow]
mount_fs() {
	: >fs.keep
	"$stuck" "$T/fs" "$@" >fs.keep 2>fs-err.keep &
	stuck_pid=$!
	wait_for 20 grep -q ready fs.keep
}
ended() {
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}
# in_time NAME COMMAND...: the command ends although it meets the file system; sets $status
in_time() {
	in_time_name=$1
	shift
	# shellcheck disable=SC2034 # fail prints it
	run_command=$*
	env --default-signal=INT,TERM "$@" >out 2>err &
	in_time_pid=$!
	if wait_for 20 ended "$in_time_pid"; then
		pass "$in_time_name"
	else
		kill -KILL "$in_time_pid"
		fail "$in_time_name"
		unstick
	fi
	status=0
	wait "$in_time_pid" || status=$?
}

if mount_fs "$PROG/spin" slow; then
	# A page takes 50 ms: the file is too slow, but every part of it comes.
	unstick
	mount_fs "$PROG/spin"
	run "$CPROF" record --strict -o p.pb.gz -- fs/file
	is "$status" 0 'a program on FUSE that answers: nothing is lost'
	profile 'its functions have names' p.pb.gz 'cum("main") > 0'
	"$CPROF" record -q --no-symbols -o bare.keep -- fs/file
	run "$CPROF" report --list '^main$' --disasm p.pb.gz
	like out '[0-9]  call ' 'report --disasm shows its instructions'
	cp p.pb.gz shown.keep

	background fs/file 20 10000000
	target=$pid
	wait_for 20 runs "$target" "$T/fs/file"
	kill -USR1 "$stuck_pid"
	in_time 'a program on FUSE that does not answer any more' "$CPROF" record --json -p "$target" --duration 500ms -o p.pb.gz
	is "$status" 0 'its recording succeeds'
	like out '"unanswered": 1' 'the loss is counted'
	like err 'did not deliver in time' 'and shown'
	profile 'and named in the comments of the profile' p.pb.gz '"did not deliver in time" in comments'
	in_time 'with --strict' "$CPROF" record --strict -p "$target" --duration 500ms -o p.pb.gz
	is "$status" 2 '--strict fails'
	for signal in INT TERM; do
		env --default-signal=INT,TERM "$CPROF" record -p "$target" -o p.pb.gz >out 2>err &
		signalled=$!
		sleep 0.6
		kill -$signal "$signalled"
		check "SIG$signal ends such a recording" wait_for 8 ended "$signalled"
		ended "$signalled" || unstick
	done
	in_time 'symbolize with a program there' "$CPROF" symbolize -o p.pb.gz bare.keep
	like err 'did not deliver in time' 'it reports the loss'
	in_time 'report --disasm of a program there' "$CPROF" report --list '^main$' --disasm shown.keep
	is "$status" 1 'it fails'
	like err 'did not answer in time' 'and says why'
	kill -KILL "$target"
	unstick

	printf '%s\n' first second 'public text;' >text.keep
	printf '#line 3 "%s"\nint main(void) { for (volatile long i = 0; i < 100000000; i++) { } }\n' "$T/fs/file" |
		gcc -x c -g -O1 -o text-prog.keep -
	"$CPROF" record -q -o p.pb.gz -- ./text-prog.keep
	mount_fs text.keep
	run "$CPROF" report --list '^main$' p.pb.gz
	like out 'public text' 'source text on FUSE that answers is shown'
	kill -USR1 "$stuck_pid"
	in_time 'report --list of source text there' "$CPROF" report --list '^main$' p.pb.gz
	is "$(grep -c 'not shown: .*did not answer in time' err)" 1 'it says why, once'
	unstick

	mount_fs "$PROG/spin"
	ln -s "$T/fs/file" "$dwo"
	ls -lL fs >/dev/null
	kill -USR1 "$stuck_pid"
	in_time 'a .dwo there' "$CPROF" record --json -o p.pb.gz -- ./split.keep
	like out '"unanswered": 1' 'the loss is counted'
	rm -f "$dwo"
	unstick

	# No handler runs while the program waits there, so another thread has to end it.  A server that
	# has read the request could not even be escaped by SIGKILL.
	# gives_up NAME COMMAND...
	gives_up() {
		mount_fs "$PROG/spin"
		kill -STOP "$stuck_pid"
		gives_up_name=$1
		shift
		for signal in INT TERM; do
			env --default-signal=INT,TERM "$@" >out 2>err &
			signalled=$!
			sleep 0.6
			kill -$signal "$signalled"
			check "$gives_up_name: SIG$signal ends it" wait_for 8 ended "$signalled"
			ended "$signalled" || kill -KILL "$signalled"
		done
		unstick
	}
	gives_up 'an output there' "$CPROF" record -q -o fs/p.pb.gz -- "$PROG/spin" 3 1000
	mount_fs "$PROG/spin"
	kill -STOP "$stuck_pid"
	in_time 'a cache there' env XDG_CACHE_HOME="$T/fs/cache" \
		"$CPROF" record -q -o p.pb.gz -- "$PROG/spin" 3 200
	is "$status" 0 'the recording succeeds'
	profile 'with names' p.pb.gz 'cum("main") > 0'
	unstick
	mount_fs "$PROG/spin" dies
	in_time 'a cache there, whose server dies after an answer' env XDG_CACHE_HOME="$T/fs/cache" \
		"$CPROF" record -q -o p.pb.gz -- "$PROG/spin" 3 200
	is "$status" 0 'that recording succeeds, too'
	unstick
	mount_fs "$PROG/spin"
	kill -STOP "$stuck_pid"
	for signal in INT TERM; do
		env --default-signal=INT,TERM XDG_CACHE_HOME="$T/fs/cache" \
			"$CPROF" record -q -o p.pb.gz -- "$PROG/spin" 3 100000 >out 2>err &
		signalled=$!
		sleep 0.6
		kill -$signal "$signalled"
		check "a cache there: SIG$signal ends the recording" wait_for 8 ended "$signalled"
		ended "$signalled" || kill -KILL "$signalled"
	done
	unstick

	mount_fs "$PROG/spin"
	start_map file
	if mount --bind fs/file "/tmp/perf-$target.map"; then
		kill -USR1 "$stuck_pid"
		in_time 'a perf map that is a mount of a file there' "$CPROF" record --json -p "$target" --duration 500ms -o p.pb.gz
		like err 'is on a file system that may keep its readers waiting' 'cprof reports it'
		umount -l "/tmp/perf-$target.map"
	fi
	stop_map
	unstick
else
	skip 'a FUSE file system that never answers' "$(cat fs-err.keep)"
fi
rm -rf fs p.pb.gz
finish
