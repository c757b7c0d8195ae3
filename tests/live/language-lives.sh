#!/bin/sh
# Runtimes that end, fork, or execute another runtime during a recording.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/runtimes.sh"
need_perf
need prlimit

# from_start FILE COMMAND...: records a command until it has used so much CPU time
from_start() {
	from_file=$1
	shift
	run "$CPROF" record -e cpu-clock --user -F 999 -o "$from_file" -- "$@"
	check "recorded: $from_file" test -s "$from_file"
}

# Forks, and both processes are killed.
for language in $(languages); do
	program_of "$language"
	# shellcheck disable=SC2086 # words
	case $language in
	python | php | ruby)
		from_start fork.pb.gz prlimit --cpu=1 env GRAMMAR_FORK=1 $program
		named "$language" fork.pb.gz "$language: it forks and ends"
		profile "$language: both processes have functions" fork.pb.gz \
			"len({r[2]['pid'] for r in rows if any(re.search('^(py|php|rb)::leaf', n) for n in r[0])}) == 2"
		;;
	*)
		from_start end.pb.gz prlimit --cpu=1 $program
		named "$language" end.pb.gz "$language: from its start to its violent end" ;;
	esac
done

# One process executes one after the other.
then=
for language in $(languages); do
	program_of "$language"
	case $language in php | ruby | java) then="$then$program|" ;; esac
done
program_of python
# shellcheck disable=SC2086
from_start exec.pb.gz prlimit --cpu=3 env GRAMMAR_THEN="$then" $program
for language in $(languages); do
	case $language in
	java) profile 'java: executed by another one' exec.pb.gz "anywhere('^Spin[.](loop|fib)\$') > 0.1" ;;
	node) ;;
	*) grammar "$language" exec.pb.gz "$language: before it executes another one" \
		'complete + innermost > 100' ;;
	esac
done

finish
