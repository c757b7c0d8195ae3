#!/bin/sh
# For the same event, cprof passes the same perf_event_attr to the kernel as perf: for PMUs of other
# machines (PEBS with its fields, IBS, uncore, split fields), described by files in place of sysfs,
# and for all modifiers. No event needs to open.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need perf unshare mount
{ is_root && unshare -m true 2>/dev/null; } || skip_all 'needs root and namespaces'

# pmu FILE TEXT
pmu() {
	mkdir -p "$T/pmus.keep/${1%/*}"
	echo "$2" >"$T/pmus.keep/$1"
}

for number in software:1 tracepoint:2 cpu:4 breakpoint:5 uprobe:8 ibs_fetch:10 ibs_op:11 \
	uncore_imc_0:21 split:33; do
	pmu "${number%:*}/type" "${number#*:}"
done
for field in event=config:0-7 umask=config:8-15 edge=config:18 inv=config:23 cmask=config:24-31 \
	in_tx=config:32 ldlat=config1:0-15 offcore_rsp=config1:0-63 frontend=config1:0-23; do
	pmu "cpu/format/${field%%=*}" "${field#*=}"
done
pmu cpu/caps/max_precise 3
pmu cpu/events/cpu-cycles event=0x3c
pmu cpu/events/mem-loads event=0xcd,umask=0x1,ldlat=3
pmu cpu/events/mem-stores event=0xd0,umask=0x82
pmu ibs_op/format/cnt_ctl config:19
pmu ibs_op/format/l3missonly config:16
pmu ibs_fetch/format/rand_en config:57
pmu uncore_imc_0/cpumask 0
pmu uncore_imc_0/format/event config:0-7
pmu uncore_imc_0/format/umask config:8-15
pmu uncore_imc_0/events/cas_count_read event=0x04,umask=0x03
pmu split/format/a config:0-3,12-15
pmu split/format/b config1:1
pmu split/format/c config2:0-63

cat >compare.keep <<'END'
import re, subprocess, sys

EVENTS = """cycles cycles:u cycles:k cycles:pp cycles:uppp cycles:h cycles:uh cycles:G cycles:GH
cycles:I cycles:D cycles:kp instructions branch-misses ref-cycles bus-cycles
stalled-cycles-frontend r01d1 r1a2b3c4d5 L1-dcache-load-misses LLC-stores dTLB-store-misses
iTLB-loads node-prefetches branch-load-misses cpu/event=0xd1,umask=0x01,name=l1_hit/
cpu/event=0xd1,umask=0x01,edge,inv,cmask=2,in_tx/ cpu/event=0xd1,umask=0x01/upp cpu/mem-loads/
cpu/mem-loads,ldlat=0x33/pp cpu/mem-stores/p cpu/cpu-cycles/
cpu/config=0x1d1,config1=0x3,config2=0x9/ cpu/event=0xb7,umask=0x1,offcore_rsp=0x3f803c0001/
cpu/event=0xc6,umask=0x1,frontend=0x11/pp ibs_op// ibs_op/cnt_ctl=1,l3missonly=1/
ibs_fetch/rand_en=1/ uncore_imc_0/cas_count_read/ uncore_imc_0/event=0x4,umask=0x3/
split/a=0xab,b=1,c=0x123456789abcdef0/ split/a=0xf,b/ page-faults context-switches mem:0x1000:w
mem:0x1000/8:rw mem:0x401136:x""".split()
FLAGS = ["exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle", "exclude_host", "pinned"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True).stderr


def by_perf(event):
    text = run("perf", "record", "-vv", "-c", "1000", "-o", "/dev/null", "-e", event, "--", "true")
    block = re.search(r"perf_event_attr:\n(.*?)\n-{20,}", text, re.S)
    if not block:
        return text[:300]
    lines = dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in block[1].split("\n"))
    def number(*names):
        return max(int(re.match(r"\w+", lines.get(name, "0"))[0], 0) for name in names)
    return dict({name: number(name) for name in FLAGS}, type=number("type"), config=number("config"),
                config1=number("config1", "{ bp_addr, config1 }"),
                config2=number("config2", "{ bp_len, config2 }"), precise=number("precise_ip"),
                bp_type=number("bp_type"))


def by_cprof(event):
    text = run(sys.argv[1], "record", "-v", "-c", "1000", "--scope", "task", "-o", "x.pb.gz", "-e",
               event, "--", "true")
    line = re.search(r"event '.*' pid -?\d+ cpu -?\d+: (type .*): ", text)
    if not line:
        return text[:300]
    def number(name):
        found = re.search(r"\b%s (\w+)" % name, line[1])
        return int(found[1], 0) if found else 0
    flags = line[1].split()[-1].split(",")
    return dict({name: int(name in flags) for name in FLAGS}, type=number("type"),
                config=number("config"), config1=number("config1"), config2=number("config2"),
                precise=number("precise"), bp_type=number("bp_type"))


for event in EVENTS:
    theirs, mine = by_perf(event), by_cprof(event)
    print("same" if theirs == mine and isinstance(mine, dict) else "differ", event)
    if theirs != mine:
        print("# perf  %s\n# cprof %s" % (theirs, mine))
END
# (perf 6.1 combines the bits of ldlat=3, from the named event, with those given after it. 0x33
# contains them anyway.)
# shellcheck disable=SC2016 # the inner shell's
unshare -m sh -c 'mount --bind "$1" /sys/bus/event_source/devices && "$2" compare.keep "$3"' \
	sh "$T/pmus.keep" "$PYTHON" "$CPROF" >compared.keep 2>&1
n=0
while read -r verdict event; do
	case $verdict in
	same) pass "$event: the same attr as perf" ;;
	differ) fail "$event: the same attr as perf" ;;
	*) echo "$verdict $event" ;;
	esac
	n=$((n + 1))
done <compared.keep
[ "$n" -ge 40 ] || fail 'all events were compared'
finish
