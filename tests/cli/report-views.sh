#!/bin/sh
# The views and options of report, and its output on terminals of 80 and 200 columns.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need tmux less
p=sample.keep
check 'a sample profile' "$CPROF_BUILD_ROOT/tests/tools/pprof-sample" "$p"
mkdir -p odd.keep/src/app
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/tools/oddprofiles.py" odd.keep
rm -f odd.keep/odd-random*

# ---- files

mkdir newest.keep
cp "$p" newest.keep/old.pb.gz
cp "$p" newest.keep/new.pb.gz
touch -d '2020-01-01' newest.keep/old.pb.gz
touch -d '2030-01-01' newest.keep/other.txt
ln -s new.pb.gz newest.keep/link.pb.gz
run sh -c 'cd newest.keep && exec "$1" report' sh "$CPROF"
is "$status" 0 'without FILE: a profile is shown'
like err '^cprof report: new.pb.gz \(the newest' 'without FILE: cprof names the newest profile'
cp out newest.txt
run sh -c 'cd newest.keep && cat new.pb.gz | "$1" report' sh "$CPROF"
like err "^cprof report: new.pb.gz [(].*; '-' is stdin[)]" 'without FILE, with a pipe: cprof says how to read it'
mkdir none.keep
run sh -c 'cd none.keep && cat ../newest.keep/new.pb.gz | "$1" report' sh "$CPROF"
is "$status" 0 'without FILE, in a directory without profiles: the pipe is read'
is "$(grep '^Total' out)" "$(grep '^Total' newest.txt)" 'and shown'
run "$CPROF" report "$p"
check 'without FILE: the report is the same' cmp -s out newest.txt
mkdir empty.keep
run sh -c 'cd empty.keep && exec "$1" report' sh "$CPROF"
is "$status" 64 'without FILE and without profiles: usage'
printf 'PERFILE2................' >x.perf.data
refused 1 "cprof import" 'a recording of perf: the message names cprof import' report x.perf.data

# ---- what a profile says about itself

run "$CPROF" report --info "$p"
is "$status" 0 '--info: prints'
like out '^Type: ' '--info: begins like a table'
unlike out 'flat%' '--info: has no table'
refused 64 '--info cannot be combined with another view' '--info and --tree' report --info --tree "$p"
run "$CPROF" report "$p"
unlike out '^Missing: ' 'a profile that lacks nothing'

# ---- views

run "$CPROF" report --tree "$p"
like out '^    1200ms  80.70%     1200ms      mix \(inlined\)$' '--tree prints a tree'
run "$CPROF" report --tree --caller ksys_read "$p"
is "$(tail -n 3 out | sed 's/^.* //' | tr '\n' ';')" 'ksys_read;[libstripped.so.6];main;' \
	'--caller: callers are below their callee'
run "$CPROF" report --tree --callee '^walk' --json "$p"
check '--callee --json prints callees' "$PYTHON" -c "
import json
t = json.load(open('out'))
assert [(x['name'], x['cum']) for x in t['children']] == [('walk(Tree const*)', 1450000000)], t"
run "$CPROF" report --folded "$p"
like out '^main;\[libstripped.so.6\];ksys_read 7000000$' '--folded prints folded stacks'
run "$CPROF" report --csv "$p"
like out '^mix,/src/app/hash.h,/opt/app/bin/app,1200000000,80.6994,' \
	'--csv prints comma separated values'
