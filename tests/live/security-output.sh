#!/bin/sh
# Output files, as root in a folder that others can write to: links and files of others are neither
# followed nor replaced, also where the kernel does not prevent it.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need setpriv useradd userdel

user=cprof-out$$
useradd -M -d "$T/home.keep" -s /bin/sh "$user" || skip_all 'useradd failed'
at_end "userdel $user >/dev/null 2>&1"
uid=$(id -u "$user") gid=$(id -g "$user")
as_user() {
	setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all "$@"
}

# A folder like /tmp, and a private file of root's.
D=$T/tmp.keep
R=$T/root.keep
mkdir "$D" "$R"
chmod 1777 "$D"
reset() {
	echo secret >"$R/secret"
	chmod 600 "$R/secret"
}
record() {
	run timeout 20 "$CPROF" record -q -e cpu-clock -o "$1" -- "$PROG/spin" 1 30
}
# untouched TITLE REGEX: the last recording was refused for this reason; root's file is as before
untouched() {
	is "$status" 1 "$1: refused"
	like err "$2" "$1: says why"
	is "$(cat "$R/secret") $(stat -c %a "$R/secret")" 'secret 600' "$1: root's file is untouched"
	reset
}
reset

as_user ln -s "$R/secret" "$D/link.pb.gz"
record "$D/link.pb.gz"
untouched "a user's link to a file of root's" 'link .link.pb.gz.*another user'
as_user ln -s "$R/new" "$D/dangling.pb.gz"
record "$D/dangling.pb.gz"
untouched "a user's link to nothing" 'link .dangling.pb.gz.*another user'
check "a user's link to nothing: no file" test ! -e "$R/new"
as_user ln -s "$R" "$D/folder"
record "$D/folder/secret"
untouched "a user's link as a folder of the path" 'link .folder.*another user'
ln -s "$D/folder/secret" "$R/mine"
record "$R/mine"
untouched "root's own link over the user's" 'link .folder.*another user'
ln "$R/secret" "$D/hard.pb.gz"
record "$D/hard.pb.gz"
untouched "a hard link to root's file" 'hard links'
as_user sh -c "umask 0; echo theirs >'$D/file.pb.gz'"
record "$D/file.pb.gz"
untouched "a user's file with mode 0666" 'another user'
is "$(cat "$D/file.pb.gz")" theirs "a user's file with mode 0666: not replaced"
as_user mkfifo "$D/fifo.pb.gz"
record "$D/fifo.pb.gz"
untouched "a user's FIFO" 'another user'
as_user mkdir "$D/theirs"
as_user ln -s "$R/secret" "$D/theirs/link.pb.gz"
record "$D/theirs/link.pb.gz"
untouched "a link in a user's folder" 'another user'

# Other commands write by the same rules.
"$CPROF" record -q --mode 0644 -e cpu-clock -o "$R/p.pb.gz" -- "$PROG/spin" 1 30
for command in "merge -o $D/link.pb.gz $R/p.pb.gz" "convert --to folded -o $D/link.pb.gz $R/p.pb.gz" \
	"report --html $D/link.pb.gz $R/p.pb.gz" "report --svg $D/link.pb.gz $R/p.pb.gz" \
	"symbolize -o $D/link.pb.gz $R/p.pb.gz"; do
	# shellcheck disable=SC2086
	run timeout 20 "$CPROF" $command
	untouched "cprof ${command%% *}" 'link .link.pb.gz.*another user'
done

# The name is swapped in a loop.
background setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all sh -c "while :; do
	ln -sf '$R/secret' '$D/race.pb.gz'; rm -f '$D/race.pb.gz'; done" >/dev/null 2>&1
swapper=$pid
n=0
while [ "$n" -lt 40 ]; do
	timeout 20 "$CPROF" merge -o "$D/race.pb.gz" "$R/p.pb.gz" 2>/dev/null &&
		[ "$(stat -c %u "$D/race.pb.gz" 2>/dev/null)" = 0 ] && rm -f "$D/race.pb.gz"
	n=$((n + 1))
done
kill "$swapper"
is "$(cat "$R/secret") $(stat -c %a "$R/secret")" 'secret 600' \
	"a link swapped in a loop: root's file is untouched"

# The folder is exchanged for a link to root's during the recording.
as_user mkdir "$D/theirs/out"
echo old >"$R/moved.pb.gz"
run timeout 60 "$CPROF" record -q -e cpu-clock -o "$D/theirs/out/moved.pb.gz" -- sh -c "
	mv '$D/theirs/out' '$D/theirs/first'; ln -s '$R' '$D/theirs/out'; '$PROG/spin' 1 30"
