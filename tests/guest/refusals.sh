#!/bin/sh
# Events that this PMU does not have, and messages on a machine without a PMU.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
guest_setup

in_guest pmu <<'END'
record branches -e branches -c 1000 -- ./work 1
record cache -e LLC-load-misses -c 1000 -- ./work 1
record one-of-two -e cycles:u,branch-misses -c 100003 -- ./work 1
record never -e r00 -c 1000 -- ./work 1
record never-beside -e cycles:u,r00 -c 100003 -- ./work 20
record rate -e cycles -F 200000 -- ./work 1
record default -- ./work 20
./cprof list >$OUT/list.out 2>$OUT/list.err
echo $? >$OUT/list.status
END
in_guest none --no-pmu <<'END'
record cycles -e cycles:u -c 100003 -- ./work 1
record raw -e r11 -c 100003 -- ./work 1
record default -- ./work 60
./cprof list >$OUT/list.out 2>$OUT/list.err
echo $? >$OUT/list.status
END

# no_profile NAME CASE WHAT REGEX...: cprof ends with $wanted, its messages match each REGEX, and it
# leaves no file
no_profile() {
	result "$1" "$2"
	files=$(find "$guest_out" -name "$2.*pb.gz*" | tr '\n' ' ')
	what=$3
	shift 3
	is "$status" "$wanted" "$what: status $wanted"
	check "$what: the message begins with 'cprof record'" grep -q '^cprof record: ' err
	for regex; do
		like err "$regex" "$what: says '$regex'"
	done
	is "$files" '' "$what: no file"
}

wanted=1
no_profile pmu branches 'an event that the PMU does not have' \
	"cannot open event 'branches'.*no such file" 'this machine does not have' 'cprof list'
no_profile pmu cache 'a cache event that the PMU does not have' \
	"cannot open event 'LLC-load-misses'" 'this machine does not have'
no_profile pmu one-of-two 'one of two events does not exist' "cannot open event 'branch-misses'"
# The command has run: its status is passed on.
wanted=0
no_profile pmu never 'an event that never counts' "event 'r00' never happened" 'never count'
wanted=1
no_profile pmu rate 'a rate above the limit' '100000'

what='one of two events never counts'
result pmu never-beside
is "$status" 0 "$what: status 0"
like err "event 'r00' never happened" "$what: the message names it"
profile "$what: the other has its profile" "$guest_out/never-beside.cycles-u.pb.gz" \
	'n > 300' 'near(work_three=0.75)'
is "$(find "$guest_out" -name 'never-beside*r00*')" '' "$what: it has no profile"

recorded pmu default 'without -e, with a PMU'
profile 'without -e, with a PMU: records cycles' "$pb" "p.sample_types[1] == ('cycles', 'count')"
result pmu list
is "$status" 0 'list, with a PMU: status 0'
like out '^  cycles +yes' 'list, with a PMU: cycles can be sampled'
like out '^  branches +no' 'list, with a PMU: branches cannot'
like out '^PMU: works' 'list, with a PMU: says that it works'

no_profile none cycles 'cycles without a PMU' "cannot open event 'cycles:u'" 'PMU' 'cpu-clock'
no_profile none raw 'a raw event without a PMU' "cannot open event 'r11'" 'PMU'
recorded none default 'without -e, without a PMU'
profile 'without -e, without a PMU: records cpu-clock' "$pb" \
	"p.sample_types[1] == ('cpu', 'nanoseconds')" \
	'near(work_three=0.75)' 'n > 50'
like err 'cpu-clock' 'without -e, without a PMU: the message names cpu-clock'
like err 'PMU|hardware' 'without -e, without a PMU: the message gives the reason'
result none list
is "$status" 0 'list, without a PMU: status 0'
like out '^  cycles +no' 'list, without a PMU: cycles cannot be sampled'
like out '^PMU: (none|no|not)' 'list, without a PMU: says that there is no PMU'
finish