run "$CPROF" report --by thread "$p"
like out '287ms +19.30% .*\(none\)$' '--by thread groups by thread'
run "$CPROF" report --by module "$p"
like out '^ +1450ms .* 1487ms +100%  \[app\]$' '--by module groups by mapping'
run "$CPROF" report --unit s "$p"
like out '^ +1.20s +80.70%' '--unit s prints seconds'
run "$CPROF" report --limit 0 --sample-type 0 "$p"
like out '^Type: samples \(count\)$' '--sample-type accepts a number'
run sh -c "'$CPROF' report - <$p"
like out 'ksys_read$' 'report reads stdin'
run "$CPROF" report "$p" "$p"
like out '^Merged: 2 files$' 'two files: the head says that they are merged'
like out '^ +2.40s +80.70%' 'two files: values are added'
printf 'int x;\nstatic int mix(int x)\n{\n\treturn x * 3;\n}\n' >hash.h
mv hash.h odd.keep/src/app/
run sh -c "cd odd.keep/src/app && '$CPROF' report --list mix '$T/$p'"
like out '^ +1200ms +1200ms +3  {$' '--list finds source files below the current folder'
run "$CPROF" report --list main "$p"
like out 'not found: only line numbers' '--list without the source file prints line numbers'
run "$CPROF" report --keep-dropped odd.keep/odd-drop.pb
like out 'alloc\(int, long\)$' '--keep-dropped keeps dropped frames'
run "$CPROF" report odd.keep/odd-drop.pb
unlike out 'alloc\(int, long\)$' 'without --keep-dropped dropped frames are left out'
run "$CPROF" report --focus nosuchname "$p"
is "$status" 0 'a filter without a match: status 0'
like err '--focus matches nothing' 'a filter without a match is reported'
unlike out '^ +[0-9].*%' 'and the table is empty'
run "$CPROF" report --tag thread_name=nosuch "$p"
is "$status" 0 'a tag without a match: status 0'
like err '--tag matches nothing' 'a tag without a match is reported'
unlike out '^ +[0-9].*%' 'no tag matches: the table is empty'

# ---- many instructions with a cost

mkdir bin.keep
cat >bin.keep/objdump <<'EOF'
#!/usr/bin/python3
for i in range(150000):
    print("  %x:\tnop" % (0x10000 + i * 4))
EOF
chmod +x bin.keep/objdump
"$PYTHON" - >many.script <<'EOF'
import struct
with open("many.elf", "wb") as f:
    f.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0))
    f.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096))
    f.truncate(1 << 20)
for i in range(150000):
    print("app 7 1.%06d: 1 cycles:  %x f+0x1 (many.elf)" % (i, 0x10000 + i * 4))
EOF
run "$CPROF" convert -o many.pb.gz many.script
is "$status" 0 'a function with many addresses: converted'
run env PATH="$T/bin.keep:$PATH" sh -c 'ulimit -t 8; exec "$0" report --list f --disasm many.pb.gz' "$CPROF"
is "$status $(grep -c '  nop$' out)" '0 150000' '--disasm: 150000 addresses take less than 8 s'
mkdir long.keep
printf '#!/bin/sh\nprintf "  10000:\\tjmp f<%%010000d>\\n  10004:\\tnop\\n"\n' >long.keep/objdump
chmod +x long.keep/objdump
run env PATH="$T/long.keep:$PATH" "$CPROF" report --list f --disasm many.pb.gz
is "$status $(grep -cE ' (jmp f<0|nop)' out)" '0 2' '--disasm: a line of any length is one instruction'
mkdir names.keep
cat >names.keep/objdump <<'EOF3'
#!/bin/sh
# a file with the symbol f, or without any
case $1$2$3 in
*--disassemble*) [ -e "$T/stripped" ] && exit 0 ;;
esac
printf '  10000:\tjmp 1267 <rand@plt+0x1b7>\n  10004:\tcall 10b0 <rand@plt>\n'
printf '  10008:\tcall 10b4 <rand@plt+0x4>\n  1000c:\tjmp 10020 <f+0x20>\n'
EOF3
chmod +x names.keep/objdump
for names in 'symbol:jmp 1267:call 10b0 <rand@plt>:call 10b4 <rand@plt+0x4>:jmp 10020 <f+0x20>' \
	'stripped:jmp 1267:call 10b0 <rand@plt>:call 10b4:jmp 10020'; do
	: >"${names%%:*}"
	run env T="$T" PATH="$T/names.keep:$PATH" "$CPROF" report --list f --disasm many.pb.gz
	is "$(sed -nE 's/.* ((jmp|call) .*)/\1/p' out | head -n 4 | tr '\n' :)" "${names#*:}:" \
		"--disasm: names past a call stub, or of other functions, are left out: ${names%%:*}"
done
rm symbol stripped
mkdir endless.keep
printf '#!/bin/sh\nyes "$(printf \047  1000:\\tnop\047)"\n' >endless.keep/objdump
chmod +x endless.keep/objdump
run env PATH="$T/endless.keep:$PATH" timeout 30 "$CPROF" report --list f --disasm many.pb.gz
is "$status" 1 '--disasm: an objdump without end is stopped'
like err 'cannot hold the instructions' 'it says why'
run env PATH="$T/endless.keep:$PATH" timeout 30 "$CPROF" report --html page.html --disasm many.pb.gz
is "$status" 0 '--html --disasm: the page goes without'
like err 'instructions of 1 of 1 functions are unknown' 'it says so'
rm -f many.script many.pb.gz many.elf out page.html

