#!/bin/sh
# cprof agent: all processes, continuously, into a spool.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# ---- the configuration ----
refused 64 'not an option' 'an argument' agent now
refused 64 "there is no key 'rat'" 'an unknown key' agent -s rat=1 --check
refused 64 "too small" 'a rate of 0' agent -s rate=0 --check
refused 1 'No such file' 'a configuration that is missing' agent -c missing --check
printf '# all\nrate = 99\nwindow = 2\n\nspool = there\n' >bad.conf
refused 64 "bad.conf, line 5: spool: 'there' is not an absolute path" 'a wrong line' agent -c bad.conf --check
refused 64 'needs push-user' 'a pusher with the rights of the recorder' agent -s push=x --check
mkdir -m 777 open.keep
refused 1 'other users can write' 'a spool that others can write to' agent -s spool="$T/open.keep" --check
refused 1 'above it' 'a spool in a missing folder' agent -s spool="$T/a/b" --check
if ! is_root; then
	run "$CPROF" agent -s spool="$T/s" --check
	if [ "$status" -ne 0 ]; then
		like err 'CAP_PERFMON' 'without privileges: the message names the missing capability'
		skip 'recording' 'needs root'
		finish
	fi
fi

mkdir -m 700 nobody.keep
chown 65534 nobody.keep
run as_nobody timeout 100 "$CPROF" agent -s spool="$T/nobody.keep/spool"
if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
	skip 'without privileges' 'this machine lets every user record whole CPUs'
else
	like err '^  .*CAP_PERFMON' 'without privileges: the hint names the missing capability'
	unlike err '--scope' 'and no option that the agent lacks'
fi
rm -rf nobody.keep

cat >agent.conf <<END
rate = 97
window = 1s
spool = $T/spool.keep
label = zone=here
END
run "$CPROF" agent -c agent.conf --check
is "$status" 0 '--check of a good configuration: status 0'
like err 'the configuration is right' '--check: it says so'

# start_agent [OPTION...]: sets $agent
start_agent() {
	background "$CPROF" agent -c agent.conf "$@" 2>agent.err
	agent=$pid
}
stop_agent() {
	kill -TERM "$agent"
	agent_status=0
	wait "$agent" || agent_status=$?
}
counter() {
	sed -n "s/^$1=//p" spool.keep/lost 2>/dev/null
}
has_windows() {
	[ "$(counter windows)" -ge "$1" ] 2>/dev/null
}
spool() {
	spool_name=$1
	shift
	check "$spool_name" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/agentspool.py" spool.keep "$@"
}

# ---- windows and services ----
cp "$PROG/spin" myservice
background ./myservice 2 1000000
mine=$pid
start_agent
wait_for 60 has_windows 3 || fail 'three windows are written'
run timeout 100 "$CPROF" agent -c agent.conf
is "$status" 1 'a second recorder in the same spool: status 1'
like err 'another cprof agent uses' 'and the reason'
stop_agent
is "$agent_status" 0 'SIGTERM: status 0'
spool 'the spool is whole' 'lost["windows"] >= 4' 'lost["windows_failed"] == 0' 'lost["cpu_ns"] > 0'
spool 'windows follow each other without gap and overlap' 'all(abs(gap) < 1e6 for gap in gaps)' \
	'len(windows) == lost["windows"]'
spool 'all samples are there once' \
	'sum(p["view"].n for p in profiles) == sum(int(p["n_samples"]) for p in profiles)' \
	'lost["samples"] <= sum(p["view"].n for p in profiles) <= lost["samples"] + lost["samples_lost"]'
spool 'a program has a profile of its own in each window' '"myservice" in services' \
	'sum(p["service"] == "myservice" for p in profiles) >= len(windows) - 1'
spool 'without lines of debug information' 'not any(line for p in profiles for _, line in p["view"].lines("spin_leaf"))'
spool 'it has names' 'all(p["view"].cum("spin_leaf") > 0.8 for p in profiles if p["service"] == "myservice")'
spool 'the agent itself is visible' '"cprof-agent" in services'
spool 'profiles carry the labels that merge needs' \
	'all(p["view"].labels("service_name") == {p["service"]} for p in profiles)' \
	'all(p["view"].labels("zone") == {"here"} for p in profiles)' \
	'all(not p["view"].labels("exe") for p in profiles)'
spool '.meta describes the service' \
	'any(p["label.exe"].endswith("/myservice") and len(p["label.exe_build_id"]) == 40 for p in profiles if p["service"] == "myservice")' \
	'all(p["event"] == "cpu-clock" or "cycles" in p["event"] for p in profiles)' \
	'all(p["label.zone"] == "here" and p["label.host"] for p in profiles)'
