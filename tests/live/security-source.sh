#!/bin/sh
# Source text and instructions come only from files that may be shown to the caller: not from links
# of other users, private files of others, FIFOs or devices.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need setpriv useradd userdel gcc objdump

user=cprof-src$$
useradd -M -d "$T/home.keep" -s /bin/sh "$user" || skip_all 'useradd failed'
at_end "userdel $user >/dev/null 2>&1"
uid=$(id -u "$user")
gid=$(id -g "$user")
as_user() {
	setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all "$@"
}
# user_background SCRIPT: sets $pid
user_background() {
	background setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all sh -c "$1" \
		>/dev/null 2>&1
}

# The attacker's folder: a program whose debug information names any file there is.
mkdir evil.keep mine.keep
chown "$user" evil.keep
chmod 755 evil.keep mine.keep
secret=SECRET_OF_ROOT_4711
private=$(mktemp /root/.cprof-secret-XXXXXX.c)
at_end "rm -f $private"
printf 'first\nsecond\nlong %s;\nfourth\n' "$secret" >"$private"
chmod 600 "$private"

# program NAME FILE: evil.keep/NAME burns CPU time in a function that debug information places in
# FILE, recorded as evil.keep/NAME.pb.gz
program() {
	cat >source.keep <<-END
	#line 3 "$2"
	int main(void) { volatile long n = 0; for (long i = 0; i < 60000000; i++) n += i; return 0; }
	END
	gcc -x c -g -O1 -o "evil.keep/$1" source.keep &&
		"$CPROF" record -q --mode 0644 -e cpu-clock -o "evil.keep/$1.pb.gz" -- "./evil.keep/$1"
}

# attack NAME REGEX TITLE: neither --list nor --html shows the secret, and the reason is printed once
attack() {
	run timeout 20 "$CPROF" report --list main "evil.keep/$1.pb.gz"
	cp out "$1.list.keep"
	is "$(grep -c "for the file\|not shown: .*$2" err)" 1 "$3: --list reports why, once"
	[ "$(grep -c "$secret" "$1.list.keep")" = 0 ] && pass "$3: --list does not show it" ||
		fail "$3: --list does not show it"
	run timeout 20 "$CPROF" report --html "$1.keep.html" "evil.keep/$1.pb.gz"
	like err "not shown: .*$2" "$3: --html reports why"
	run timeout 20 "$CPROF" report --html "$1.none.html" --no-source "evil.keep/$1.pb.gz"
	check "$3: the page is the one without source" cmp "$1.keep.html" "$1.none.html"
	rm -f "$1.keep.html" "$1.none.html"
}

E=$T/evil.keep
as_user ln -s "$private" "$E/x.c"
program link "$E/x.c"
attack link 'x.c.*another user' "a user's link to a private file of root's"

as_user mkdir "$E/folder"
as_user ln -s "$(dirname "$private")" "$E/folder/src"
program component "$E/folder/src/$(basename "$private")"
attack component 'src.*another user' "a user's link as a folder of the path"

if ln "$private" "$E/hard.c" 2>/dev/null; then
	program hard "$E/hard.c"
	attack hard 'hard.c' "a hard link to a private file of root's"
else
	skip 'a hard link' "$T is another file system than /root"
fi

as_user mkfifo "$E/fifo.c"
program fifo "$E/fifo.c"
attack fifo 'not a regular file' 'a FIFO'
# Its writer stays blocked: nobody has opened the other end.
user_background "exec 3>'$E/fifo.c'; sleep 100"
writer=$pid
run timeout 20 "$CPROF" report --list main evil.keep/fifo.pb.gz
is "$(pgrep -P "$writer")" '' 'a FIFO: its writer stays blocked'
kill "$writer"

as_user ln -s /dev/zero "$E/zero.c"
program zero "$E/zero.c"
attack zero 'another user' "a user's link to a device"
program device /dev/zero
run timeout 20 "$CPROF" report --list main evil.keep/device.pb.gz
is "$status" 0 'a device: --list ends'
like err 'not a regular file' 'a device: it is reported'

# A private file of another user.
other=$T/mine.keep/other.c
cp "$private" "$other"
chown 65534 "$other"
chmod 600 "$other"
program other "$other"
attack other 'another user' 'a private file of another user'

# A name that is not that of a source file.
shadow=/root/.cprof-shadow-$$
cp "$private" "$shadow"
at_end "rm -f $shadow"
chmod 600 "$shadow"
program shadow "$shadow"
run timeout 20 "$CPROF" report --list main evil.keep/shadow.pb.gz
[ "$(grep -c "$secret" out)" = 0 ] && pass "a private file of root's that is no source is not shown" ||
	fail "a private file of root's that is no source is not shown"

# Swapped in a loop: a public file, and the link.
as_user sh -c "printf 'a\nb\npublic\n' >'$E/public.c'"
program race "$E/race.c"
user_background "while :; do ln -sf '$private' '$E/race.c'; cp -f --remove-destination '$E/public.c' '$E/race.c'; done"
swapper=$pid
n=0 shown=0
while [ "$n" -lt 15 ]; do
	"$CPROF" report --list main evil.keep/race.pb.gz 2>/dev/null | grep -q "$secret" && shown=$((shown + 1))
	n=$((n + 1))
done
kill "$swapper"
is "$shown" 0 "swapped in a loop: root's file is never shown"

# Instructions are shown by the same rules.
cp evil.keep/link mine.keep/program
"$CPROF" record -q -e cpu-clock -o program.keep -- ./mine.keep/program
chmod 700 mine.keep/program
chown 65534 mine.keep/program
run timeout 20 "$CPROF" report --list "^main\$" --disasm program.keep
is "$status" 1 "--disasm of a private program of another user's: refused"
like err 'belongs to another user|not everyone' "--disasm of a private program: says why"
chown 0 mine.keep/program
chmod 755 mine.keep/program
run timeout 20 "$CPROF" report --list "^main\$" --disasm program.keep
like out 'ret' '--disasm of a public program'

# What is to be shown is shown: root's source, public source, the recorded user's private source.
program own "$private"
run timeout 20 "$CPROF" report --list main evil.keep/own.pb.gz
like out "$secret" "root's own private source, by a path of root's, is shown"
cp "$private" "$T/mine.keep/public.c"
chmod 644 "$T/mine.keep/public.c"
program public "$T/mine.keep/public.c"
run timeout 20 "$CPROF" report --list main evil.keep/public.pb.gz
like out "$secret" 'a file that everyone may read is shown'
as_user sh -c "umask 077; printf 'a\nb\nmy private source\n' >'$E/theirs.c'"
program theirs "$E/theirs.c"
chown "$user" evil.keep/theirs.pb.gz
run timeout 20 "$CPROF" report --list main evil.keep/theirs.pb.gz
like out 'my private source' "in a user's own profile, root sees the user's private source"
run as_user "$CPROF" report --list main evil.keep/theirs.pb.gz
like out 'my private source' 'as does the user'
run as_user "$CPROF" report --list main evil.keep/public.pb.gz
like out "$secret" 'an ordinary user sees public source'
as_user ln -s theirs.c "$E/own-link.c"
program ownlink "$E/own-link.c"
run as_user "$CPROF" report --list main evil.keep/ownlink.pb.gz
like out 'my private source' "a user's own link is followed for the user"
finish