# ---- comparing

run "$CPROF" report --diff "$p" "$p" --fail-if 'flat(*) > +0%'
is "$status" 0 '--diff: a profile against itself passes --fail-if'
like out '^Verdict: no significant change in 6 functions; total 0ms .*, which could be noise$' \
	'--diff: a profile against itself has no significant change'
is "$(tail -n 1 out)" '(6 without a significant change; --limit 0 shows all)' \
	'--diff: rows that could be noise are folded'
run "$CPROF" report --diff "$p" --limit 0 "$p"
is "$(grep -c ' ~ .* ~  ' out)" 6 '--diff --limit 0: all rows are shown'

# One function takes longer, and has two callers; the shares of all others shrink.
printf '%s\n' 'main;work;hash 7000' 'main;work;mix 2900' 'main;rest 100' >before.folded
printf '%s\n' 'main;work;hash 9000' 'main;work;mix 2900' 'main;rest 100' >after.folded
for name in before after; do
	"$CPROF" convert -o $name.pb.gz $name.folded || fail "$name.pb.gz"
done
run "$CPROF" report --diff before.pb.gz after.pb.gz
like out "^Verdict: 2 of 5 functions changed significantly, most of all 'hash' [(][+]5.00% .*; total [+]2000 .* [(][+]20.0%[)], significant$" \
	'--diff: the verdict names the function, not one whose share shrank'
like out '^The total changed, too, .* --absolute$' '--diff: shares of unchanged functions'
is "$(sed '1,/ flat old /d' out | grep -c '[*]')" 2 '--diff: significant rows'
like out '^[(]3 without a significant change' '--diff: the others are folded'
run "$CPROF" report --diff before.pb.gz --absolute after.pb.gz
like out "most of all 'hash' [(][+]2000 " '--diff --absolute: the value of the change'
is "$(sed -n '/ flat old /{n;s/.* //p;}' out)" hash '--diff: the largest change is first'
run "$CPROF" report --diff before.pb.gz --sort name --absolute after.pb.gz
unlike out '  (rest|mix)$' '--diff --sort: noise is folded, too'
run "$CPROF" report --diff before.pb.gz --limit 1 after.pb.gz
like out '^[(]4 more; --limit 0' '--diff --limit: as many rows as asked for'
rm -f before.* after.*
run "$CPROF" report --diff "$p" --focus main "$p" --fail-if 'cum(main) > 50%'
is "$status" 3 '--fail-if: a condition that holds is status 3'
like err "cum\\(main\\) > 50% holds: 'main' went from 100.00% to 100.00%" \
	'--fail-if: a condition that holds is reported'
run "$CPROF" report --diff "$p" --json "$p"
check '--diff --json prints the comparison' "$PYTHON" -c "
import json
d = json.load(open('out'))
assert d['significant'] == 0 and d['compared'] == 'share' and len(d['rows']) == 6, d"
run "$CPROF" report --diff "$p" --per-second --csv "$p"
like out '^mix,480000000,480000000,0,' '--diff --per-second --csv prints rates'

# ---- refusals

refused 64 'not a regular expression' 'a bad expression' report --focus '(' "$p"
refused 64 'not KEY=VALUE' 'a bad tag' report --tag x "$p"
refused 64 'cannot be shown in' 'a unit of another kind' report --unit kB "$p"
refused 64 'need --tree' '--caller alone' report --caller x "$p"
refused 64 'needs --list' '--disasm alone' report --disasm "$p"
refused 64 'need --diff' '--fail-if alone' report --fail-if 'total > 1%' "$p"
refused 64 'is not a condition' 'a bad condition' report --diff "$p" --fail-if 'x > 1' "$p"
refused 1 "no row 'x'" 'a condition on a missing row' report --diff "$p" --fail-if 'flat(x) > 1%' \
	"$p"
refused 1 'sample type' 'profiles with other units cannot be merged' report "$p" odd.keep/odd-units.pb
refused 1 'cannot be compared' 'profiles with other sample types cannot be compared' report --diff odd.keep/odd-types.pb \
	"$p"
refused 1 "no sample has the label 'pod'" 'a label that no sample has' report --by pod "$p"
refused 1 'no function with a value' 'an unknown function' report --list nosuch "$p"

