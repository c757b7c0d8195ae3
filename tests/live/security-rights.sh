#!/bin/sh
# A cprof with file capabilities gives its caller no more rights than cprof(1) says: two users, and
# a setting that root made.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need setpriv setcap useradd userdel groupadd groupdel

settings=/etc/cprof.conf
a=cprofa$$
b=cprofb$$
group=cprofg$$
chmod 1777 "$T"
remove_users() {
	# userdel keeps a user with processes.
	for p in $tap_pids; do
		kill -KILL "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	userdel "$a" 2>/dev/null
	userdel "$b" 2>/dev/null
	groupdel "$group" 2>/dev/null
}
at_end remove_users
mkdir home.keep
useradd -M -N -g nogroup -d "$T/home.keep" "$a" && useradd -M -N -g nogroup -d / "$b" &&
	groupadd "$group" || skip_all 'no user can be added'
chown "$a" home.keep
if [ -e "$settings" ]; then
	cp -p "$settings" settings.keep
	at_end "cp -p '$T/settings.keep' '$settings'"
else
	at_end "rm -f '$settings'"
fi
rm -f "$settings"

# as USER COMMAND...: as_member: with the group
as() {
	as_user=$1
	shift
	setpriv --reuid="$as_user" --regid=nogroup --clear-groups --inh-caps=-all "$@"
}
as_member() {
	setpriv --reuid="$a" --regid=nogroup --groups="$group" --inh-caps=-all "$@"
}

# With capabilities that cprof cannot use, too, as somebody will do.
C=$T/cprof.keep
cp "$CPROF" "$C"
chmod 755 "$C"
setcap cap_perfmon,cap_sys_ptrace,cap_syslog,cap_sys_nice,cap_dac_read_search,cap_dac_override=ep "$C" 2>/dev/null ||
	skip_all 'needs setcap, and a file system that keeps capabilities'
as "$a" "$C" --version >/dev/null 2>&1 || skip_all 'no program with capabilities can be started here'
paranoid 2

cp "$PROG/spin" spin.keep
chmod 755 spin.keep
setpriv --reuid="$a" --regid=nogroup --clear-groups ./spin.keep 3 100000 >/dev/null &
own=$!
setpriv --reuid="$b" --regid=nogroup --clear-groups ./spin.keep 3 100000 >/dev/null &
others=$!
./spin.keep 3 100000 >/dev/null &
roots=$!
tap_pids="$tap_pids $own $others $roots"
for p in $own $others $roots; do
	wait_for 60 runs "$p" "$T/spin.keep"
done

# refuses NAME OPTION...: recording is refused, the reason is true, and there is no file
refuses() {
	refuses_name=$1
	shift
	rm -f r.pb.gz
	run as "$a" "$C" record -e cpu-clock --duration 0.2 -o r.pb.gz "$@"
	is "$status" 1 "$refuses_name is refused"
	like err 'perf_event_paranoid|belongs to user|permi' "$refuses_name: says why"
	like err "allow-group = GROUP" "$refuses_name: names the setting"
	check "$refuses_name: no file" test ! -e r.pb.gz
}

# ---- without a setting

run as "$a" "$C" record -e cpu-clock --duration 0.3 -o own.pb.gz -p "$own"
is "$status" 0 'an own process is recorded'
profile 'an own process: functions have their names' own.pb.gz "cum('recurse') > 0.98" \
	"user_frames('^.kernel') == 0"
run as "$a" "$C" record -e cpu-clock -o cmd.pb.gz -- ./spin.keep 3 200
is "$status" 0 'a command is recorded'
profile 'a command: user code only, as without capabilities' cmd.pb.gz "cum('recurse') > 0.98"
refuses "another user's process" -p "$others"
refuses "root's process" -p "$roots"
refuses 'one own and one foreign process' -p "$own,$others"
refuses "a thread of another user" -t "$others"
refuses 'all processes' -a
refuses 'a whole CPU' -C 0
refuses 'the whole CPUs of an own process' --scope cpu -p "$own"
run as "$a" "$C" record -e cpu-clock:k --duration 0.2 -o r.pb.gz -p "$own"
is "$status" 1 'kernel code of an own process is refused'
run as "$a" "$C" top --batch 1 -d 200ms -e cpu-clock -p "$others"
is "$status" 1 "top: another user's process is refused"
run as "$a" "$C" top --batch 1 -d 200ms -e cpu-clock -a
is "$status" 1 'top: all processes are refused'
run as "$a" "$C" record -e cpu-clock --last 1s --duration 0.3 -o r.pb.gz -p "$others"
is "$status" 1 "snapshots of another user's process are refused"

