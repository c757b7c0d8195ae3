#!/bin/sh
# What each of some seventy wrong uses gets: the text is in wrong-uses.txt, for people to review.  A
# message that changes on purpose: CPROF_WRONG_USES=write tests/run -k wrong-uses BUILD
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
here=$CPROF_SOURCE_ROOT/tests/cli

mkdir bin.keep work.keep nothing.keep
ln -s "$CPROF" bin.keep/cprof
PATH=$T/bin.keep:$PATH
cd work.keep || exit 99
"$PYTHON" "$here/../browser/profiles.py" small . || exit 99
mv cpu.pb.gz ../good.keep
rm -f ./*
: >empty
echo 'just text' >text
printf 'PERFILE2%0100d' 0 >perf.data
cp ../good.keep good.pb.gz

# What depends on the machine has no place in the text.
while IFS= read -r command; do
	status=0
	case $command in
	'cprof report')
		# the only one that needs a folder without a profile
		(cd ../nothing.keep && sh -c "$command") >../out.keep 2>&1 </dev/null || status=$?
		;;
	*) sh -c "$command" >../out.keep 2>&1 </dev/null || status=$? ;;
	esac
	printf '%s\n' "\$ $command"
	sed 's/^/    /; s/ *$//; s/\(the commands are:\).*/\1 .../' ../out.keep | head -n 12
	printf '%s\n\n' "    status $status"
done <"$here/wrong-uses.list" >../got.keep
if [ "${CPROF_WRONG_USES:-}" = write ]; then
	cp ../got.keep "$here/wrong-uses.txt"
fi
check 'there are 60 wrong uses' test "$(grep -c '^\$' ../got.keep)" -ge 60
check 'each gets its message' diff -u "$here/wrong-uses.txt" ../got.keep
is "$(grep -c '^    status 0$' ../got.keep)" 0 'none of them succeeds'
cd "$T" || exit 99
finish
