#!/bin/sh
# Snapshots of threads and goroutines on arm64, labels of goroutines on samples there, and what Yama's
# ptrace_scope allows.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
need go
# shellcheck disable=SC2034 # of guest.sh
guest_programs='tests/prog/blocked tests/guest/as'
guest_setup

waits=$CPROF_SOURCE_ROOT/tests/prog/gowaits
# build NAME PROGRAM OPTION...
build() {
	build_name=$1 build_program=$2
	shift 2
	env HOME="$T" GO111MODULE=off GOFLAGS='' GOCACHE="${PROG%/*}/gocache" GOARCH=arm64 CGO_ENABLED=0 \
		go build -o "$T/go-$build_name.keep" "$@" "$CPROF_SOURCE_ROOT/tests/prog/$build_program.go"
}
check 'a Go program builds for arm64' build plain gowaits
check 'and one without symbols' build bare gowaits -ldflags='-s -w'
check 'and one with labels' build labels golabels

# shellcheck disable=SC2034 # of guest.sh
guest_more="$T/go-plain.keep $T/go-bare.keep $T/go-labels.keep"
in_guest arm64 <<'END'
# begin NAME COMMAND...: the program, with its input open, until it is ready; sets $pid
begin() {
	name=$1
	shift
	mkfifo "/tmp/$name.in"
	exec 7<>"/tmp/$name.in"
	"$@" <"/tmp/$name.in" >"/tmp/$name.ready" 2>&1 7>&- &
	pid=$!
	until grep -q ready "/tmp/$name.ready"; do usleep 100000; done
}
# shot CASE COMMAND...
shot() {
	name=$1
	shift
	"$@" >"$OUT/$name.out" 2>"$OUT/$name.err"
	echo $? >"$OUT/$name.status"
}
for kind in plain bare; do
	begin $kind ./go-$kind.keep wait 100 50 $OUT/$kind.own
	shot $kind ./cprof snapshot -p $pid --format=go2
	exec 7>&-
	wait $pid
	echo $? >$OUT/$kind-end.status
done
record exact -e cpu-clock --go-labels=exact -- ./go-labels.keep switch 50000 2
record do -e cpu-clock --go-labels=exact -- ./go-labels.keep do 50000 2
record late -e cpu-clock --go-labels=late -- ./go-labels.keep switch 500000 3
record numbers -e cpu-clock --go-goroutines -- ./go-labels.keep switch 50000 1
begin blocked ./blocked 20 5
shot threads ./cprof snapshot -p $pid --json
echo >&7
until grep -q eintr /tmp/blocked.ready; do usleep 10000; done
cp /tmp/blocked.ready $OUT/blocked.out
exec 7>&-

chmod 755 / /payload /payload/cprof /payload/blocked
chmod 666 /tmp/blocked.in
chmod 777 /tmp
begin users ./as 1001 ./blocked 20
cat /proc/sys/kernel/yama/ptrace_scope >$OUT/yama.out
# With capabilities, and without.
cp cprof /usr/bin/cprof
./as caps /usr/bin/cprof
echo 'perf:x:1000:' >>/etc/group
echo 'allow-group = perf' >/etc/cprof.conf
chmod 644 /etc/cprof.conf
for scope in 0 1 2 3; do
	echo $scope >/proc/sys/kernel/yama/ptrace_scope || break
	shot scope$scope ./as 1001 ./cprof snapshot -p $pid --json
	shot caps$scope ./as 1001,1000 cprof snapshot -p $pid --json
	shot root$scope ./cprof snapshot -p $pid --json
done
END

for kind in plain bare; do
	result arm64 $kind
	is "$status" 0 "$kind: a snapshot of goroutines"
	check "$kind: equal to the program's own text" "$waits.py" "$T/arm64.keep/out/$kind.own" out
	result arm64 $kind-end
	is "$status" 0 "$kind: the program has not noticed it"
done

# A stack that was joined to an earlier one proves nothing.
agree="agree('handler', r'main\\.(burn\\d)\$', True, lambda labels: 'stack' not in labels)"
labelled="part(lambda r: 'handler' in r[2]) / anywhere(r'^main\\.burn\\d\$')"
for mode in exact 'do'; do
	result arm64 $mode
	is "$status" 0 "labels, $mode: recorded"
	profile "labels, $mode: most samples have one, and none is wrong" "$pb" 'n > 50' "$agree == 1" "$labelled > 0.8" \
		"labels('go::labels') == set()"
done
result arm64 late
is "$status" 0 'labels that are read late: recorded'
profile 'labels that are read late: not more are wrong than it says' "$pb" 'n > 50' "$labelled > 0.8" \
	"1 - $agree <= $(summary 's["go_late_wrong_max"]')" "labels('go::labels') == {'late'}"
result arm64 numbers
profile 'numbers of goroutines' "$pb" "len(labels('go::goroutine')) >= 2" "part(lambda r: 'go::goroutine' in r[2]) > 0.7"

# right CASE WHAT: all threads have their stacks
right() {
	result arm64 "$1"
	is "$status" 0 "$2"
	check "$2: all stacks are right" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/snapshot.py" out \
		"len(entries) == $3" 'not wrong' 'all(count(k) == 1 for k in KINDS)'
}
right threads 'threads: a snapshot' 26
is "$(sed -n 's/^eintr //p' "$T/arm64.keep/out/blocked.out")" 0 'no system call was interrupted'

if [ -s "$T/arm64.keep/out/yama.out" ]; then
	right scope0 'ptrace_scope 0, the same user' 21
	for scope in 1 2 3; do
		result arm64 scope$scope
		is "$status" 1 "ptrace_scope $scope, the same user: refused"
		like err "ptrace_scope is $scope" "ptrace_scope $scope: it is the reason"
	done
	for scope in 0 1 2; do
		right root$scope "ptrace_scope $scope, root" 21
		right caps$scope "ptrace_scope $scope, with capabilities" 21
	done
	for rights in root caps; do
		result arm64 ${rights}3
		is "$status" 1 "ptrace_scope 3, $rights: refused"
		like err 'ptrace_scope is 3: nobody may' "ptrace_scope 3, $rights: it is the reason"
	done
else
	skip 'ptrace_scope' "the guest's kernel has no Yama"
fi
finish
