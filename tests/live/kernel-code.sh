#!/bin/sh
# Temporary kernel code has names: BPF programs that exist only for a part of the recording.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
run "$PROG/bpfprog" 1
[ "$status" -eq 0 ] || skip_all "BPF programs: $(cat out)"
run "$CPROF" record -e cpu-clock -F 2999 --scope cpu -o b.pb.gz -- "$PROG/bpfprog" 400
is "$status" 0 'a BPF program: recorded'
if grep -q 'cprof_test' /proc/kallsyms; then
	echo '# it is still there'
fi
profile 'an unloaded BPF program has its name' b.pb.gz \
	"anywhere('^bpf_prog_[0-9a-f]+_cprof_test\$') > 0.05"
profile 'BPF programs have the mapping [bpf]' b.pb.gz \
	"'[bpf]' in {m.file for m in p.mappings.values()}"

# Profiles do not reveal where the kernel is.  Without randomization, addresses of the kernel proper
# are the same; what is loaded later is elsewhere in each boot.
run "$CPROF" record -e cpu-clock -F 2999 --scope cpu --kernel-addresses -o r.pb.gz -- \
	"$PROG/bpfprog" 400
is "$status" 0 '--kernel-addresses: recorded'
moved="[l.address for l in p.locations.values() if l.mapping and l.mapping.file == '[bpf]']"
profile 'addresses of BPF programs are offsets' b.pb.gz \
	"$moved" "all(a < 1 << 20 for a in $moved)"
profile '--kernel-addresses keeps the addresses in memory' r.pb.gz \
	"$moved" "all(a >> 63 for a in $moved)"
kernel="[l for l in p.locations.values() if l.mapping and l.mapping.file == '[kernel.kallsyms]']"
text=$(sed -n 's/^\([0-9a-f]*\) T _text$/\1/p' /proc/kallsyms | head -n 1)
profile 'other addresses are those at link time' b.pb.gz "$kernel" \
	"$(uname -m | grep -c x86_64) == 0 or 0x${text:-0} == 0xffffffff81000000 or not any(0x${text:-0} <= l.address < 0x${text:-0} + (16 << 20) for l in $kernel)"
names() {
	"$PYTHON" - "$@" <<-'END'
	import os, sys
	sys.path.insert(0, os.environ["CPROF_SOURCE_ROOT"] + "/tests")
	import pprof
	p = pprof.Profile(sys.argv[1])
	for l in p.locations.values():
	    if l.mapping and l.mapping.file.startswith("[kernel"):
	        print(l.id, [f.name for f, _ in l.lines])
	END
}
run "$CPROF" record --no-symbols -e cpu-clock -o n.pb.gz -- dd if=/dev/zero of=/dev/null bs=1M count=500
run "$CPROF" symbolize -o s.pb.gz n.pb.gz
is "$status" 0 '--no-symbols, then symbolize'
is "$(names s.pb.gz)" "$(names n.pb.gz)" 'symbolize leaves the names of the kernel as they were'
profile 'symbolize: the kernel has names' s.pb.gz \
	"len([l for l in $kernel if l.lines[0][0].name[0] != '[']) > 2"

# Debug information of the kernel: a file that replaces vmlinux, with the build id of the running
# kernel and text of the same length.
address() {
	sed -n "s/^\([0-9a-f]*\) . $1\$/\1/p" /proc/kallsyms | head -n 1
}
id=$("$PYTHON" -c 'd = open("/sys/kernel/notes", "rb").read()
i = d.find(b"\x14\0\0\0\x03\0\0\0GNU\0")
print(d[i + 12:i + 32].hex() if i >= 0 else "")' 2>/dev/null)
start=$(address _stext) end=$(address _etext)
if [ "$id" ] && [ "$start" ] && [ "$end" ] && command -v gcc >/dev/null; then
	mkdir vm.keep
	n_bytes=$("$PYTHON" -c "print(0x$end - 0x$start)")
	cat >vm.c <<-END
	void everything(void)
	{
		__asm__ volatile(".globl _stext\n_stext:\n.space $n_bytes\n" /* 3 */
				 ".globl _etext\n_etext:\n");
	}
	END
	gcc -g -O2 -ffreestanding -nostdlib -static -no-pie -fno-pie -Wl,-e,everything \
		-Wl,-Ttext=0x1000000 "-Wl,--build-id=0x$id" -o vm.keep/vmlinux vm.c
	for file in vm.keep/vmlinux vm.keep; do
		run "$CPROF" record -v -e cpu-clock --kernel-debug=$file -o k.pb.gz -- \
			dd if=/dev/zero of=/dev/null bs=1M count=2000
		like err "debug information of '.kernel.kallsyms.' from vm.keep/vmlinux" \
			"--kernel-debug=$file: the message names the file"
		profile "--kernel-debug=$file: frames have functions, files and lines" k.pb.gz \
			"anywhere('^everything\$') > 0.3" \
			"any(f.endswith('vm.c') and l == 3 for f, l in lines('everything'))"
	done
	rm -rf vm.keep
else
	skip '--kernel-debug=vmlinux' "needs the kernel's build id, its addresses, and gcc"
fi
run "$CPROF" record -e cpu-clock --kernel-debug="$PROG/serial" -o k.pb.gz -- \
	dd if=/dev/zero of=/dev/null bs=1M count=500
is "$status" 0 '--kernel-debug with another program: recorded'
like err "serial' was not used: its build id differs|build id is not known" \
	'--kernel-debug with another program: the message says that it is not used'
profile '--kernel-debug with another program: names come from kallsyms' k.pb.gz \
	"leaf('^main\$') < 0.5" "cum('J') == 0"
if [ -z "$(find /boot /usr/lib/debug/boot -name "vmlinux-$(uname -r)" 2>/dev/null)" ]; then
	run "$CPROF" record -e cpu-clock --kernel-debug -o k.pb.gz -- \
		dd if=/dev/zero of=/dev/null bs=1M count=500
	like err "no lines: no vmlinux for build id.* linux-image-$(uname -r)-dbg|build id is not known|debug information" \
		'--kernel-debug without debug files names their package'
fi

# cprof reports how to get more names.
cp "$PROG/inlines" bare.keep
strip bare.keep
run "$CPROF" record -v -e cpu-clock -o v.pb.gz -- ./bare.keep 50
like err "symbols of '.*/bare.keep': .*no debug information for build id [0-9a-f]+: compile it with -g" \
	'-v: for a program of no package, the advice is to compile it with -g'
sqlite=$(command -v sqlite3) || sqlite=
if [ -n "$sqlite" ] && [ -e /var/lib/dpkg/info/sqlite3.list ] &&
	[ ! -e "/usr/lib/debug/.build-id/$(readelf -n "$sqlite" | sed -n 's/.*Build ID: \(..\)\(.*\)/\1\/\2/p').debug" ]; then
	run "$CPROF" record -v -e cpu-clock --user -o v.pb.gz -- "$sqlite" :memory: \
		'with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000) select sum(x) from c'
	like err "symbols of '$sqlite': .*no debug file for build id [0-9a-f]+: Debian package sqlite3-dbgsym has it|symbols of '.*libsqlite3.so.*': .*Debian package libsqlite3-0-dbgsym" \
		'-v names the Debian package with the debug file'
else
	skip '-v names the Debian package with the debug file' 'needs sqlite3 as a Debian package'
fi
finish
