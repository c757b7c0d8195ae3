#!/bin/sh
# Names, inlined calls, files and lines are those of the source.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# line_of FILE MARK: the line with AT:mark
line_of() {
	grep -n "$2\\b" "$CPROF_SOURCE_ROOT/tests/prog/$1" | head -n 1 | cut -d: -f1
}

run "$CPROF" record -e cpu-clock -o c.pb.gz -- "$PROG/inlines"
is "$status" 0 'C: recorded'
for name in innermost middle outermost main; do
	profile "C: $name is at its line" c.pb.gz \
		"any(f.endswith('/prog/inlines.c') and l == $(line_of inlines.c "AT:$name") for f, l in lines('$name'))"
done
profile 'C: the inline chain is one location, innermost first' c.pb.gz \
	"chain('innermost', 'middle', 'outermost')" "path('innermost', 'middle', 'outermost', 'main') > 0.95"
profile 'C: the function has its start line' c.pb.gz \
	"[f.start_line for f in p.functions.values() if f.name == 'outermost'] == [$(line_of inlines.c START:outermost)]"
profile 'C: the flags of the mapping say that it has lines and inlined calls' c.pb.gz \
	"[(m.has_functions, m.has_filenames, m.has_line_numbers, m.has_inline_frames) for m in p.mappings.values() if m.file.endswith('/inlines')] == [(1, 1, 1, 1)]"

if [ -x "$PROG/inlinesxx" ]; then
	run "$CPROF" record -e cpu-clock -o xx.pb.gz -- "$PROG/inlinesxx"
	is "$status" 0 'C++: recorded'
	profile 'C++: templates and classes are demangled, inlined calls have frames' xx.pb.gz \
		"anywhere(r'^(unsigned long )?shapes::Mixer<unsigned long, 1000000>::mix(\\(unsigned long\\) const)?$') > 0.95" \
		"anywhere(r'apply<(unsigned long|uint64_t)>') > 0.95" \
		"anywhere(r'^shapes::Circle::area(\\((unsigned long|uint64_t)\\) const)?$') > 0.95"
	profile 'C++: the mangled name is kept' xx.pb.gz \
		"any(f.system_name == '_ZNK6shapes6Circle4areaEm' for f in p.functions.values())"
	for name in mix apply area main; do
		profile "C++: $name is at its line" xx.pb.gz \
			"any(f.file.endswith('/prog/inlinesxx.cc') and l == $(line_of inlinesxx.cc "AT:$name") for x in p.locations.values() for f, l in x.lines if re.search(r'\\b$name\\b', f.name))"
	done
else
	skip 'C++' 'needs a C++ compiler'
fi

for mangling in v0 legacy; do
	if [ ! -x "$PROG/rust-$mangling" ]; then
		skip "Rust $mangling" 'needs rustc'
		continue
	fi
	run "$CPROF" record -e cpu-clock -o rust.pb.gz -- "$PROG/rust-$mangling"
	is "$status" 0 "Rust $mangling: recorded"
	profile "Rust $mangling: names are demangled, without hashes" rust.pb.gz \
		"cum('rust::outermost') > 0.95 or anywhere(r'^rust(_$mangling)?::outermost$') > 0.95" \
		"not anywhere(r'::h[0-9a-f]{16}\$|^_R|^_ZN')"
	profile "Rust $mangling: the mangled name is kept" rust.pb.gz \
		"any(re.match('_R|_ZN', f.system_name) and 'outermost' in f.system_name for f in p.functions.values())"
	for name in mix apply outermost main; do
		profile "Rust $mangling: $name is at its line" rust.pb.gz \
			"any(f.file.endswith('prog/rust.rs') and l == $(line_of rust.rs "AT:$name") for x in p.locations.values() for f, l in x.lines if re.search(r'\\b$name\\b', f.name))"
	done
done