# shellcheck disable=SC2046 # a list of files
check 'consumers accept the profiles' "$CPROF" check \
	$(grep -l service_name=myservice spool.keep/*.meta | sed 's/meta$/pb.gz/')
is "$(stat -c %a spool.keep)" 700 'only its owner can read the spool'
run "$CPROF" merge --by service_name -o by.keep spool.keep/*.pb.gz
is "$status" 0 'merge --by service_name: status 0'
profile 'merge --by service_name: a service of all windows' by.keep/myservice.pb.gz 'cum("spin_leaf") > 0.8'

# ---- a new configuration ----
rm -r spool.keep
start_agent
wait_for 60 has_windows 1 || fail 'a window is written'
echo 'rate = none' >>agent.conf
kill -HUP "$agent"
wait_for 30 grep -q 'stays as it was' agent.err || fail 'SIGHUP: a wrong configuration is reported'
before=$(counter windows)
wait_for 60 has_windows $((before + 2)) || fail 'and changes nothing'
sed -i '$d; s/zone=here/zone=there/' agent.conf
echo 'lines = yes' >>agent.conf
kill -HUP "$agent"
wait_for 30 grep -q 'was read again' agent.err || fail 'SIGHUP: a configuration is read'
before=$(counter windows)
wait_for 60 has_windows $((before + 2)) || fail 'and recording goes on'
stop_agent
spool 'SIGHUP: the new labels are used' \
	'{z for p in profiles for z in p["view"].labels("zone")} == {"here", "there"}' 'lost["windows_failed"] == 0'
spool 'lines = yes: lines of debug information' 'any(line for p in profiles for _, line in p["view"].lines("spin_leaf"))'

# ---- limits ----
rm -r spool.keep
# A quiet machine has no others that could be combined.
small=
for n in 1 2 3 4 5; do
	cp "$PROG/spin" "small$n.keep"
	background "./small$n.keep" 2 1000000
	small="$small $pid"
done
start_agent -s services=3 -s spool-files=10
wait_for 60 has_windows 6 || fail 'six windows are written'
stop_agent
# shellcheck disable=SC2086 # a list of processes
kill $small
spool 'the oldest profiles make room, and are counted' 'len(profiles) <= 10' \
	'lost["profiles"] == len(profiles) + lost["profiles_lost"]' 'lost["profiles_lost"] > 0' \
	'windows[0][0] > 0 and len(windows) < lost["windows"]'
spool 'small services are combined' '"other" in services' \
	'all(int(p["n_processes"]) > 1 for p in profiles if p["service"] == "other")'

# ---- files of ended processes ----
rm -r spool.keep
mkdir mounted.keep
if mount -t tmpfs none mounted.keep 2>/dev/null; then
	cp "$PROG/spin" mounted.keep/onmount
	background ./mounted.keep/onmount 2 1000000
	mine=$pid
	cp "$PROG/changes-even" mounted.keep/inside
	background chroot mounted.keep /inside exit 3>/dev/null
	inside=$pid
	start_agent
	wait_for 60 has_windows 2 || fail 'two windows are written'
	ls -l "/proc/$agent/fd" >probe
	like probe ' -> .*/mounted.keep$' 'the root folder of a container is open'
	kill "$mine" "$inside"
	wait "$mine" "$inside" 2>/dev/null
	before=$(counter windows)
	wait_for 60 has_windows $((before + 3)) || fail 'and three after the end of the program'
	ls -l "/proc/$agent/fd" >probe
	unlike probe ' -> .*/mounted.keep' 'it is closed after the last process of the container'
	# another agent of this machine may have it open for some seconds more
	if wait_for 60 umount mounted.keep 2>err; then
		pass 'the file system of an ended program can be unmounted'
	else
		fail 'the file system of an ended program can be unmounted'
		umount -l mounted.keep
	fi
	stop_agent
	spool 'the program has names in all windows' '"onmount" in services' \
		'all(p["view"].cum("spin_leaf") > 0.8 for p in profiles if p["service"] == "onmount")'
else
	skip 'files of ended processes' 'this machine cannot mount a file system'
fi

# ---- large windows ----
rm -r spool.keep
"$CPROF" agent -c agent.conf --check -s window-size=1K 2>err && fail 'window-size: too small'
like err 'window-size' 'window-size: too small a size is refused'
background "$PYTHON" -c "
import hashlib, json, random, re, zlib
while True:
    data = [{'a': random.random(), 'b': str(i)} for i in range(1000)]
    text = json.dumps(data)
    re.findall('b.: .([0-9]+)', text), zlib.compress(text.encode()), sorted(json.loads(text), key=lambda d: d['a'])"
python=$pid
cp "$PROG/spin" myservice
background ./myservice 2 1000000
mine=$pid
start_agent -s rate=999 -s window-size=8K -s smallest=0%
wait_for 60 has_windows 5 || fail 'five windows are written'
stop_agent
kill "$python" "$mine"
spool 'a large window has less detail, and says so' 'lost["windows_reduced"] >= 3' 'lost["samples_folded"] > 0' \
	'all("window-size" in p["profile"].comments[0] for p in profiles)'
spool 'it fits' 'all(sum(p["bytes"] for p in profiles if p["start"] == w[0]) <= 8192 for w in windows)'
spool 'no value is lost' 'sum(p["view"].n for p in profiles) == sum(int(p["n_samples"]) for p in profiles)' \
	'lost["samples"] <= sum(p["view"].n for p in profiles) <= lost["samples"] + lost["samples_lost"]'
spool 'functions keep their shares' \
	'all(p["view"].cum("spin_leaf") > 0.8 for p in profiles if p["service"] == "myservice")'
# shellcheck disable=SC2046 # a list of files
check 'consumers accept these profiles, too' "$CPROF" check $(ls spool.keep/*.pb.gz)

# ---- kills ----
rm -r spool.keep
start_agent
wait_for 60 has_windows 1 || fail 'a window is written'
i=0
while [ $i -lt 8 ]; do
	sleep "0.$((i * 13 % 10))"
	kill -KILL "$agent"
	wait "$agent" 2>/dev/null
	start_agent
	i=$((i + 1))
done
before=$(counter windows)
wait_for 60 has_windows $((before + 2)) || fail 'a recorder that was killed starts again'
# The process that writes a window, if it lives long enough to be found.
i=0
failed=$(counter windows_failed)
while [ $i -lt 40 ] && [ "$(counter windows_failed)" = "$failed" ]; do
	pkill -KILL -P "$agent" -x cprof-agent 2>/dev/null
	sleep 0.05
	i=$((i + 1))
done
before=$(counter windows)
wait_for 60 has_windows $((before + 2)) || fail 'recording goes on when its child was killed'
stop_agent
spool 'after kills the spool is whole, and names are unique' \
	'len({p["name"] for p in profiles}) == len(profiles)' 'lost["profiles"] >= len(profiles) - 40'
spool 'the windows of recorders that were killed are counted' '4 <= lost["windows_failed"] <= 8 + 40' 'lost["recording"] == 0'

# ---- a full disk ----
if is_root && mkdir disk.keep && mount -t tmpfs -o size=3m none disk.keep 2>/dev/null; then
	# shellcheck disable=SC2034 # lib.sh runs it
	tap_cleanup='umount -l "$T/disk.keep" 2>/dev/null'
	rm -r spool.keep
	ln -s disk.keep/s spool.keep
	start_agent -s spool="$T/disk.keep/s"
	wait_for 60 has_windows 3 || fail 'three windows are written'
	cat /dev/zero >disk.keep/ballast 2>/dev/null
	before=$(counter windows)
	wait_for 60 has_windows $((before + 2)) && pass 'a full disk: its counters go on' ||
		fail 'a full disk: its counters go on'
	[ "$(counter profiles_lost)" -gt 0 ] && pass 'the oldest profiles make room' ||
		fail 'the oldest profiles make room'
	failed() {
		rm -f disk.keep/s/[0-9]*
		cat /dev/zero >>disk.keep/ballast 2>/dev/null
		[ "$(counter profiles_failed)" -gt 0 ]
	}
	wait_for 60 failed || fail 'without profiles there is no room, which is counted'
	before=$(counter windows)
	wait_for 60 has_windows $((before + 1)) && pass 'without room, too' || fail 'without room, too'
	like agent.err 'No space left' 'a full disk is reported'
	rm disk.keep/ballast
	before=$(counter windows)
	wait_for 60 has_windows $((before + 2)) || fail 'recording goes on when there is space'
	stop_agent
	spool 'a full disk: what failed is counted, and nothing is half' \
		'lost["profiles_failed"] > 0' 'len(profiles) > 0' 'windows[0][0] > 0'
	rm spool.keep
else
	skip 'a full disk' 'no file system can be mounted'
	rm -r spool.keep
fi

# ---- the pusher as a child ----
if is_root && [ -x "$(dirname "$CPROF")/cprof-push" ]; then
	mkdir state.keep
	chown nobody state.keep
	start_agent -s push-user=nobody -s spool-group="$(id -gn nobody)" \
		-s push="--format pyroscope --state $T/state.keep http://127.0.0.1:9"
	wait_for 30 pgrep -P "$agent" -x cprof-push >child.keep || fail 'the pusher is started'
	child=$(pgrep -P "$agent" -x cprof-push)
	is "$(ps -o user= -p "$child" | tr -d ' ')" nobody 'it runs as the other user'
	like "/proc/$child/status" 'CapPrm:.*0000000000000000' 'it has no capabilities'
	kill -KILL "$child"
	wait_for 30 eval 'pgrep -P "$agent" -x cprof-push >again.keep' || fail 'the pusher is started again'
	stop_agent
	check 'the pusher ends with the recorder' eval "! pgrep -x cprof-push -F again.keep"
else
	skip 'the pusher as a child' 'needs root and libcurl'
fi
kill "$mine" 2>/dev/null
finish