is "$(cat "$R/moved.pb.gz")" old "a folder that becomes a link: root's file is untouched"
profile 'and the profile is in the folder that was named' "$D/theirs/first/moved.pb.gz" 'total > 0'

# What must work.
record "$D/new.pb.gz"
profile 'a new file' "$D/new.pb.gz" 'total > 0'
record "$D/new.pb.gz"
is "$status" 0 'our own file is replaced'
ln -s "$R/target.pb.gz" "$D/own.pb.gz"
record "$D/own.pb.gz"
profile 'our own link is followed' "$R/target.pb.gz" 'total > 0'
check 'and stays' test -h "$D/own.pb.gz"
mkfifo own.keep
cat own.keep >fifo.pb.gz.keep &
record own.keep
wait $!
profile 'our own FIFO is written' fifo.pb.gz.keep 'total > 0'
"$CPROF" record -q -e cpu-clock -o /dev/stdout -- sh -c '"$PROG/spin" 3 4 >&2' 2>out.keep |
	cat >stdout.keep
profile '/dev/stdout is a pipe' stdout.keep 'True'
"$CPROF" record -q -e cpu-clock -o /dev/fd/5 -- "$PROG/spin" 3 4 5>fd.keep >out.keep
profile '/dev/fd/5' fd.keep 'True'
chmod 644 "$D/new.pb.gz"
mkdir home.keep
chown "$user" home.keep
run as_user timeout 20 "$CPROF" merge -o home.keep/m.pb.gz "$D/new.pb.gz"
is "$status $(stat -c %a home.keep/m.pb.gz)" '0 644' "an ordinary user's own folder"
run as_user timeout 20 "$CPROF" merge -o "$D/own.pb.gz" "$D/new.pb.gz"
is "$status" 1 "an ordinary user does not replace root's file"

# With sudo and another user's HOME, nothing is written there.
run env -u XDG_CACHE_HOME HOME="$T/home.keep" timeout 20 "$CPROF" record -q -e cpu-clock \
	-o "$R/c.pb.gz" -- dd if=/dev/zero of=/dev/null bs=1M count=300
is "$(find home.keep -user root)" '' "another user's HOME: no cache is written"
mkdir "$R/home"
run env -u XDG_CACHE_HOME HOME="$R/home" timeout 20 "$CPROF" record -q -e cpu-clock \
	-o "$R/c.pb.gz" -- dd if=/dev/zero of=/dev/null bs=1M count=300
if [ -d "$R/home/.cache/cprof" ]; then
	is "$(stat -c %a "$R/home/.cache/cprof")" 700 'the cache is closed to others'
	is "$(find "$R/home/.cache/cprof" -type f ! -perm 600)" '' 'as are its files'
else
	skip 'the cache is closed to others' 'no kernel names here'
fi

# The modes of profiles: root's user code is for all, all else for root.
mode_of() {
	stat -c '%a %U' "$1" 2>&1
}
M=$T/modes.keep
mkdir "$M"
spin() {
	"$CPROF" record -q -e cpu-clock "$@" -- "$PROG/spin" 1 30
}
background "$PROG/spin" 1 60000
own=$pid
background setpriv --reuid="$uid" --regid="$gid" --clear-groups "$PROG/spin" 1 60000
theirs=$pid
attach() {
	timeout 20 "$CPROF" record -q -e cpu-clock --duration 0.2 "$@"
}
umask 022
spin --user -o "$M/own.pb.gz"
is "$(mode_of "$M/own.pb.gz")" '644 root' 'own processes: by the umask'
attach --user -p "$own" -o "$M/own-p.pb.gz"
is "$(mode_of "$M/own-p.pb.gz")" '644 root' 'an own process, attached: by the umask'
attach --user -p "$theirs" -o "$M/theirs.pb.gz"
is "$(mode_of "$M/theirs.pb.gz")" '600 root' "another user's process: private"
attach --user -p "$own,$theirs" -o "$M/both.pb.gz"
is "$(mode_of "$M/both.pb.gz")" '600 root' 'both: private'
attach --user -a -o "$M/all.pb.gz"
is "$(mode_of "$M/all.pb.gz")" '600 root' 'all processes: private'
"$CPROF" record -q --user -e cpu-clock -o "$M/change.pb.gz" -- setpriv --reuid="$uid" \
	--regid="$gid" --clear-groups "$PROG/spin" 1 300