# A set-user-ID program of another user, as the command and as a child.
cp "$PROG/spin" suid.keep
chown "$b" suid.keep
chmod 4755 suid.keep
run as "$a" "$C" record -e cpu-clock -o s.pb.gz -- ./suid.keep 3 200
[ ! -e s.pb.gz ] || profile 'a set-user-ID command: no function of it is seen' s.pb.gz "cum('recurse') == 0"
check 'a set-user-ID command ends' test "$status" -le 1

# ---- files

echo secret-of-b >b.txt
chown "$b" b.txt
chmod 600 b.txt
run as "$a" "$C" check b.txt
like out 'permission denied' "another user's file is not read"
run as "$a" "$C" report "/proc/$others/environ"
like err 'permission denied' "another user's environment is not read"
run as "$a" "$C" convert --from folded --to folded -o copy.txt b.txt
check "another user's file is not converted" test ! -e copy.txt
mkdir closed.keep
chmod 700 closed.keep
run as "$a" "$C" record -e cpu-clock -o closed.keep/x.pb.gz -- ./spin.keep 3 100
is "$(ls -A closed.keep)" '' "nothing is written to root's folder"
unlike err 'allow-group' "root's folder: the message names no setting, which would not help"

# ---- the command's capabilities and environment

# shellcheck disable=SC2016 # for the shell that is recorded
caps='grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status | grep -v 0000000000000000; echo "HOME=$HOME"'
run as "$a" env HOME=/nowhere "$C" record -e cpu-clock -o c.pb.gz -- sh -c "$caps"
is "$(cat out)" 'HOME=/nowhere' 'the command has no capability, and its own environment'

# ---- a setting

cat >$settings <<END
# who may record other users' processes

allow-group = $group
END
chmod 644 $settings
run as "$a" "$C" record -e cpu-clock --duration 0.2 -o r.pb.gz -p "$others"
is "$status" 1 'a user outside of the group is refused'
run as_member "$C" record -e cpu-clock --duration 0.3 -o g.pb.gz -p "$others,$roots"
is "$status" 0 'a member of the group records processes of other users'
profile 'a member: their functions have names' g.pb.gz "cum('recurse') > 0.9"
run as_member "$C" record -e cpu-clock --duration 0.3 -o all.pb.gz -a
is "$status" 0 'a member of the group records all processes'
run as_member env HOME=/nowhere "$C" record -e cpu-clock -o c.pb.gz -- sh -c "$caps"
is "$(cat out)" 'HOME=/nowhere' "a member: the command has no capability"
run as_member "$C" check b.txt
like out 'permission denied' "a member: another user's file is not read"
run as_member "$C" report "/proc/$others/environ"
like err 'permission denied' "a member: another user's environment is not read"
run as_member "$C" record -e cpu-clock -o closed.keep/x.pb.gz -- ./spin.keep 3 100
is "$(ls -A closed.keep)" '' "a member: nothing is written to root's folder"

# The caller cannot take over the recorder.
setpriv --reuid="$a" --regid=nogroup --groups="$group" "$C" record -q -e cpu-clock --duration 3 -o t.pb.gz -p "$own" &
recorder=$!
tap_pids="$tap_pids $recorder"
wait_for 60 runs "$recorder" "$C"
wait_for 60 grep -q 'CapEff:.*0000000000000000' "/proc/$recorder/status"
run as "$a" cat "/proc/$recorder/environ" "/proc/$recorder/mem"
is "$(grep -c 'Permission denied' err)" 2 "a member: the recorder's memory is not readable"
wait "$recorder"

# The environment leads nowhere: a server that counts its visitors, and folders.
cat >visitors.py <<'END'
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
open("port.tmp", "w").write(str(s.getsockname()[1]))
import os
os.rename("port.tmp", "port.keep")
while True:
    s.accept()[0].close()
    open("visited.keep", "a").write("x")
