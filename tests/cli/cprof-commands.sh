#!/bin/sh
# The command without a recording: help, versions, wrong words.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

run "$CPROF" --help
is "$status" 0 '--help succeeds'
like out 'record' '--help names record on stdout'
like out 'list' '--help names list'
is "$(cat err)" '' '--help says nothing on stderr'
run "$CPROF" --version
is "$status" 0 '--version succeeds'
like out 'cprof [0-9]+\.[0-9]+' '--version says which'
run "$CPROF"
is "$status" 64 'no command: usage'
like err 'usage|--help' 'no command: says how to go on'
refused 64 "recrod" 'an unknown command is named' recrod
like err "record" 'an unknown command: the nearest one is shown'
refused 64 "unrecognized option '-p'" 'an option before the command is told as such' -p 1
like err 'cprof record -p PID' 'and where it belongs'
refused 64 "no command './program'" 'a program is no command' ./program
like err 'to record a program' 'and how it is recorded'
for command in record import symbolize list doctor report; do
	run "$CPROF" $command --help
	is "$status" 0 "$command --help succeeds"
	like out 'usage' "$command --help shows the usage on stdout"
	unlike out '^ +$' "$command --help has no empty rest of a line"
	refused 64 'nosuch' "$command: an unknown option is named" $command --nosuch
done
run sh -c "'$CPROF' --help >/dev/full"
check 'help that cannot be written is a failure' test "$status" -ne 0
finish