# ---- hostile input

"$PYTHON" - <<'EOF2'
import gzip
def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
member = gzip.compress(b"\x12\x00" * (1 << 20), 6, mtime=0)
with open("bomb.keep", "wb") as f:
    f.write(member * 200)
open("ids.keep", "wb").write(b"\x32\x00" + b"\x22\x00" * 5)
open("count.keep", "wb").write(b"\x12" + varint(1 << 62) + b"x")
open("nested.keep", "wb").write(b"\x32\x00\x22\x06\x22\x7f\x08\x01\x08\x01")
EOF2
case $CPROF_BUILD_ROOT in
*san*) limit=unlimited ;;  # the sanitizers' shadow memory takes terabytes
*) limit=2000000 ;;
esac
run sh -c "ulimit -v $limit; '$CPROF' report bomb.keep"
is "$status" 1 'a gzip bomb is refused in bounded memory'
like err 'more than 268435456 bytes when uncompressed' 'a gzip bomb: the message has the limit'
like err 'gzip -d' 'a gzip bomb: the message has a remedy'
refused 1 'no id, or the id 0' 'locations without ids' report ids.keep
refused 1 'malformed field' 'a length beyond the file' report count.keep
refused 1 'malformed field' 'a nested length beyond its message' report nested.keep

# ---- terminals

# screen COLUMNS COMMAND: runs it in a terminal of that width; the screen's contents are in the file
# out
screen() {
	# A server goes on for a moment after kill-server, so each screen has one of its own.
	rm -f done.keep
	n_screens=$((n_screens + 1))
	server=cprof$$.$n_screens
	tmux -L "$server" -f /dev/null new-session -d -x "$1" -y 41 \
		"env -u NO_COLOR TERM=screen-256color $2 2>&1; echo 'that is all'; touch done.keep; sleep 60" 2>err
	wait_for 20 test -e done.keep
	wait_for 20 is_shown
	tmux -L "$server" kill-server 2>err
	sed -i '/that is all/d' out
	# the columns of a line: escape sequences have no column, and a UTF-8 character has one
	sed 's/\x1b\[[0-9;]*m//g' out >plain.keep
}
is_shown() {
	tmux -L "$server" capture-pane -p -e -t 0 >out 2>err && grep -q 'that is all' out
}
n_screens=0
at_end 'tmux -L "$server" kill-server 2>/dev/null'
widest() {
	"$PYTHON" -c 'import sys; print(max(len(l.rstrip("\n")) for l in open("plain.keep", encoding="utf-8")))'
}
for columns in 80 200; do
	for locale in C C.UTF-8; do
		screen $columns "env LC_ALL=$locale '$CPROF' report $p"
		like plain.keep '1200ms +80.70% .* mix' "$columns columns, $locale: the table"
		like out "$(printf '\033')\\[.*31m" "$columns columns, $locale: with colours"
		is "$([ "$(widest)" -le $columns ] && echo fits)" fits \
			"$columns columns, $locale: no line is wider"
	done
	screen $columns "env LC_ALL=C.UTF-8 NO_COLOR=1 '$CPROF' report --tree odd.keep/odd-deep.pb --limit 20"
	unlike out "$(printf '\033')\\[[0-9;]*3[0-9]m" \
		"$columns columns: NO_COLOR turns colours off"
	screen $columns "env LC_ALL=C.UTF-8 '$CPROF' report --diff $p $p"
	like plain.keep '±' "$columns columns: a comparison in UTF-8"
	is "$([ "$(widest)" -le $columns ] && echo fits)" fits \
		"$columns columns: no line of a comparison is wider"
done
screen 80 "env LC_ALL=C PAGER='cat -n' '$CPROF' report $p"
like plain.keep '^ +1[[:space:]]+File: ' 'PAGER is used'
screen 80 "env LC_ALL=C PAGER=no-such-pager '$CPROF' report $p"
like plain.keep 'ksys_read' 'a missing PAGER loses no output'
screen 80 "env LC_ALL=C '$CPROF' report --by thread $p"
unlike plain.keep 'ö' 'in locale C no UTF-8 is printed'
run env LC_ALL=C.UTF-8 PAGER=false "$CPROF" report "$p"
unlike out "$(printf '\033')" 'no colours in a pipe'
like out 'ksys_read$' 'no pager in a pipe'
finish
