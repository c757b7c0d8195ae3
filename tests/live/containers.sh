#!/bin/sh
# Names come from the files that the target runs, even in another root or mount namespace, deleted
# or replaced. cprof never uses a host file of the same path instead.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need gcc

gcc -static -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE \
	-o serial-static.keep "$CPROF_SOURCE_ROOT/tests/prog/serial.c"
gcc -static -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE \
	-o spin-static.keep "$CPROF_SOURCE_ROOT/tests/prog/spin.c"

right="'' not in names, cum('A') > 0.95, share('J') > 0.1, cum('recurse') == 0"
build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}
# as_serial NAME FILE [gone]: with the names of serial. Reading a file that is gone requires
# /proc/PID/map_files and therefore CAP_CHECKPOINT_RESTORE; other users get no names, and no wrong
# ones.
as_serial() {
	if [ "${3-}" ] && ! is_root; then
		profile "$1" "$2" "cum('recurse') == 0" \
			"not any(m.build_id == '$(build_id spin-static.keep)' for m in p.mappings.values())"
		return
	fi
	profile "$1" "$2" "all([$right])" \
		"any(m.build_id == '$(build_id serial-static.keep)' for m in p.mappings.values())" \
		"not any(m.build_id == '$(build_id spin-static.keep)' for m in p.mappings.values())"
}

# deleted while it runs
cp serial-static.keep del
./del 100000 >/dev/null &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 runs $pid "$T/del"
rm del
run "$CPROF" record -e cpu-clock --duration 0.5 -o del.pb.gz -p $pid
is "$status" 0 'a deleted binary: recorded'
as_serial 'a deleted binary: functions have their names' del.pb.gz gone
profile 'a deleted binary: its file name has no "(deleted)"' del.pb.gz \
	"not any('deleted' in m.file for m in p.mappings.values())"
kill $pid

# replaced while it runs, before and during the recording
cp serial-static.keep app
./app 100000 >/dev/null &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 runs $pid "$T/app"
cp spin-static.keep new
mv new app
run "$CPROF" record -e cpu-clock --duration 0.5 -o rep.pb.gz -p $pid
is "$status" 0 'a replaced binary: recorded'
as_serial 'a replaced binary: names are those of the old one' rep.pb.gz gone
kill $pid
cp serial-static.keep app2
run "$CPROF" record -e cpu-clock -o during.pb.gz -- sh -c \
	'./app2 200 & sleep 0.2; until [ "$(readlink /proc/$!/exe)" -ef app2 ]; do sleep 0.2; done; rm app2
	cp spin-static.keep app2; wait'
as_serial 'a binary replaced during the recording: names are those of the old one' during.pb.gz

# a library deleted while it is in use
cp "$PROG/liba.so" gone.so
cp "$PROG/libb.so" b.so
"$PROG/dlopener" 100000 "$T/gone.so" "$T/b.so" >/dev/null &
pid=$!
tap_pids="$tap_pids $pid"
wait_for 60 grep -q "$T/gone.so" /proc/$pid/maps
cp "$PROG/libb.so" other.so
mv other.so gone.so
run "$CPROF" record -e cpu-clock --duration 0.5 -o lib.pb.gz -p $pid
profile 'a replaced library: names are those of the old one' lib.pb.gz \
	"cum('work_in_a') > 0.95 or $(is_root && echo False || echo True)" \
	"cum('work_in_b') == 0" "cum('before_b') == 0"
kill $pid

# a process that ends before cprof can read its maps again
run "$CPROF" record -e cpu-clock -F 4999 -o brief.pb.gz -- sh -c \
	'for i in 1 2 3 4 5 6 7 8; do cp serial-static.keep brief$i; ./brief$i 2 >/dev/null; rm brief$i; done'
is "$status" 0 'short-lived programs, deleted at once: recorded'
profile 'short-lived programs, deleted at once: no frame has a wrong name' brief.pb.gz \
	"'' not in names" "cum('recurse') == 0"

if ! is_root || ! unshare -m -p -f true 2>/dev/null; then
	skip 'containers' 'needs root and namespaces'
	finish
fi

# Another root; the host has another program at the same path.
mkdir -p "root$T"
cp serial-static.keep "root$T/app"
cp spin-static.keep "$T/app"
unshare -m -p -f chroot "$T/root" "$T/app" 100000 >/dev/null &
shell=$!
tap_pids="$tap_pids $shell"
in_root() {
	pid=$(pgrep -P $shell | head -n 1)
	[ -n "$pid" ] && [ "$(cat "/proc/$pid/comm")" = app ]
}
wait_for 60 in_root
run "$CPROF" record -e cpu-clock --duration 0.5 -o ct.pb.gz -p "$pid"
is "$status" 0 'a container, attached: recorded'
as_serial "a container, attached: names are the container's" ct.pb.gz
profile 'a container, attached: the pid is the one that cprof was given' ct.pb.gz "labels('pid') <= {'$pid'}"
kill -KILL "$pid"
wait $shell 2>/dev/null

run "$CPROF" record -e cpu-clock -o ctc.pb.gz -- unshare -m -p -f chroot "$T/root" "$T/app" 100
is "$status" 0 'a container as the command: recorded'
as_serial "a container as the command: names are the container's" ctc.pb.gz

# Its debug file is beside it in that root, and cprof finds it after the process has ended.
objcopy --only-keep-debug serial-static.keep "root$T/bare.debug"
strip -o "root$T/bare" serial-static.keep
objcopy --add-gnu-debuglink="root$T/bare.debug" "root$T/bare"
run "$CPROF" record -e cpu-clock -o ctd.pb.gz -- unshare -m -p -f chroot "$T/root" "$T/bare" 100
as_serial "a stripped program in a container: names come from the container's debug file" ctd.pb.gz

# A bind mount that exists only in the mount namespace of the target.
cp spin-static.keep bound
run "$CPROF" record -e cpu-clock -o bind.pb.gz -- unshare -m sh -c \
	"mount --bind serial-static.keep bound && exec ./bound 100"
as_serial 'a bind mount in the mount namespace of the target: names are those of the mounted file' bind.pb.gz

# cprof itself in a pid namespace
run unshare -m -p -f --mount-proc "$CPROF" record -e cpu-clock -o ns.pb.gz -- ./serial-static.keep 100
is "$status" 0 'cprof inside a pid namespace: recorded'
as_serial 'cprof inside a pid namespace: functions have their names' ns.pb.gz
finish
