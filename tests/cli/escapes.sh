#!/bin/sh
# Names from a foreign profile reach no terminal, page or JSON with characters that a terminal obeys
# or that change the order of the text: C0, C1, bidirectional ones, and bytes that are not UTF-8.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

cat >make.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import oddprofiles

# Each string of the profile has all of them.
EVIL = "".join(map(chr, [0x1b, 0x07, 0x7f, 0x80, 0x85, 0x9b, 0x9f, 0x061c, 0x200e, 0x200f] +
                   list(range(0x202a, 0x202f)) + list(range(0x2066, 0x206a)))) + "\udcff\udcc0\udcaf"

def evil(name):
    return name + EVIL + "z"

p = oddprofiles.Profile(types=((evil("type"), evil("unit")), ("cpu", "nanoseconds")))
p.mapping("/bin/" + evil("file"), build_id=evil("id"))
leaf = p.at(evil("leaf"), filename="/src/" + evil("source"))
main = p.at(evil("main"), filename="/src/" + evil("source"))
p.sample([leaf, main], [3, 30], [("thread_name", evil("thread")), (evil("key"), evil("value")),
                                 ("tid", 7, evil("unit"))])
p.sample([main], [1, int(sys.argv[3])], [("thread_name", evil("other"))])
p.scalar(13, p.s(evil("comment")))
p.write(sys.argv[2])
END
"$PYTHON" make.py "$CPROF_SOURCE_ROOT/tests/tools" one.pb.gz 10 || exit 99
"$PYTHON" make.py "$CPROF_SOURCE_ROOT/tests/tools" two.pb.gz 90 || exit 99

# Prints the dangerous characters of a file; a page's data is unpacked as the browser does.
cat >find.py <<'END'
import base64, re, sys, zlib

data = open(sys.argv[1], "rb").read()
if data.startswith(b"\x1f\x8b"):
    data = zlib.decompress(data, 47)
if data.startswith(b"<!doctype html"):
    packed = b"".join(zlib.decompress(base64.b64decode(text), 47)
                      for text in re.findall(rb">\s*(H4sI[A-Za-z0-9+/=\s]+)<", data))
    # Between the names are numbers.
    names = re.findall(rb"(?:leaf|main|file|type|unit|thread|key|source)[^z]*z", packed)
    assert len(names) > 5, "the data of the page was not found"
    data += b"".join(names)
found = set()
for c in map(ord, data.decode()):
    if (c < 0x20 and chr(c) not in "\t\n\r" or 0x7f <= c < 0xa0 or c in (0x61c, 0x200e, 0x200f) or
            0x202a <= c <= 0x202e or 0x2066 <= c <= 0x2069):
        found.add("U+%04X" % c)
sys.exit(", ".join(sorted(found)) if found else 0)
END

# clean NAME FILE: no such character
clean() {
	check "$1" "$PYTHON" find.py "$2"
}

# shows NAME WORD COMMAND...: prints WORD from the profile, and only clean text
shows() {
	shows_name=$1
	shows_word=$2
	shift 2
	run "$@"
	like out "$shows_word" "$shows_name: shows the name"
	cat out err >both.keep
	clean "$shows_name: no dangerous characters" both.keep
}

shows 'report' leaf "$CPROF" report one.pb.gz
shows 'report, its head' 'file.*z' "$CPROF" report one.pb.gz
for by in line file module thread; do
	run "$CPROF" report --by "$by" one.pb.gz
	cat out err >both.keep
	check "report --by $by: prints rows" test -s out
	clean "report --by $by" both.keep
done
shows 'report --by label' thread "$CPROF" report --by thread_name one.pb.gz
shows 'report --tree' leaf "$CPROF" report --tree one.pb.gz
shows 'report --list' leaf "$CPROF" report --list leaf one.pb.gz
shows 'report --folded' leaf "$CPROF" report --folded one.pb.gz
shows 'report --csv' leaf "$CPROF" report --csv one.pb.gz
shows 'report --json' leaf "$CPROF" report --json one.pb.gz
check 'report --json: the name itself is there, escaped' "$PYTHON" -c '
import json
names = [f["name"] for f in json.load(open("out"))["functions"]]
assert any("\u202e" in n and "\u009b" in n and "\ufffd" in n for n in names), names'
shows 'report --tree --json' leaf "$CPROF" report --tree --json one.pb.gz
shows 'report --diff' main "$CPROF" report --diff one.pb.gz two.pb.gz
shows 'report --diff --json' main "$CPROF" report --diff one.pb.gz --json two.pb.gz
run "$CPROF" report --focus "$(printf 'x\033]0;y\007\302\233\342\200\256')" one.pb.gz
cat out err >both.keep
clean 'report: a regular expression that matches nothing' both.keep
run "$CPROF" report --focus "$(printf 'x[\033\302\233\342\200\256')" one.pb.gz
clean 'report: not a regular expression' err
run "$CPROF" report --svg=x.svg one.pb.gz
check 'report --svg: a file' test -s x.svg
clean 'report --svg' x.svg
run "$CPROF" report --html=x.html one.pb.gz
check 'report --html: a file' test -s x.html
clean 'report --html' x.html
for format in folded speedscope chrome firefox; do
	run "$CPROF" convert --to "$format" -o "x.$format" one.pb.gz
	check "convert --to $format: a file" test -s "x.$format"
	clean "convert --to $format" "x.$format"
done
shows 'check' '' "$CPROF" check one.pb.gz
shows 'check --json' '' "$CPROF" check --json one.pb.gz

# Names of files, and words on the command line.
odd=$(printf 'x\033[31m\302\233\342\200\256\342\201\246\330\234\377')
for command in report check 'merge -o m.pb.gz' 'convert --to folded' import symbolize; do
	# shellcheck disable=SC2086 # a command and its options
	run "$CPROF" $command "$odd"
	cat out err >both.keep
	check "$command: a missing file is reported" grep -aqi 'no such file' both.keep
	clean "$command: a missing file with an odd name" both.keep
done
run "$CPROF" "$odd"
clean 'an unknown command' err
cp one.pb.gz "$odd.pb.gz"
run "$CPROF" merge -o "$odd-m.pb.gz" "$odd.pb.gz"
cat out err >both.keep
clean 'merge: a file with an odd name' both.keep
run "$CPROF" symbolize -o "$odd-s.pb.gz" "$odd.pb.gz"
cat out err >both.keep
clean 'symbolize: a file with an odd name' both.keep
run "$CPROF" report --html="$odd.html" "$odd.pb.gz"
cat out err >both.keep
clean 'report --html: a file with an odd name' both.keep
clean 'report --html: a page with an odd title' "$odd.html"
finish
