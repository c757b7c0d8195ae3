#!/bin/sh
# Names added later give the same profile as a recording with names.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record -q -e cpu-clock --no-symbols -o bare.pb.gz -- "$PROG/inlines" 100
is "$status" 0 'recorded without names'
profile '--no-symbols: frames have no names, and the mappings say so' bare.pb.gz \
	"not any(l.lines for l in p.locations.values() if l.mapping and l.mapping.file.endswith('/inlines'))" \
	"[(m.has_functions, len(m.build_id) > 8) for m in p.mappings.values() if m.file.endswith('/inlines')] == [(0, True)]"
cp bare.pb.gz named.pb.gz
run "$CPROF" symbolize named.pb.gz
is "$status" 0 'symbolize changes the profile in place'
like err 'of [0-9]+ addresses without names' 'cprof reports the number of names'
profile 'symbolize adds functions, inlined calls, files and lines' named.pb.gz \
	"path('innermost', 'middle', 'outermost', 'main') > 0.8" \
	"any(f.endswith('/prog/inlines.c') and l > 0 for f, l in lines('innermost'))"

# The same recording in both ways.
if command -v perf >/dev/null && perf record -q -e cpu-clock -F 999 -o perf.data.keep -- "$PROG/inlines" 60 \
	>/dev/null 2>&1 && "$CPROF" import -q -o at-once.pb.gz perf.data.keep 2>/dev/null; then
	"$CPROF" import -q --no-symbols -o later.pb.gz perf.data.keep
	run "$CPROF" symbolize -q later.pb.gz -o -
	check 'symbolize writes the same bytes as import with names' cmp out at-once.pb.gz
	"$CPROF" import -q --demangle full -o at-once.pb.gz perf.data.keep
	run "$CPROF" symbolize -q --demangle full later.pb.gz -o later2.pb.gz
	check 'symbolize --demangle full writes the same bytes as import --demangle full' \
		cmp later2.pb.gz at-once.pb.gz
else
	skip 'symbolize writes the same bytes as import with names' 'needs perf'
fi

# On another machine: only the debug file exists, found by build id.
id=$(readelf -n "$PROG/inlines" | sed -n 's/.*Build ID: //p')
cp "$PROG/inlines" moved.keep
strip moved.keep
run "$CPROF" record -q -e cpu-clock --no-symbols -o far.pb.gz -- ./moved.keep 100
rm moved.keep
cp far.pb.gz none.pb.gz
run "$CPROF" symbolize none.pb.gz
is "$status" 0 'a missing file is not a failure'
like err "moved.keep'.*no file with build id $id" 'a missing file is reported with its build id'
profile 'a missing file: frames have file and offset' none.pb.gz \
	"leaf(r'^\\[moved.keep\\]\\+0x') > 0.8"
folder=debug.keep/.build-id/$(echo "$id" | cut -c1-2)
mkdir -p "$folder"
objcopy --only-keep-debug "$PROG/inlines" "$folder/$(echo "$id" | cut -c3-).debug"
run "$CPROF" symbolize --debug-dir debug.keep none.pb.gz
profile 'a debug file found by build id is enough, even in a second run' none.pb.gz \
	"path('innermost', 'middle', 'outermost', 'main') > 0.8"
mkdir -p "root.keep$T"
cp "$PROG/inlines" "root.keep$T/moved.keep"
run "$CPROF" symbolize --symfs root.keep far.pb.gz -o rooted.pb.gz
profile '--symfs finds the file below another root' rooted.pb.gz \
	"path('innermost', 'middle', 'outermost', 'main') > 0.8"
cp "$PROG/serial" "root.keep$T/moved.keep"
run "$CPROF" symbolize -v --symfs root.keep far.pb.gz -o wrong.pb.gz
like err 'another build id' 'a file with another build id is not used, and reported'
profile 'a file with another build id gives no names' wrong.pb.gz \
	"leaf(r'^\\[moved.keep\\]\\+0x') > 0.8"

# The time for the debug information of a file is limited; symbol tables name the rest.
cp bare.pb.gz late.pb.gz
run "$CPROF" symbolize --symbol-timeout 1ns late.pb.gz
is "$status" 0 '--symbol-timeout: the profile is written in any case'
like err '^cprof symbolize: [1-9][0-9]* files? whose debug information took too long' \
	'--symbol-timeout: cprof reports the number of files'
