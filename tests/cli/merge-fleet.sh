#!/bin/sh
# Many files: lists of them, bad ones, one profile for each value of a label.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
mkdir in
i=0
while [ $i -lt 30 ]; do
	printf 'main;work%d %d\nmain 1\n' $((i % 3)) $((i + 1)) >text
	"$CPROF" convert -o "in/$i.pb.gz" text || exit 1
	i=$((i + 1))
done
run "$CPROF" merge -o all.pb.gz in/*.pb.gz
is "$status" 0 'thirty profiles'
printf '%s\n' in/*.pb.gz >lines
printf '\n' >>lines
printf '%s\0' in/*.pb.gz >nuls
for list in lines nuls; do
	run "$CPROF" merge --files-from $list -o list.pb.gz
	is "$status" 0 "--files-from: a list with $list"
	check "a list with $list: the same profile" cmp list.pb.gz all.pb.gz
done
sed 1d lines >rest
run "$CPROF" merge --files-from - --threads 3 -o list.pb.gz "$(sed -n 1p lines)" <rest
check '--files-from -: with a FILE and three threads, the same profile' cmp list.pb.gz all.pb.gz
: >empty
run "$CPROF" merge --files-from empty -o x.pb.gz
is "$status" 1 'an empty list'
like err "the list 'empty' names no files" 'an empty list: the message'
run "$CPROF" merge --files-from missing -o x.pb.gz
is "$status" 1 'a missing list'
like err "cannot read the list of files 'missing'" 'a missing list: the message'

# ---- bad files ----
printf 'not a profile' >junk
: >nothing
head -c 40 in/3.pb.gz >cut.pb.gz
(sed -n 1,9p lines; echo junk; echo nowhere; echo nothing; echo cut.pb.gz; sed 1,9d lines) >bad
run "$CPROF" merge --files-from bad -o x.pb.gz
is "$status" 1 'a bad file is an error'
check 'an error: no file' test ! -e x.pb.gz
for threads in 1 2 7; do
	run "$CPROF" merge --skip-bad --threads $threads --files-from bad -o good.pb.gz
	is "$status" 0 "--skip-bad, $threads threads"
	like err '4 of 34 files are left out' "$threads threads: they are counted"
	like err "cannot read 'nowhere': No such file" "$threads threads: each has a reason"
	check "$threads threads: the others are merged" cmp good.pb.gz all.pb.gz
done
run "$CPROF" merge --skip-bad -o x.pb.gz junk nowhere junk junk junk junk junk
is "$status" 1 '--skip-bad: bad files only'
like err '7 of 7 files are left out' 'bad files only: counted'
like err 'and 2 more' 'bad files only: the first are named'
like err 'none of the files can be merged' 'bad files only: the message'
check 'bad files only: no file' test ! -e x.pb.gz

# ---- labels ----
check 'profiles with labels' "$PYTHON" - <<'END'
import gzip
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])
def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body if isinstance(body, bytes) else \
        varint(number << 3) + varint(body)
names = ["", "samples", "count", "app", "a/b", "a_b", "../up", ".hidden", "f", "x" * 200, "tid"]
samples = b""
for value, text in enumerate([4, 5, 6, 7, 9, 0], 1):
    label = field(1, 3) + field(2, text) if text else b""
    tid = field(1, 10) + field(3, value)
    labels = (field(3, label) if label else b"") + field(3, tid)
    samples += field(2, field(1, 1) + field(2, value) + labels)
profile = field(1, field(1, 1) + field(2, 2)) + samples + \
    field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 8)) + \
    b"".join(field(6, n.encode()) for n in names) + field(9, 1795493002500000000) + field(10, 1)
open("l.pb.gz", "wb").write(gzip.compress(profile))
END
run "$CPROF" merge --by app -o by l.pb.gz l.pb.gz
is "$status" 0 '--by: one profile for each value'
is "$(wc -l <out)" 6 '--by: each file has a line'
like out "^a/b	by/a_b.*.pb.gz" '--by: a line has the value and the path'
is "$(find by -type f | wc -l)" 6 '--by: values with the same name of a file have different files'
check '--by: no file above the folder, or hidden' sh -c \
	'! [ -e up.pb.gz ] && ! [ -e by/.hidden.pb.gz ] && [ -e by/_hidden.pb.gz ]'
check '--by: no sample is lost' "$PYTHON" - <<END
import glob, sys
sys.path.insert(0, "$CPROF_SOURCE_ROOT/tests")
import pprof
assert sum(pprof.View(pprof.Profile(f)).total for f in glob.glob("by/*")) == 42
END
run "$CPROF" merge --by app -o junk l.pb.gz
is "$status" 1 '--by: -o is a file'
like err "cannot create the directory 'junk'" '--by: -o is a file: the message'
run "$CPROF" merge --by nolabel -o by2 l.pb.gz
is "$status" 1 '--by: no such label'
like err 'the labels are: app, tid' '--by: no such label: the message'
run "$CPROF" merge --drop-label tid,app --keep-windows -o w.pb.gz l.pb.gz
profile '--drop-label and --keep-windows' w.pb.gz 'len(rows) == 1' \
	"labels('window') == {'2026-11-24T04:03:20Z'}" "not labels('tid')"
run "$CPROF" merge --drop-label tid,app --keep-windows=500ms -o w.pb.gz l.pb.gz
profile '--keep-windows=TIME' w.pb.gz "labels('window') == {'2026-11-24T04:03:22.500Z'}"
run "$CPROF" merge --max-memory 1K -o x.pb.gz l.pb.gz
is "$status" 1 '--max-memory'
like err 'drop-label' '--max-memory: the advice'

# A file with more samples than are kept from the first reading is read twice.
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "main;a%d;b%d;c%d;d;e;f;g;h;i;j %d\n", i, i, i % 7, i + 1 }' >large.folded
"$CPROF" convert -o large.pb.gz large.folded
"$CPROF" merge --threads 1 -o once.pb.gz large.pb.gz large.pb.gz
"$CPROF" merge --threads 1 --skip-bad -o kept.pb.gz large.pb.gz large.pb.gz
check '--skip-bad: large files give the same bytes' cmp once.pb.gz kept.pb.gz
rm large.folded large.pb.gz once.pb.gz kept.pb.gz

# ---- usage ----
refused 64 'no FILE given' 'no file' merge -o x.pb.gz
refused 64 '-o FOLDER' '--by without -o' merge --by app l.pb.gz
refused 64 'writes several files' '--by to stdout' merge --by app -o - l.pb.gz
refused 64 "the same label 'app'" '--by a dropped label' merge --by app --drop-label x,app -o d l.pb.gz
refused 64 "bad list of labels" 'an empty label' merge --drop-label a,,b -o x.pb.gz l.pb.gz
refused 64 'second --files-from' 'two lists' merge --files-from a --files-from b -o x.pb.gz
refused 64 'threads' 'no threads' merge --threads 0 -o x.pb.gz l.pb.gz
finish
