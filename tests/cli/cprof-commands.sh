#!/bin/sh
# The command line without a recording: help, versions, unknown commands and options.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

run "$CPROF" --help
is "$status" 0 '--help succeeds'
like out 'record' '--help names record on stdout'
like out 'list' '--help names list'
is "$(cat err)" '' '--help prints nothing to stderr'
run "$CPROF" --version
is "$status" 0 '--version succeeds'
like out 'cprof [0-9]+\.[0-9]+' '--version prints the version'
run "$CPROF"
is "$status" 64 'no command: usage'
like err 'usage|--help' 'no command: the message shows the usage'
refused 64 "recrod" 'an unknown command is named' recrod
like err "record" 'an unknown command: the message names the nearest one'
refused 64 "unrecognized option '-p'" 'an option before the command is refused' -p 1
like err 'cprof record -p PID' 'an option before the command: the message shows its place'
refused 64 "no command './program'" 'a program is not a command' ./program
like err 'to record a program' 'a program instead of a command: the message shows how to record it'
for command in record import symbolize list doctor report; do
	run "$CPROF" $command --help
	is "$status" 0 "$command --help succeeds"
	like out 'usage' "$command --help shows the usage on stdout"
	unlike out '^ +$' "$command --help has no line of blanks"
	refused 64 'nosuch' "$command: an unknown option is named" $command --nosuch
done
run sh -c "'$CPROF' --help >/dev/full"
check '--help to a full device fails' test "$status" -ne 0
finish
