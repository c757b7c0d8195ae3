# Programs for tests of languages, which spin for a minute in functions of their own.  After lib.sh:
#
#	for language in $(languages); do
#		spin "$language" setpriv --reuid=65534 --regid=65534 --clear-groups
#		attempts 3 recorded "$language" "$language: a process of another user"
#	done
# shellcheck shell=sh

runtimes_prog=$CPROF_SOURCE_ROOT/tests/prog

# languages: those that are installed, in a version that cprof supports
languages() {
	echo python
	command -v php >/dev/null && echo php
	case $(ruby -e 'print RUBY_VERSION' 2>/dev/null) in 3.[1234].*) echo ruby ;; esac
	command -v java >/dev/null && echo java
	command -v node >/dev/null && echo node
}

# program_of LANGUAGE: its command; sets $program
program_of() {
	case $1 in
	python) program="$PYTHON $runtimes_prog/pygrammar.py 400" ;;
	php) program="$(readlink -f "$(command -v php)") -n $runtimes_prog/phpgrammar.php 1200" ;;
	ruby) program="$(command -v ruby) --disable=gems $runtimes_prog/rbgrammar.rb 800" ;;
	java)
		[ -d "$T/classes.keep" ] || java -XX:TieredStopAtLevel=1 -m \
			jdk.compiler/com.sun.tools.javac.Main -d "$T/classes.keep" \
			"$runtimes_prog/java/Spin.java"
		program="$(readlink -f "$(command -v java)") -cp $T/classes.keep Spin 60" ;;
	node) program="$(command -v node) $runtimes_prog/js/spin.js 60000" ;;
	esac
}

# spin LANGUAGE [PREFIX...]: runs its program, in the background; sets $pid.  A prefix is a program
# that executes another one: a function of the shell would be a process of its own.
spin() {
	spin_language=$1
	shift
	program_of "$spin_language"
	# shellcheck disable=SC2086 # words
	"$@" $program >/dev/null &
	pid=$!
	tap_pids="$tap_pids $pid"
}

# record_for FILE OPTION...: until the process $pid has used 0.6 s of CPU time
record_for() {
	record_file=$1
	shift
	start_cprof record -e cpu-clock -F 999 --user -o "$record_file" "$@" -p "$pid"
	let_use "$pid" 600
	kill -INT "$cprof_pid"
	end_cprof
	is "$status" 0 "recorded: $record_file"
}

# grammar LANGUAGE FILE TITLE EXPRESSION...: see pygrammar.py
grammar() {
	grammar_title=$3 grammar_file=$2
	case $1 in
	python) set -- py "$@" ;;
	ruby) set -- rb "$@" ;;
	*) set -- php "$@" ;;
	esac
	grammar_language=$1
	shift 4
	check "$grammar_title" "$PYTHON" "$CPROF_SOURCE_ROOT/tests/pygrammar.py" "$grammar_language" \
		"$grammar_file" 'wrong <= 0.005 * samples' "$@"
}

# named LANGUAGE FILE TITLE: most samples have functions of its program, and none has wrong ones
named() {
	case $1 in
	java) profile "$3" "$2" "anywhere('^Spin[.](loop|twice|fib|text|round)\$') > 0.3" \
		"anywhere(r'^\\[jit\\]') < 0.05" 'n > 100' ;;
	node) profile "$3" "$2" "anywhere('^(loop|round|once|fib|fill)\$') > 0.3" \
		"anywhere(r'^\\[jit\\]') < 0.05" 'n > 100' ;;
	*) grammar "$1" "$2" "$3" 'native <= 0.4 * samples' 'samples > 100' ;;
	esac
}

# recorded LANGUAGE TITLE: what $pid executes has names; for attempts, since a busy machine may not
# let cprof learn in time
recorded() {
	record_for a.pb.gz
	named "$1" a.pb.gz "$2"
}

# unnamed FILE TITLE: no sample has such functions
unnamed() {
	profile "$2" "$1" "not anywhere('^(py::|php::|rb::|Spin[.]|(loop|round|once|fib|fill)\$)')" \
		'n > 100'
}
