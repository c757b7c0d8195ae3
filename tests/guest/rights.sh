#!/bin/sh
# A cprof with file capabilities on another kernel: with all values of perf_event_paranoid, and with
# Yama's ptrace_scope.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest rights <<'END'
echo 'perf:x:1000:' >>/etc/group
cp cprof /usr/bin/cprof
cp work /usr/bin/work
chmod 755 /usr/bin/cprof /usr/bin/work
chmod 755 /payload /
./as caps /usr/bin/cprof >$OUT/caps.out 2>$OUT/caps.err
echo $? >$OUT/caps.status
cat /proc/sys/kernel/yama/ptrace_scope >$OUT/scope.out
mkdir -p /tmp/u
chmod 1777 /tmp/u
chmod 1777 /tmp
./as 1001 work 100000 & own=$!
./as 1002 work 100000 & other=$!
work 100000 & roots=$!
# attempt NAME USER OPTION...
attempt() {
	name=$1
	user=$2
	shift 2
	./as "$user" cprof record -e cpu-clock -F 200 --duration 0.3 -o "/tmp/u/$name.pb.gz" "$@" \
		>$OUT/$name.out 2>$OUT/$name.err
	echo $? >$OUT/$name.status
	[ ! -e "/tmp/u/$name.pb.gz" ] || cp "/tmp/u/$name.pb.gz" $OUT/
}
for paranoid in 3 1 -1; do
	echo $paranoid >/proc/sys/kernel/perf_event_paranoid
	attempt other$paranoid 1001 -p $other
	attempt all$paranoid 1001 -a --no-symbols
done
echo 2 >/proc/sys/kernel/perf_event_paranoid
attempt own2 1001 -p $own
attempt root2 1001 -p $roots
echo 'allow-group = perf' >/etc/cprof.conf
chmod 644 /etc/cprof.conf
attempt outside2 1001 -p $other
attempt member2 1001,1000 -p $other,$roots
if echo 1 >/proc/sys/kernel/yama/ptrace_scope; then
	attempt memberyama 1001,1000 -p $other,$roots
	attempt outsideyama 1001 -p $other
fi
echo 3 >/proc/sys/kernel/perf_event_paranoid
attempt member3 1001,1000 -p $other,$roots
# What cprof doctor recommends there, and whether it helps.
cp cprof /tmp/plain
chmod 755 /tmp/plain
./as 1001 /tmp/plain doctor --json >$OUT/doctor3.out 2>$OUT/doctor3.err
echo $? >$OUT/doctor3.status
./as 1001,1000 cprof doctor --json >$OUT/doctormember3.out 2>$OUT/doctormember3.err
echo $? >$OUT/doctormember3.status
echo 2 >/proc/sys/kernel/perf_event_paranoid
./as 1001 /tmp/plain doctor --json >$OUT/doctor2.out 2>$OUT/doctor2.err
echo $? >$OUT/doctor2.status
kill $own $other $roots
END

result rights caps
is "$status" 0 'the file gets its capabilities'

# refused CASE WHAT: a status of 1 and no profile
refused_in() {
	result rights "$1"
	is "$status" 1 "$2: refused"
	like err 'perf_event_paranoid|belongs to user|permi' "$2: says why"
	check "$2: no profile" test ! -e "$pb"
}
# recorded_in CASE WHAT [CONDITION...]
recorded_in() {
	result rights "$1"
	recorded_what=$2
	shift 2
	is "$status" 0 "$recorded_what: recorded"
	profile "$recorded_what: functions have names" "$pb" "cum('main') > 0.5" "$@"
}

for paranoid in 3 1 -1; do
	refused_in other$paranoid "paranoid $paranoid, another user's process"
done
refused_in all3 'paranoid 3, all processes'
refused_in all1 'paranoid 1, all processes'
result rights all-1
is "$status" 0 'paranoid -1: everyone may record all processes'
recorded_in own2 'an own process'
refused_in root2 "root's process"
refused_in outside2 'with a group, for a user outside of it'
recorded_in member2 'a member, processes of two users'
# Only some kernels know this value, and not all of those accept CAP_PERFMON.
result rights member3
[ "$status" = 0 ] || like err 'paranoid is 3: CAP_PERFMON is not enough' 'paranoid 3, a member: says why not'
# remedies ID: the commands that cprof doctor recommends for a finding
remedies() {
	"$PYTHON" -c '
import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
	if f["id"] == sys.argv[2]:
		print(f["state"], *(r["text"] for r in f["remedies"]), sep="; ")' out "$1"
}
result rights doctor3
if [ "$status" = 1 ]; then
	is "$(remedies own-code)" \
		'no; get CAP_SYS_ADMIN (root has it); sudo sysctl kernel.perf_event_paranoid=2' \
		'cprof doctor, paranoid 3: a capability that this kernel refuses is not recommended'
	remedies kernel-code >kernel
	like kernel 'paranoid=2 && sudo setcap cap_perfmon' 'cprof doctor, paranoid 3: nor alone'
	result rights doctormember3
	remedies own-code >own
	like own 'get CAP_SYS_ADMIN .*paranoid=2$' 'cprof doctor, paranoid 3, a member: the sysctl'
	result rights doctor2
	is "$status $(remedies own-code)" '2 ok' 'cprof doctor: the sysctl that it recommends helps'
else
	skip 'cprof doctor at paranoid 3' 'this kernel does not know the value 3'
fi
result rights memberyama
if [ "$status" != missing ]; then
	recorded_in memberyama 'ptrace_scope 1, a member'
	refused_in outsideyama 'ptrace_scope 1, outside of the group'
else
	skip 'ptrace_scope 1' "the guest's kernel has no Yama"
fi
finish
