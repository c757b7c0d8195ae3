#!/bin/sh
# Runs a program in an arm64 Linux guest with a hardware PMU, on any machine.
#
#	tests/guest/boot.sh [-t SECONDS] [--no-pmu] [--perf] [--shake N] [-v] FOLDER
#
# QEMU emulates the Arm PMUv3 with its overflow interrupts. FOLDER is copied into the guest as
# /payload, and the guest runs /payload/run as root. Afterwards the files in /payload/out (also
# $OUT) replace FOLDER/out; the console is written to out/console.log and to stdout. The exit
# status is that of `run`; 124 means a timeout, 125 that the guest failed. Run prepare.sh first.
#
# With -icount one instruction takes one cycle and one ns of the guest's time. There is only one CPU
# (with more, the counters of each CPU would count the instructions of all). So the same payload
# produces identical output, however busy this machine is.
#
# --shake N makes the guest run differently for each N: the kernel gets random seeds derived from N,
# which change the addresses of the kernel and of all programs.
#
# GUEST_CPU selects a processor other than Cortex-A72, by QEMU's name.
#
# Facts about this PMU:
# - It counts cycles (0x11) and instructions (0x08). Other raw codes open but stay at zero; other
#   named events do not open.
# - It has one cycle counter and six other counters. The first cycles event is exact.
# - An overflow of one of the six is not noticed until the next exception, usually the timer tick
#   every 4 ms, because QEMU 7.2 sets its timer one event too early and does not set it again. See
#   kick.c.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/cache.sh"

say() { printf '%s\n' "guest: $*" >&2; }
die() { say "$*"; exit 125; }

timeout=900
timeout_cpu=240
pmu=on
perf=
dir=
random=dtb-randomness=off
seed=
quiet=' quiet loglevel=1'
while [ $# -gt 0 ]; do
	case $1 in
	-t) timeout=$2; shift ;;
	--no-pmu) pmu=off ;;
	--perf) perf=-perf ;;
	--shake) random=dtb-randomness=on; seed=$2; shift ;;
	-v) quiet= ;;
	-*) die "no option $1" ;;
	*) [ -z "$dir" ] || die 'one folder only'; dir=$1 ;;
	esac
	shift
done
[ -n "$dir" ] || die 'usage: boot.sh [-t SECONDS] [--no-pmu] [--perf] [--shake N] [-v] FOLDER'
[ -x "$dir/run" ] || die "$dir/run is missing or not executable"
guest=$cache/guest$perf
[ -e "$guest/stamp" ] || die 'run prepare.sh first'

dir=$(CDPATH='' cd -- "$dir" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cprof-guest.XXXXXX")
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The payload is a second archive after the base one; the kernel unpacks both. File times are part
# of the guest's state, so all of them are set to 0.
mkdir -p "$work/stage/payload"
(cd "$dir" && find . -path ./out -prune -o -print | LC_ALL=C sort |
	cache_cpio -pdm "$work/stage/payload")
find "$work/stage" -exec touch -h -d @0 {} +
cache_pack "$work/stage" >"$work/payload.cpio"
cat "$guest/base.cpio" "$work/payload.cpio" >"$work/initrd"
rm -rf "$work/stage" "$work/payload.cpio"
truncate -s 256M "$work/out.img"	# sparse

# Fixed seeds and a fixed clock make the guest run identically each time.
cache_locate qemu-system-aarch64 || die 'no QEMU: run prepare.sh first'
set -- -machine "virt,$random" -cpu "${GUEST_CPU:-cortex-a72},pmu=$pmu" -smp 1 -m 512 -accel tcg \
	-icount shift=0,sleep=off -rtc base=2024-01-01,clock=vm \
	-nodefaults -display none -monitor none -no-reboot \
	-chardev stdio,id=console,signal=off -serial chardev:console \
	-kernel "$guest/vmlinuz" -initrd "$work/initrd" \
	-drive "if=none,id=out,file=$work/out.img,format=raw,cache=unsafe" \
	-device virtio-blk-device,drive=out \
	-append "console=ttyAMA0 panic=-1$quiet"
[ -z "$seed" ] || set -- "$@" -seed "$seed"
[ -z "$prog_libs" ] || set -- "$@" -L "$cache/host/usr/share/qemu"
# A guest that hangs uses CPU time at full speed, because idle time is skipped. So CPU time
# distinguishes it (the longest test needs 40 s) from a guest on a busy machine.
: >"$work/console"
prlimit --core=0 --cpu="$timeout_cpu:" timeout -k 5 "$timeout" env \
	${prog_libs:+"LD_LIBRARY_PATH=$prog_libs"} "$prog" "$@" \
	</dev/null >"$work/console" 2>&1 &
pid=$!
tail -s 0.1 -n +1 -f --pid="$pid" "$work/console"
rc=0
wait "$pid" || rc=$?
pid=

mkdir "$work/back"
whole=1
tar -xf "$work/out.img" -C "$work/back" --no-same-owner 2>/dev/null || whole=
rm -rf "$dir/out"
if [ -d "$work/back/out" ]; then
	cp -R "$work/back/out" "$dir/out"
else
	mkdir "$dir/out"
fi
cp "$work/console" "$dir/out/console.log"

case $rc in
0) ;;
124|137) say "killed after $timeout s"; exit 124 ;;
152) say "killed after $timeout_cpu s of CPU time"; exit 124 ;;
*) die "QEMU failed with status $rc" ;;
esac
[ -s "$work/back/.status" ] || die "the guest stopped without a result: $dir/out/console.log"
[ -n "$whole" ] || die "the guest's output is truncated: more than 256 MB?"
exit "$(cat "$work/back/.status")"