profile '--symbol-timeout: functions of the symbol table without lines' late.pb.gz \
	"path('outermost', 'main') > 0.8" "not any(l > 0 for f, l in lines('main') | lines('outermost'))"
cp bare.pb.gz unhurried.pb.gz
run "$CPROF" symbolize --symbol-timeout 1000h unhurried.pb.gz
unlike err 'too long' 'enough time: no message'
profile 'enough time: inlined calls' unhurried.pb.gz "path('innermost', 'middle', 'outermost', 'main') > 0.8"

# How names are written.
if [ -x "$PROG/inlinesxx" ]; then
	run "$CPROF" record -q -e cpu-clock --demangle none -o none.pb.gz -- "$PROG/inlinesxx"
	profile '--demangle none: names as in the file' none.pb.gz \
		"anywhere('^_ZNK6shapes6Circle4areaEm\$') > 0.8"
	run "$CPROF" record -q -e cpu-clock --demangle full -o full.pb.gz -- "$PROG/inlinesxx"
	profile '--demangle full: names as c++filt prints them' full.pb.gz \
		"anywhere(r'^shapes::Circle::area\\(unsigned long\\) const\$') > 0.8"
	run "$CPROF" record -q -e cpu-clock --demangle simple -o simple.pb.gz -- "$PROG/inlinesxx"
	profile '--demangle simple: names without parameters' simple.pb.gz \
		"anywhere(r'^shapes::Circle::area\$') > 0.8"
else
	skip '--demangle' 'needs a C++ compiler'
fi

# The index of a large compressed section is kept for the next time.  The enumeration makes it
# large.
awk 'BEGIN {
	for (i = 0; i < 1500; i++)
		printf "long f%d(long count_%d) { long total_%d = 1; for (long step = 0; step < count_%d; " \
			"step++) total_%d += total_%d * step + %d; return total_%d; }\n", i, i, i, i, i, i, i, i
	printf "enum many {"
	for (i = 0; i < 300000; i++)
		printf "e%d,", i * 7 % 300000
	print "} many_keep;"
	print "int main(void) { return (int)(f3(90000000) + f700(90000000) + f1499(90000000)) & 1; }"
}' >many.keep.c
if cc -O1 -fno-inline -gz -g -o many.keep many.keep.c 2>err && readelf -t many.keep | grep -q COMPRESSED; then
	XDG_CACHE_HOME=$T/cache.keep
	export XDG_CACHE_HOME
	run "$CPROF" record -q --user -e cpu-clock --no-symbols -o many.pb.gz -- ./many.keep
	run "$CPROF" symbolize -q --no-cache many.pb.gz -o none.pb.gz
	check '--no-cache keeps nothing' test ! -e cache.keep
	profile 'a compressed section: functions and lines' none.pb.gz \
		"path('f700', 'main') > 0.1 and path('f1499', 'main') > 0.1" \
		"any(f.endswith('many.keep.c') and l > 0 for f, l in lines('f1499'))"
	run "$CPROF" symbolize -q many.pb.gz -o first.pb.gz
	check 'an empty cache changes nothing' cmp first.pb.gz none.pb.gz
	check 'the cache is filled' sh -c 'ls cache.keep/cprof/unpacked-*'
	run "$CPROF" symbolize -q many.pb.gz -o second.pb.gz
	check 'a filled cache changes nothing' cmp second.pb.gz none.pb.gz
	for file in cache.keep/cprof/unpacked-*; do
		dd if=/dev/zero of="$file" bs=1k seek=1 count=60 conv=notrunc 2>/dev/null
	done
	run "$CPROF" symbolize -q many.pb.gz -o third.pb.gz
	check 'a damaged cache changes nothing' cmp third.pb.gz none.pb.gz
	for file in cache.keep/cprof/unpacked-*; do
		: >"$file"
	done
	run "$CPROF" symbolize -q many.pb.gz -o fourth.pb.gz
	check 'a cache of empty files changes nothing' cmp fourth.pb.gz none.pb.gz
	rm -rf cache.keep
	: >cache.keep
	run "$CPROF" symbolize many.pb.gz -o fifth.pb.gz
	is "$status" 0 'a cache folder that cannot be created is not a failure'
	check 'a cache folder that cannot be created changes nothing' cmp fifth.pb.gz none.pb.gz
	unset XDG_CACHE_HOME
