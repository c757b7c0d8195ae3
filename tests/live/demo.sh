#!/bin/sh
# ./bootstrap demo works in a fresh copy, twice, from any folder, as an ordinary user. It takes the
# command that is tested here: ./bootstrap test has built that with the same functions.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need sqlite3 setpriv

CPROF_DEMO_BUILD=$CPROF_BUILD_ROOT
export CPROF_DEMO_BUILD
mkdir clone.keep
(cd "$CPROF_SOURCE_ROOT" && tar c --exclude='./build*' --exclude=./.git .) | tar x -C clone.keep
demo() {
	"$T/clone.keep/bootstrap" demo
}
if is_root; then
	chown -R 65534:65534 clone.keep
	demo() {
		as_nobody env HOME="$T" "$T/clone.keep/bootstrap" demo
	}
fi
cd / || exit 99
for n in first second; do
	run demo
	is "$status" 0 "the $n time: status 0"
	like "$T/out" 'demo\.pb\.gz' "the $n time: names the profile"
	like "$T/out" 'sqlite3' "the $n time: shows functions of sqlite3"
	check "the $n time: at most 30 lines of output" test "$(wc -l <"$T/out")" -le 30
	is "$(tail -n 1 "$T/out" | sed 's/.*: //')" "$T/clone.keep/build/demo.html" \
		"the $n time: ends by naming the picture"
	like "$T/clone.keep/build/demo.html" '^</html>$' "the $n time: the picture is complete"
	profile "the $n time: the profile has over 500 samples" "$T/clone.keep/build/demo.pb.gz" \
		'n > 500'
done
cd "$T" || exit 99
finish
