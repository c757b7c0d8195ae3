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
like err "did you mean 'record'" 'an unknown command: the message names the nearest one'
refused 64 "did you mean 'report'" 'the beginning of one command is near it' rep
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
run "$CPROF" help report
is "$status" 0 'help COMMAND succeeds'
like out 'cprof report \[OPTION' 'help COMMAND prints its help'
refused 64 "did you mean 'top'" 'help of an unknown command names the nearest one' help tpo
for command in record report list convert; do
	run "$CPROF" $command -h
	is "$status" 0 "$command -h succeeds"
	like out "cprof $command \[OPTION" "$command -h prints its help"
	run "$CPROF" $command --version
	is "$(cat out)" "$("$CPROF" --version)" "$command --version prints the version"
done
refused 64 "did you mean '--duration'" 'an unknown option: the message names the nearest one' \
	record --duraton 1 true
refused 64 "unrecognized option '--focsu'" 'an unknown option after a file' report x.pb.gz --focsu=x
like err "did you mean '--focus'" 'the value is not a part of its name'
run "$CPROF" record -q -o x.pb.gz -- sh -c 'true "$@"' sh --duraton -h --version
is "$status" 0 'options of a recorded command are its own'
run sh -c "'$CPROF' --help >/dev/full"
check '--help to a full device fails' test "$status" -ne 0
finish