else
	skip 'the cache of compressed sections' 'needs a compiler that compresses debug information'
fi

# A fleet: each file is read once, whatever the number of profiles, and the result is the same.
mkdir fleet
for i in 1 2 3 4 5 6; do
	"$CPROF" record -q -e cpu-clock --no-symbols -o "fleet/$i.pb.gz" -- "$PROG/inlines" $((i * 4))
	cp "fleet/$i.pb.gz" "fleet/$i.alone"
	"$CPROF" symbolize -q "fleet/$i.alone"
done
chmod 640 fleet/3.pb.gz
ls fleet/*.pb.gz >list.keep
run "$CPROF" symbolize -v --files-from list.keep
is "$status" 0 'symbolize --files-from'
like err '6 profiles' 'cprof reports the number of profiles'
is "$(grep -c "/inlines'.*debug information" err)" 1 'their program is read once'
same=0
for i in 1 2 3 4 5 6; do
	cmp "fleet/$i.pb.gz" "fleet/$i.alone" && same=$((same + 1))
done
is "$same" 6 'each is the same as if it were named alone'
is "$(stat -c %a fleet/3.pb.gz)" 640 'permissions stay'
"$CPROF" record -q -e cpu-clock --no-symbols -o fleet/1.pb.gz -- "$PROG/inlines" 60
echo 'not a profile' >fleet/2.pb.gz
run "$CPROF" symbolize --files-from list.keep
is "$status" 1 'a bad profile ends it'
profile 'before any is replaced' fleet/1.pb.gz \
	"not any(l.lines for l in p.locations.values() if l.mapping and l.mapping.file.endswith('/inlines'))"
run "$CPROF" symbolize --files-from list.keep --skip-bad
is "$status" 0 'symbolize --skip-bad'
like err '1 of 6 profiles is left unchanged' 'it is counted'
is "$(cat fleet/2.pb.gz)" 'not a profile' 'it is left as it was'
profile 'the others are named' fleet/1.pb.gz "path('innermost', 'middle', 'outermost', 'main') > 0.3"
# One program under two names, without symbols: the made-up names have the name that the profile has.
if strip -o first.prog "$PROG/inlines" 2>err; then
	cp first.prog second.prog
	mkdir named alone.named
	for i in first second; do
		"$CPROF" record -q --user -e cpu-clock --no-symbols -o "named/$i.pb.gz" -- "./$i.prog" 20
		cp "named/$i.pb.gz" alone.named
		"$CPROF" symbolize -q "alone.named/$i.pb.gz"
	done
	run "$CPROF" symbolize named/first.pb.gz named/second.pb.gz
	for i in first second; do
		check "the $i name of a program without symbols" cmp "named/$i.pb.gz" "alone.named/$i.pb.gz"
		profile "made-up names with the $i name" "named/$i.pb.gz" \
			"any(f.name.startswith('[$i.prog]+0x') for f in p.functions.values())"
	done
else
	skip 'a program under two names' 'strip is not installed'
fi

# What one profile has of a file is not true of the others.
if [ "$(id -u)" -eq 0 ]; then
	mkdir machine alone
	background sh -c 'while :; do ls -lR /usr/share/doc /proc/self; done >/dev/null 2>&1'
	"$CPROF" record -q -a -e cpu-clock -F 499 --no-symbols --duration 2s --switch-output=250ms -o machine/w.pb.gz
	kill "$pid"
	cp machine/*.pb.gz alone
	find machine -name '*.pb.gz' -print0 | "$CPROF" symbolize -q --files-from - 2>/dev/null
	same=0
	for path in alone/*.pb.gz; do
		"$CPROF" symbolize -q "$path" 2>/dev/null
		cmp "$path" "machine/${path##*/}" && same=$((same + 1))
	done
	is "$same" "$(find alone -name '*.pb.gz' | wc -l)" 'windows of the whole machine are the same as if named alone'
	rm -r machine alone
else
	skip 'windows of the whole machine' 'needs root'
fi
run sh -c "printf '' | \"$CPROF\" symbolize --files-from -"
is "$status" 1 'an empty list'
rm -r fleet

finish
