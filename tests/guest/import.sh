#!/bin/sh
# Files that perf recorded on arm64 with PMU events: cprof import on this machine finds the same
# samples as perf script on that machine.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup --perf

in_guest import --perf <<'END'
cd /payload
perfed() {
	name=$1
	shift
	perf record -N -q -o "$OUT/$name.data" "$@" >"$OUT/$name.log" 2>&1
	echo $? >"$OUT/$name.status"
	perf script --no-inline -F event,period,ip -i "$OUT/$name.data" >"$OUT/$name.script" 2>>"$OUT/$name.log"
}
perfed fp -e cycles:u -c 1000003 -g -- ./work 40
perfed dwarf -e cycles:u -c 1000003 --call-graph dwarf,4096 -- ./work-frameless 40
perfed several -e cycles:u,instructions:u -c 1000003 -g -- ./work 20
perfed kernel -e cycles -c 1000003 -g -- dd if=/dev/zero of=/dev/null bs=64k count=500
perf record -N -q -o - -e cycles:u -c 1000003 -g -- ./work 20 >"$OUT/stream.data" 2>"$OUT/stream.log"
perf script --no-inline -F event,period,ip -i "$OUT/stream.data" >"$OUT/stream.script" 2>>"$OUT/stream.log"
cp -L /usr/lib/aarch64-linux-gnu/libc.so.6 "$OUT"
END

# The guest's programs and libc, for --symfs.
guest_out=$T/import.keep/out
mkdir -p symfs.keep/payload symfs.keep/usr/lib/aarch64-linux-gnu
cp "$T"/import.keep/work* symfs.keep/payload/
cp "$guest_out/libc.so.6" symfs.keep/usr/lib/aarch64-linux-gnu/

# imported NAME: imports NAME.data of the guest into NAME.pb.gz
imported() {
	cp "$guest_out/$1.data" "$guest_out/$1.script" .
	run "$CPROF" import -v --kernel-addresses --symfs symfs.keep -o "$1.pb.gz" "$1.data"
	is "$status" 0 "$1: import succeeds"
	mv err "$1.err.keep"
}

# same NAME EVENT FILE leaf|chains WHAT
same() {
	check "$5: the same number of samples, sum and addresses" "$PYTHON" \
		"$CPROF_SOURCE_ROOT/tests/import.py" "$1.data" "$2" "$3" "$4"
}

imported fp
same fp cycles:u fp.pb.gz chains 'frame pointers on arm64'
profile 'frame pointers on arm64: files found by build id give names' fp.pb.gz \
	"cum('main') > 0.98" \
	"share('work_three') > 0.7" "'aarch64' in open('fp.err.keep').read()"
imported dwarf
same dwarf cycles:u dwarf.pb.gz leaf 'registers and stack copies of arm64'
profile 'stack copies of arm64: a leaf without a frame has its caller' dwarf.pb.gz \
	"path('work_three', 'drive', 'main') >= 0.99 * share('work_three')" \
	"share('work_three') > 0.7" "roots('^_start$') > 0.98"
imported several
same several cycles:u several.cycles-u.pb.gz leaf 'cycles of two events'
same several instructions:u several.instructions-u.pb.gz leaf 'instructions of two events'
imported kernel
same kernel cycles kernel.pb.gz chains 'the kernel of arm64'
profile "the running kernel's names are not used for another kernel" kernel.pb.gz \
	"named('kernel') < 0.01"
imported stream
same stream cycles:u stream.pb.gz chains 'a stream of arm64'
profile 'a stream has no build ids: the files below --symfs are used, with a warning' stream.pb.gz \
	"cum('main') > 0.98" "'used without proof' in open('stream.err.keep').read()"
rm -f ./*.data ./*.script ./*.pb.gz
finish
