# Programs of another user that a FUSE file system keeps waiting for ever, and with them everybody who
# needs their memory or their locks.  Sourced after lib.sh.
need_perf
need_root
need setpriv
[ -c /dev/fuse ] || skip_all 'no /dev/fuse here'

mkdir fs
head -c 2000000 /dev/zero >zeros.keep
cp "$CPROF_PROG/stuckmem" "$CPROF_PROG/labelled" .
chmod 755 . stuckmem labelled
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
at_end "umount -l '$T/fs' 2>/dev/null"

# stuck MODE [KIND]: a program of nobody's; sets $target and $fs
stuck() {
	: >fs.keep
	: >ready.keep
	background "$CPROF_PROG/stuckfs" "$T/fs" zeros.keep ${2:-} >fs.keep
	fs=$pid
	wait_for 10 grep -q ready fs.keep || skip_all 'stuckfs cannot be mounted'
	background $nobody ./stuckmem fs/file "$1" >ready.keep
	target=$pid
	wait_for 10 grep -q ready ready.keep || fail "stuckmem $1 starts"
	kill -USR1 "$fs"
	sleep 0.1
	case $1 in
	map | exec)
		kill -USR1 "$target"
		sleep 0.2
		;;
	esac
}
unstuck() {
	kill -KILL "$target" "$fs"
	wait "$target" "$fs" 2>/dev/null
	umount -l fs
}
# interrupted WHAT ARGUMENTS...
interrupted() {
	what=$1
	shift
	env --default-signal=INT "$CPROF" record -o p.pb.gz "$@" >out 2>err &
	cprof_pid=$!
	tap_pids="$tap_pids $cprof_pid"
	sleep 0.6
	kill -INT $cprof_pid
	check "$what: SIGINT ends it" wait_for 5 ended
	kill -KILL $cprof_pid 2>/dev/null
	wait $cprof_pid
	is $? 0 'with a profile'
	rm -f p.pb.gz
}
ended() { ! [ -e "/proc/$cprof_pid/exe" ]; }
