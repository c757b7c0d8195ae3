#!/bin/sh
# The same instructions produce the same profile: two guests that run the same commands, with the
# same clock and process ids, write identical files.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

for n in first second; do
	in_guest $n <<-'END'
	record user --scope task -e cycles:u -c 100003 -- ./work 20 2 1
	record sides -e cycles -F 4999 -- ./work 20 2 1
	record several -c 50021 -e cycles:u,cycles:k,r11,r08:u,r08:k,r08,r11:k,r11:u -- ./work 20
	END
done
for case in user sides several; do
	result first $case
	is "$status" 0 "$case: recorded"
done
is "$(find first.keep/out -name '*.pb.gz' | wc -l)" 10 'one profile for each of ten events'
(cd first.keep/out && find . -name '*.pb.gz') | sort >profiles.keep
while read -r file; do
	check "${file#./} is identical in both guests" \
		cmp "first.keep/out/$file" "second.keep/out/$file"
done <profiles.keep
for case in user sides several; do
	check "the summary of $case is identical in both guests" \
		cmp first.keep/out/$case.out second.keep/out/$case.out
done
finish