# Two libraries, mapped one after the other at the same address.
run "$CPROF" record -e cpu-clock -o dl.pb.gz -- "$PROG/dlopener"
like out 'same_address yes' 'the second library takes the address of the first'
profile 'a library loaded at the address of another one has its own names' dl.pb.gz \
	"0.4 < cum('work_in_a') < 0.6" "0.4 < cum('work_in_b') < 0.6" "cum('before_b') == 0" \
	"{m.file.rsplit('/', 1)[-1] for m in p.mappings.values()} >= {'liba.so', 'libb.so'}"

# Without any symbol, a name is never empty.
cp "$PROG/serial" stripped.keep
strip stripped.keep
run "$CPROF" record -e cpu-clock -o s.pb.gz -- ./stripped.keep 60
profile 'a stripped program: frames have file and offset' s.pb.gz \
	"leaf(r'^\\[stripped.keep\\]\\+0x[0-9a-f]+$') > 0.9" "'' not in names"

# The debug information is in a separate file, found by link and by build id.
if is_root; then
	id=$(readelf -n "$PROG/inlines" | sed -n 's/.*Build ID: //p')
	folder=/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)
	file=$folder/$(echo "$id" | cut -c3-).debug
	if [ -n "$id" ] && [ ! -e "$file" ]; then
		objcopy --strip-all "$PROG/inlines" split.keep
		had_folder=$([ -d "$folder" ] && echo yes || echo no)
		at_end "rm -f '$file'; [ $had_folder = yes ] || rmdir '$folder' 2>/dev/null"
		mkdir -p "$folder"
		objcopy --only-keep-debug "$PROG/inlines" "$file"
		run "$CPROF" record -e cpu-clock -o split.pb.gz -- ./split.keep 200
		profile 'a separate debug file is found by build id' split.pb.gz \
			"path('innermost', 'middle', 'outermost', 'main') > 0.9"
		rm -f "$file"
	else
		fail 'the test program has a build id'
	fi
	mkdir -p /usr/lib/debug
	dir=$(pwd -P)
	at_end "rm -rf '/usr/lib/debug$dir'"
	mkdir -p "/usr/lib/debug$dir"
	objcopy --only-keep-debug --remove-section=.note.gnu.build-id "$PROG/inlines" \
		"/usr/lib/debug$dir/linked.debug"
	objcopy --strip-all --remove-section=.note.gnu.build-id \
		--add-gnu-debuglink="/usr/lib/debug$dir/linked.debug" "$PROG/inlines" linked.keep
	run "$CPROF" record -e cpu-clock -o linked.pb.gz -- ./linked.keep 200
	profile 'a separate debug file is found by .gnu_debuglink' linked.pb.gz \
		"path('innermost', 'middle', 'outermost', 'main') > 0.9"
else
	skip 'separate debug information' 'needs root'
fi

# The kernel and the vDSO have names.
if is_root; then
	run "$CPROF" record -e cpu-clock -F 4999 -o k.pb.gz -- dd if=/dev/zero of=/dev/null bs=1M count=20000
	profile 'kernel frames have names' k.pb.gz \
		"anywhere('read_zero|read_iter_zero|clear_user|rep_stos') > 0.5" \
		"named('^.kernel') > 0.99" \
		"any(re.match(r'\\[kernel', m.file) for m in p.mappings.values())"
else
	skip 'kernel names' 'needs root'
fi
cat >clock.c.keep <<'END'
#include <time.h>
int main(void) { struct timespec t; for (int i = 0; i < 40000000; i++) clock_gettime(CLOCK_MONOTONIC, &t); return 0; }
END
cc -O1 -fno-omit-frame-pointer -x c -o clock.keep clock.c.keep
run "$CPROF" record -e cpu-clock -o v.pb.gz -- ./clock.keep
profile 'functions of the vDSO have names' v.pb.gz \
	"anywhere('vdso_clock_gettime|clock_gettime') > 0.5" \
	"named('vdso') > 0.9" "any('vdso' in m.file for m in p.mappings.values())"
finish
