#!/bin/sh
# report --html and --svg: which files can be combined, which are refused; each file is complete or
# not written.
# tests/browser tests the page itself in a browser.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
mkdir in.keep
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/browser/profiles.py" small in.keep || exit 99
cpu=in.keep/cpu.pb.gz
faults=in.keep/faults.pb.gz
base=in.keep/base.pb.gz

# page NAME FILE PYTHON: a condition on a page: d, its unpacked data, and text, all of it
cat >page.keep <<'EOF2'
import base64, gzip, re, sys
text = open(sys.argv[1]).read()
d = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', text).group(1)))
sys.exit(not eval(sys.argv[2]))
EOF2
page() {
	check "$1" "$PYTHON" page.keep "$2" "$3"
}

run "$CPROF" report --html out.html "$cpu" "$faults"
is "$status" 0 '--html with two events: status 0'
like err "the page is 'out.html'" '--html: the message names the file'
is "$(cat out)" '' '--html prints nothing to stdout'
page '--html: the page has both events' out.html 'b"nanoseconds" in d and b"page-faults" in d'
page '--html: the page is smaller than 400 kB' out.html 'len(text) < 400000'
page '--html: the page loads no other file' out.html \
'not re.search("(src|href)=\"(?!data:,\")", text)'
run "$CPROF" report --html again.html "$cpu" "$cpu" "$base"
page '--html: files with the same event are merged' again.html \
'd.count(b"nanoseconds") == 1 and b"cpu.pb.gz, cpu.pb.gz, base.pb.gz" in d'
run "$CPROF" report --html - "$cpu"
is "$status" 0 '--html -: status 0'
cp out piped.html
page '--html -: the page on stdout is complete' piped.html 'b"main.c" in d'
run sh -c '"$0" report --html in.html - <"$1"' "$CPROF" "$cpu"
page '--html: a profile is read from stdin' in.html 'b"work" in d'

# ---- source text

cd in.keep || exit 99
run "$CPROF" report --html out.html cpu.pb.gz
cd .. || exit 99
page '--html: source lines with samples are in the page' in.keep/out.html \
'b"/* line 40 </script> */" in d'
page '--html: other source lines are not in the page' in.keep/out.html \
'b"/* line 1 </script>" not in d'
cd in.keep || exit 99
run "$CPROF" report --html out.html --no-source cpu.pb.gz
cd .. || exit 99
page '--no-source leaves source lines out' in.keep/out.html 'b"/* line" not in d'
"$PYTHON" - "$CPROF_SOURCE_ROOT/tests/browser" <<'EOF2'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import profiles
p = profiles.Profile(profiles.CPU, ("cpu", "nanoseconds"))
p.sample(["main@secret:1", "f@secret.c:1"], [1, 1000])
p.write("secret.pb.gz")
EOF2
echo 'hidden away' >secret
ln -s secret secret.c
run "$CPROF" report --html secret.html secret.pb.gz
page '--html: a symbolic link to a file without a source suffix is not read' secret.html \
'd.count(b"hidden away") == 1'
rm -f secret.c
run "$CPROF" report --html secret.html secret.pb.gz
page '--html: a missing source file adds nothing' secret.html 'b"hidden" not in d'

# ---- filters and comparison

run "$CPROF" report --html out.html --focus lex "$cpu"
page '--focus leaves other stacks out' out.html 'b"lex" in d and b"sys_read" not in d'
run "$CPROF" report --html out.html --tag thread_name=nosuch "$cpu"
like err 'tag matches nothing' 'a filter that matches nothing is reported'
run "$CPROF" report --html out.html --svg out.svg --diff "$base" "$cpu" "$faults"
is "$status" 64 '--svg refuses two events'
run "$CPROF" report --html out.html --svg out.svg --diff "$base" "$cpu"
is "$status" 0 '--diff with --html and --svg: status 0'
page '--diff: the page has both sides' out.html 'b"cpu.pb.gz" in d and b"base.pb.gz" in d'
check '--svg: the picture is valid XML' \
	"$PYTHON" -c 'import xml.dom.minidom, sys; xml.dom.minidom.parse(sys.argv[1])' out.svg
like out.svg '20\.83% of all' '--diff: the picture shows the change'
"$PYTHON" "$CPROF_SOURCE_ROOT/tests/browser/profiles.py" waits in.keep || exit 99
run "$CPROF" report --svg waits.svg in.keep/wall.pb.gz
for kind in u l k; do
	like waits.svg "rect class=\"$kind" "--svg: kinds of code have their colours: $kind"
done
rm -f waits.svg
run "$CPROF" report --svg hostile.svg in.keep/hostile.pb.gz
check '--svg: with hostile names the picture has only its own elements' \
	"$PYTHON" -c 'import xml.dom.minidom, sys
d = xml.dom.minidom.parse(sys.argv[1])
sys.exit({e.tagName for e in d.getElementsByTagName("*")} != set("svg style g rect title text".split()))' hostile.svg
unlike hostile.svg '<img|<script|<svg onload' '--svg: hostile names are only text'

# ---- refusals

rm -f ./*.html ./*.svg ./*.gz secret
refused 1 'cannot be compared' 'other sample types' report --html x.html --diff "$faults" "$cpu"
refused 1 'cannot (read|open)' 'a missing profile' report --html x.html "$cpu" nosuch.pb.gz
refused 1 'sample type' 'an unknown sample type' report --html x.html --sample-type nosuch "$cpu"
refused 1 'No such file' 'a missing folder' report --html x.html --svg nosuch/x.svg "$cpu"
refused 64 'cannot be combined with' 'a tree' report --html x.html --tree "$cpu"
refused 64 'cannot be combined with' 'a limit' report --svg x.svg --limit 3 "$cpu"
refused 64 'makes tables only' 'rows by label' report --html x.html --by thread "$cpu"
refused 64 'needs --html' '--no-source alone' report --no-source "$cpu"
refused 64 'only FILE' 'the standard input among others' report --html x.html - "$cpu"
run sh -c '"$0" report --html - "$1" >/dev/full' "$CPROF" "$cpu"
is "$status" 1 '--html to a full disk fails'
like err 'No space' '--html to a full disk: the message gives the reason'
finish
