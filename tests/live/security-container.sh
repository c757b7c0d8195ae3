#!/bin/sh
# A container whose root is an ordinary user's (a user namespace): all that cprof, run by root,
# finds below /proc/PID/root is that user's choice: mounts of root's files, links, FIFOs, a file
# system that does not answer.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need gcc
need objcopy
need setpriv useradd userdel unshare

user=cprofn$$
remove_user() {
	for p in $tap_pids; do
		kill -KILL "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	pkill -KILL -U "$user" 2>/dev/null
	wait_for 5 no_process_of_user
	userdel "$user" 2>/dev/null
}
no_process_of_user() { ! pgrep -U "$user" >/dev/null; }
useradd -M -N -g nogroup -d / "$user" || skip_all 'no user can be added'
at_end remove_user
as_user() {
	setpriv --reuid="$user" --regid=nogroup --clear-groups --inh-caps=-all "$@"
}
as_user unshare -Urmpf --mount-proc true 2>unshare.keep ||
	skip_all "no user namespaces here: $(head -n 1 unshare.keep)"

cat >app.keep.c <<'C'
#include <sys/mman.h>
static volatile unsigned long n;
__attribute__((noinline)) static void in_the_container(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		n += i;
}
int main(void)
{
	mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (;;)
		in_the_container();
}
C
gcc -static -O1 -g -fno-omit-frame-pointer -Wl,--build-id -o plain.keep app.keep.c
: >app.debug
objcopy --strip-debug --remove-section=.note.gnu.build-id --add-gnu-debuglink=app.debug plain.keep app.keep
rm app.debug

# Only root can read these.
echo '0 ffffffffffff secret_of_root' >map.keep
cp plain.keep debug.keep
chmod 600 map.keep debug.keep
mkdir box
chown "$user" box

# In the container: $1 is the test's folder, $2 what /tmp/perf-1.map and the debug file of /app are.
cat >box.keep <<'SH'
cd "$1/box" && mount -t tmpfs none . && cd . && cd "$1/box" || exit 1
mkdir tmp proc usr usr/lib usr/lib/debug dev
mount -t proc none proc || exit 1
cp "$1/app.keep" app
case $2 in
mounts)
	: >tmp/perf-1.map
	: >app.debug
	mount --bind "$1/map.keep" tmp/perf-1.map && mount --bind "$1/debug.keep" app.debug || exit 1 ;;
links)
	ln -s "$1/map.keep" tmp/perf-1.map
	ln -s "/proc/1/cwd/../../../../../..$1/debug.keep" app.debug ;;
climbs)
	rmdir tmp
	ln -s "../../../../../../../../..$1/box.keep.tmp" tmp
	ln -s "../../../../../../../../..$1/debug.keep" app.debug ;;
fifos)
	mkfifo tmp/perf-1.map app.debug ;;
own)
	echo '0 ffffffffffff own_name' >tmp/perf-1.map ;;
stuck)
	mkdir fs
	"$3" "$1/box/fs" "$1/plain.keep" >ready 2>ready.err &
	for i in 1 2 3 4 5 6 7 8 9 10; do
		! grep -q ready ready || break
		sleep 0.1
	done
	: >tmp/perf-1.map
	: >app.debug
	mount --bind fs/file tmp/perf-1.map && mount --bind fs/file app.debug || exit 1
	kill -USR1 $! ;;
esac
: >started
exec chroot . /app
SH
chmod 755 box.keep app.keep plain.keep
mkdir box.keep.tmp
cp map.keep box.keep.tmp/perf-1.map

# box WHAT: starts it; sets $target
box() {
	setpriv --reuid="$user" --regid=nogroup --clear-groups --inh-caps=-all \
		unshare -Urmpf --mount-proc sh "$T/box.keep" "$T" "$1" "$CPROF_PROG/stuckfs" 2>box-err.keep &
	shell=$!
	tap_pids="$tap_pids $shell"
	wait_for 10 in_box && return
	diag <box-err.keep
	kill -KILL $shell
	return 1
}
in_box() {
	target=$(pgrep -P $shell | head -n 1)
	[ -n "$target" ] && [ "$(cat "/proc/$target/comm" 2>/dev/null)" = app ]
}
skip_rest() {
	fail 'the container starts'
	finish
}
unbox() {
	kill -KILL "$target"
	wait $shell 2>/dev/null
}
# recorded WHAT: the target's functions are there, and nothing of root's files
recorded() {
	run timeout 30 "$CPROF" record --json -p "$target" --duration 300ms -o p.pb.gz
	is "$status" 0 "$1: root records it"
	profile "$1: functions have the names of the container's program" p.pb.gz \
		"cum('in_the_container') > 0.9" "'secret_of_root' not in names"
	unlike err 'secret' "$1: no message shows a file of root"
}

box mounts || skip_rest
recorded "mounts of root's files"
like err 'perf-1.map. belongs to another user' 'and cprof reports that the map is not the process'"'"'s'
profile "root's file is not its debug file" p.pb.gz \
	"not any(m.has_line_numbers for m in p.mappings.values() if m.file.endswith('/app'))"
unbox
box links || skip_rest
recorded "links to root's files"
like err 'perf-1.map. is a symbolic link' 'and cprof reports the link'
unbox
box climbs || skip_rest
recorded 'links that climb out of the container'
profile 'they lead nowhere' p.pb.gz \
	"not any(m.has_line_numbers for m in p.mappings.values() if m.file.endswith('/app'))"
unbox
box fifos || skip_rest
recorded 'FIFOs'
like err 'perf-1.map. is not a regular file' 'and cprof reports it'
unbox
box own || skip_rest
recorded "the container's own map"
unlike err 'perf-1.map' 'is read without a complaint'
unbox
if [ -c /dev/fuse ]; then
	# usually anybody can open it
	fuse_mode=$(stat -c %a /dev/fuse)
	at_end "chmod $fuse_mode /dev/fuse"
	chmod 666 /dev/fuse
	box stuck || skip_rest
	recorded 'a file system of the container that does not answer'
	# the kernel keeps others, even root, from a FUSE file system of a user namespace
	like err 'is on a file system that may keep its readers waiting' 'and cprof reports the map'
	unbox
else
	skip 'a file system of the container that does not answer' 'no /dev/fuse here'
fi

# The root of the container is not root: it records its own processes, at most.
box own || skip_rest
run nsenter -t "$target" -U -p -m --preserve-credentials setpriv --no-new-privs "$CPROF" record -p 1 \
	--duration 200ms -o /proc/1/root/tmp/p.pb.gz
check "the container's root gets a profile or a true message" \
	test "$status" = 0 -o -n "$(grep -E 'CAP_PERFMON|permission|not permitted|perf_event_paranoid' err)"
unbox
rm -f p.pb.gz
rm -rf box.keep.tmp
finish