END
background "$PYTHON" visitors.py >/dev/null
wait_for 60 test -e port.keep
mkdir trap.keep
chmod 777 trap.keep
strip -o bare.keep "$PROG/spin"
chmod 755 bare.keep
run as_member env DEBUGINFOD_URLS="http://127.0.0.1:$(cat port.keep)/" DEBUGINFOD_CACHE_PATH="$T/trap.keep/d" \
	HOME="$T/trap.keep" XDG_CACHE_HOME="$T/trap.keep/x" TMPDIR="$T/trap.keep" \
	"$C" record --debuginfod -e cpu-clock -o e.pb.gz -- ./bare.keep 3 200
is "$status" 0 'a hostile environment: recorded'
check 'a hostile environment: no server is asked' test ! -e visited.keep
is "$(find trap.keep -mindepth 1)" '' 'a hostile environment: no file at its places'

# ignored NAME REASON: the setting counts for nothing, and a warning says why
ignored() {
	rm -f r.pb.gz
	run as_member "$C" record -e cpu-clock --duration 0.2 -o r.pb.gz -p "$others"
	is "$status" 1 "$1: ignored"
	like err "warning: $settings is ignored: .*$2" "$1: the warning says why"
}
chmod 664 $settings
ignored 'a setting that its group can change' 'other than root'
chmod 646 $settings
ignored 'a setting that everyone can change' 'other than root'
chmod 644 $settings
chown "$b" $settings
ignored "a setting of another user" 'another user'
chown root $settings
chmod 600 $settings
ignored 'a setting that the caller cannot read' 'permission denied'
chmod 644 $settings
echo "allow-groups = $group" >>$settings
ignored 'a setting with an error' 'line 4'
rm -f $settings
echo "allow-group = $group" >link.keep
ln -s "$T/link.keep" $settings
ignored 'a link in place of the setting' 'symbolic link'
rm -f $settings
mkfifo $settings
ignored 'a FIFO in place of the setting' 'not a regular file'
rm -f $settings

# ---- set-user-ID root is the same

setcap -r "$C"
chown root "$C"
chmod 4755 "$C"
run as "$a" "$C" record -e cpu-clock --duration 0.3 -o su.pb.gz -p "$own"
is "$status" 0 'set-user-ID root: an own process is recorded'
is "$(stat -c %U su.pb.gz)" "$a" "set-user-ID root: the profile is the caller's"
refuses "set-user-ID root: another user's process" -p "$others"
refuses 'set-user-ID root: all processes' -a
run as "$a" "$C" check b.txt
like out 'permission denied' "set-user-ID root: another user's file is not read"
run as "$a" "$C" record -e cpu-clock -o c.pb.gz -- sh -c "$caps; id -u"
is "$(tail -n 1 out)" "$(id -u "$a")" "set-user-ID root: the command runs as the caller"
echo "allow-group = $group" >$settings
chmod 644 $settings
run as_member "$C" record -e cpu-clock --duration 0.3 -o g2.pb.gz -p "$others"
is "$status" 0 'set-user-ID root: a member records a process of another user'
rm -f $settings

# ---- root of a user namespace

chmod 755 "$C"
if as "$a" unshare -Ur true 2>/dev/null; then
	run as "$a" unshare -Ur "$C" record -e cpu-clock --duration 0.2 -o n.pb.gz -p "$others"
	is "$status" 1 "root of a namespace: another user's process is refused"
	like err 'belongs to user|another user' "root of a namespace: says why"
	run as "$a" unshare -Ur "$C" record -e cpu-clock --duration 0.2 -o n.pb.gz -a
	is "$status" 1 'root of a namespace: all processes are refused'
	like err 'user namespace' 'root of a namespace: says that capabilities do not count there'
	run as "$a" unshare -Ur "$C" check b.txt
	like out 'permission denied' "root of a namespace: another user's file is not read"
	run as "$a" unshare -Ur "$C" record -e cpu-clock -o nc.pb.gz -- ./spin.keep 3 200
	is "$status" 0 'root of a namespace: a command is recorded'
	profile 'root of a namespace: functions have their names' nc.pb.gz "cum('recurse') > 0.9"
else
	skip 'root of a namespace' 'no namespaces can be made'
fi
finish
