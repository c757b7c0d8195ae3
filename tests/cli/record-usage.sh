#!/bin/sh
# Invalid arguments of record: status 64, a message that quotes the argument, no file, and the
# command is not started.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

start='touch started'
refused 64 'usage|--help|command|-p' 'no target' record
refused 64 'usage|--help|command|-p' 'options but no target' record -e cpu-clock
refused 1 "no process has the name 'abc,?" '-p with a name that no process has' record -p abc
refused 1 "no process has the name '12x'" '-p 1,12x' record -p 1,12x
refused 64 'ids or names' '-p without any' record -p ' , '
refused 64 '--children needs -p' '--children without -p' record --children -- $start
refused 64 "'?-1|0|pid" '-p 0' record -p 0
refused 64 'abc' '-t abc' record -t abc
refused 64 '99999999999' '-p with a number beyond any pid' record -p 99999999999
refused 64 'abc' '-F abc' record -F abc -- $start
refused 64 '0' '-F 0' record -F 0 -- $start
refused 64 '-5' '-F -5' record -F -5 -- $start
refused 64 '0' '-c 0' record -c 0 -- $start
refused 64 '1x' '-c 1x' record -c 1x -- $start
refused 64 '-F|-c' '-F and -c together' record -F 100 -c 100 -- $start
refused 64 'soon' '--duration soon' record --duration soon -- $start
refused 64 '-1' '--duration -1' record --duration -1 -- $start
refused 64 '3y' '--duration 3y' record --duration 3y -- $start
refused 64 'never' '--delay never' record --delay never -- $start
refused 64 '-D' '-D 1.5' record -D 1.5 -- $start
refused 64 '-D' '-D -2' record -D -2 -- $start
refused 64 'control' '-D -1 without --control' record -D -1 -- $start
for place in '' fd: fd:x fd:7x fd:-1 'fd:7,' 'fd:7,8,9' fifo: pipe:7 7; do
	refused 64 'fd:CTL.*fifo:CTL' "--control '$place'" record --control "$place" -- $start
done
refused '1' "nosuch" '--control with a FIFO that does not exist' record --control fifo:nosuch -- $start
like err 'mkfifo' '--control with a FIFO that does not exist: the message says how to create it'
refused '1' "is not a FIFO" '--control with a file' record --control fifo:/dev/null -- $start
refused '1' "descriptor 77" '--control with a descriptor that is not open' \
	record --control fd:77 -- $start
for when in 0s 10 10X s -1s 99999999999999999999s 10.5s; do
	refused 64 'signal.*size.*time' "--switch-output=$when" record --switch-output="$when" -- $start
done
refused 64 'one starts' '--switch-output and --snapshot-signal' \
	record --switch-output --snapshot-signal -- $start
refused 64 'KILL' '--snapshot-signal=KILL' record --snapshot-signal=KILL -- $start
for condition in '' cpu 'cpu=5' 'load>1' 'cpu>80% for' 'rss>1%'; do
	refused 64 'cpu, rss or threads' "--trigger '$condition'" record --trigger "$condition" -- $start
done
refused 64 'last' '--last 1ms' record --last 1ms -- $start
refused 64 'last' '--last soon' record --last soon -- $start
refused 64 'everything' '--last and --switch-output' record --last 1s --switch-output -- $start
refused 64 'needs' '--switch-max-files alone' record --switch-max-files 3 -- $start
refused 64 'max-files' '--switch-max-files 0' record --switch-output --switch-max-files 0 -- $start
refused 64 'several files' '--switch-output and -o -' record --switch-output -o - -- $start
refused 64 'several files' '--snapshot-signal and -o -' record --snapshot-signal -o - -- $start
refused 64 'pony' '--scope pony' record --scope pony -- $start
like err 'auto.*task.*cpu.*cgroup|cgroup.*cpu' '--scope pony: the message lists the scopes'
refused 64 'pony' '--call-graph pony' record --call-graph pony -- $start
refused 64 'novalue' '--label without a value' record --label novalue -- $start
refused 64 'pprof::' '--label with a reserved key' record --label pprof::x=1 -- $start
refused 64 'pony' '--labels pony' record --labels pony -- $start
refused 64 'big' '--ring-size big' record --ring-size big -- $start
refused 64 'big' '--max-memory big' record --max-memory big -- $start
refused 64 'user|kernel' '--user and --kernel together' record --user --kernel -- $start
refused 64 "cpu-clokc" 'an unknown event' record -e cpu-clokc -- $start
like err 'cpu-clock' 'an unknown event: the message has the nearest names'
refused 64 'cycels' 'another unknown event' record -e cycels -- $start
like err 'cycles' 'another unknown event: the message has the nearest names'
refused 64 'modifier|:z' 'a bad modifier' record -e cpu-clock:z -- $start
refused 64 'period' 'a bad period' record -e cpu-clock/period=many/ -- $start
refused 64 'period' 'a period of 0' record -e cpu-clock/period=0/ -- $start
refused 64 'colour' 'an unknown event option' record -e cpu-clock/colour=red/ -- $start
refused 64 'cpu-clock/period' 'an event that is not closed' record -e cpu-clock/period=5 -- $start
refused 64 'event|empty' 'an empty event' record -e '' -- $start
refused 64 'event|empty' 'an empty event in a list' record -e cpu-clock,,page-faults -- $start
refused 64 'rXYZ' 'a raw event that is not a number' record -e rXYZ -- $start
check 'no command was started' test ! -e started
finish