is "$(mode_of "$M/change.pb.gz")" '600 root' 'a command that becomes another user: private'
attach --user --switch-output=100ms -p "$theirs" -o "$M/part.pb.gz"
is "$(stat -c %a "$M"/part.*.pb.gz | sort -u)" 600 'each part is private, too'
"$CPROF" record -q --repeat 2 --user -e cpu-clock -o "$M/repeat.pb.gz" -- setpriv --reuid="$uid" \
	--regid="$gid" --clear-groups "$PROG/spin" 1 100 2>/dev/null
is "$(mode_of "$M/repeat.pb.gz")" '600 root' 'as is the sum of several runs'
kill "$theirs" "$own"
"$CPROF" record -q --kernel -e cpu-clock -o "$M/kernel.pb.gz" -- \
	dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null
is "$(mode_of "$M/kernel.pb.gz")" '644 root' 'kernel code at link-time addresses: public'
"$CPROF" record -q --kernel --kernel-addresses -e cpu-clock -o "$M/kernel.pb.gz.new" -- \
	dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null
is "$(mode_of "$M/kernel.pb.gz.new")" '600 root' '--kernel-addresses: private'
spin --mode 0640 -o "$M/set.pb.gz"
is "$(mode_of "$M/set.pb.gz")" '640 root' '--mode: as it says'
(umask 077 && spin --user -o "$M/umask.pb.gz")
is "$(mode_of "$M/umask.pb.gz")" '600 root' 'umask 077'
(umask 077 && spin --user --mode 664 -o "$M/umask2.pb.gz")
is "$(mode_of "$M/umask2.pb.gz")" '664 root' 'umask 077 and --mode'
: >"$M/old.pb.gz"
chmod 666 "$M/old.pb.gz"
spin --user -o "$M/old.pb.gz"
is "$(mode_of "$M/old.pb.gz")" '666 root' 'the mode of an own file that is replaced stays'
cp "$M/theirs.pb.gz" "$M/in.pb.gz"
chmod 600 "$M/in.pb.gz"
chmod 666 "$M/old.pb.gz"
"$CPROF" merge -o "$M/old.pb.gz" "$M/in.pb.gz"
is "$(mode_of "$M/old.pb.gz")" '600 root' '... unless the new content is private'
as_user sh -c "umask 0; echo >'$D/foreign.pb.gz'"
record "$D/foreign.pb.gz"
is "$status $(mode_of "$D/foreign.pb.gz")" "1 666 $user" 'the mode of a file of others is never taken'

# Files made from a private one.
for command in "merge -o $M/merged.pb.gz $M/own.pb.gz" "convert --to folded -o $M/merged.pb.gz" \
	"report --html $M/merged.pb.gz" "report --svg $M/merged.pb.gz" \
	"report --diff $M/own.pb.gz --svg $M/merged.pb.gz" \
	"symbolize -q -o $M/merged.pb.gz"; do
	rm -f "$M/merged.pb.gz"
	# shellcheck disable=SC2086
	run timeout 20 "$CPROF" $command "$M/in.pb.gz"
	is "$(mode_of "$M/merged.pb.gz")" '600 root' "of a private file: cprof ${command%% "$M"*}"
	rm -f "$M/merged.pb.gz"
	# shellcheck disable=SC2086
	run timeout 20 "$CPROF" $command --mode 0604 "$M/in.pb.gz"
	is "$(mode_of "$M/merged.pb.gz")" '604 root' "with --mode: cprof ${command%% "$M"*}"
done
"$CPROF" merge -o "$M/public.pb.gz" "$M/own.pb.gz"
is "$(mode_of "$M/public.pb.gz")" '644 root' 'of a public file: public'
"$CPROF" merge -o "$M/piped.pb.gz" - <"$M/in.pb.gz"
is "$(mode_of "$M/piped.pb.gz")" '600 root' 'of a private file as stdin: private'
if command -v perf >/dev/null; then
	perf record -q -e cpu-clock:u -o perf.data.keep "$PROG/spin" 1 30 >/dev/null 2>&1
	chmod 640 perf.data.keep
	"$CPROF" import -q -o "$M/perf.pb.gz" perf.data.keep
	is "$(mode_of "$M/perf.pb.gz")" '640 root' 'an import has the mode of perf.data'
fi
for value in '' 8 0888 1777 77777 rw-r----- -1; do
	run "$CPROF" merge --mode="$value" -o "$M/x.pb.gz" "$M/own.pb.gz"
	is "$status" 64 "--mode '$value' is refused"
done
run "$CPROF" merge --mode=0600 -o - "$M/own.pb.gz"
is "$status" 64 '--mode without a file is refused'
finish
