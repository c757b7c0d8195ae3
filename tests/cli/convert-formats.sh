#!/bin/sh
# The output of `cprof merge` and `cprof convert` is complete and valid, and has the profile's
# numbers.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
tools=$CPROF_SOURCE_ROOT/tests/tools
check 'a profile by our writer' "$CPROF_BUILD_ROOT/tests/tools/pprof-sample" sample.pb.gz

# ---- folded text ----
cat >in.folded <<'END'
main;work;inner 12
main;work 3
main;operator new(unsigned long);a b 7
other 1
END
run "$CPROF" convert -o out.pb.gz in.folded
is "$status" 0 'folded text becomes a pprof'
run "$CPROF" convert -o out.folded out.pb.gz
check 'a pprof becomes the same folded text again' cmp in.folded out.folded
check 'folded text: the pprof has its numbers' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" out.pb.gz 'total == 23' \
	"share('inner') == 12 / 23" "cum('main') == 22 / 23"
printf 'main;work;inner 12.6\r\n\nmain;work;inner 1\n' >more.folded
run "$CPROF" convert --to folded more.folded in.folded
is "$(sed -n 1p out)" 'main;work;inner 26' 'equal stacks of several files are added up'
printf 'a;b 1\nno value\n' >bad.folded
run "$CPROF" convert --to pprof -o bad.pb.gz bad.folded
is "$status" 1 'a line without a value is refused'
like err "line 2" 'a line without a value: the message has the line number'
check 'a refused input leaves no file' test ! -e bad.pb.gz

# ---- hostile names ----
printf '</script>\\";a"b\\\001\377\342\200\250 5\n' >hostile.folded
for format in folded speedscope chrome firefox; do
	run "$CPROF" convert --from folded --to "$format" hostile.folded
	is "$status" 0 "hostile names in $format"
	check "$format is UTF-8" iconv -f UTF-8 -t UTF-16 out
done
run "$CPROF" convert --from folded -o hostile.pb.gz hostile.folded
is "$status" 0 'hostile names in pprof'

# ---- JSON ----
for profile in sample out hostile; do
	for format in speedscope chrome firefox; do
		run "$CPROF" convert -o "$profile.$format.json" "$profile.pb.gz"
		is "$status" 0 "$profile as $format: the file name determines the format"
		check "$profile as $format is valid and has the numbers" \
			"$PYTHON" "$tools/formats.py" "$format" "$profile.$format.json" "$profile.pb.gz"
	done
done
for format in chrome firefox; do
	run "$CPROF" convert --to "$format" --sample-type 0 -o type0.json sample.pb.gz
	check "$format of another sample type" \
		"$PYTHON" "$tools/formats.py" "$format" type0.json sample.pb.gz 0
done

# ---- perf script ----
tab=$(printf '\t')
cat >in.script <<END
my prog  123/124 [001]  12.345678:     250000 cpu-clock:pppH: 
$tab    55d0c0001234 inner (inlined)
$tab    55d0c0001234 outer(int, char)+0x14 (/tmp/a (deleted))
$tab    55d0c0001000 main+0x0 (/tmp/a (deleted))

my prog  123/125 [001]  12.445678:     750000 cpu-clock:pppH: 
$tab    55d0c0001234 [unknown] (/tmp/a (deleted))
$tab    55d0c0001000 main+0x0 (/tmp/a (deleted))

END
run "$CPROF" convert -o script.pb.gz in.script
is "$status" 0 'output of perf script becomes a pprof'
check 'output of perf script: the pprof has its periods, labels and inlined calls' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/pprof.py" script.pb.gz \
	'n == 2' 'total == 1000000' "cum('main') == 1" "share('inner') == 0.25" \
	"chain('inner', 'outer(int, char)')" "labels('tid') == {'124', '125'}" \
	"labels('thread_name') == {'my prog'}" "p.sample_types[1] == ('cpu', 'nanoseconds')"
printf 'dd 7 1.0: 5 cycles:u:  7f00 f+0x1 (/l)\ndd 7 2.0: 2 branches:  7f00 f+0x1 (/l)\n' >two.script
run "$CPROF" convert --to folded --sample-type branches two.script
is "$(cat out)" 'f 2' 'events are counted separately; the first line may contain frames'

# ---- output ----
run "$CPROF" convert --to speedscope no-such-file
is "$status" 1 'a missing file'
run "$CPROF" convert --to folded sample.pb.gz in.folded
is "$status" 1 'files of two formats are refused'
run "$CPROF" convert -o out.unknown sample.pb.gz
is "$status" 64 'a file name that implies no format'
run "$CPROF" convert --to svg sample.pb.gz
is "$status" 64 'an unknown format'
run "$CPROF" merge -o missing/out.pb.gz sample.pb.gz
is "$status" 1 'a missing folder'
run "$CPROF" merge sample.pb.gz
is "$status" 64 'merge needs an output'
run "$CPROF" merge -o two.pb.gz sample.pb.gz sample.pb.gz
is "$status" 0 'a profile merged with itself'
run "$CPROF" merge -o bad.pb.gz sample.pb.gz out.pb.gz
is "$status" 1 'merging profiles with other sample types is refused'
check 'a refused input leaves no file' test ! -e bad.pb.gz
if "$PYTHON" - "$CPROF" <<'END'
import os, pty, sys
read, terminal = pty.openpty()
pid = os.fork()
if pid == 0:
    os.dup2(terminal, 1)
    os.execv(sys.argv[1], ["cprof", "convert", "--to", "pprof", "in.folded"])
sys.exit(0 if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 64 else 1)
END
then pass 'a pprof is not written to a terminal'; else fail 'a pprof is not written to a terminal'; fi
finish
