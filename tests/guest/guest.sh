# Functions for the tests of the guest, in addition to tests/lib.sh.
#
#	. "$CPROF_SOURCE_ROOT/tests/lib.sh"
#	. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
#	in_guest main <<'END'
#	record plain -e cycles:u -c 100003 -- ./work 100
#	END
#	result main plain
#	is "$status" 0 'cprof record succeeds'
#
# A guest boots once for a list of commands; the test checks their results afterwards.
#
# The guest is deterministic, but another compiler, kernel or path length moves the samples.
# CPROF_GUEST_SHAKE=N in the environment shows whether a test tolerates that: addresses, the
# environment, process ids and times differ for each N. Try a new or changed test with several N:
#
#	for n in $(seq 20); do CPROF_GUEST_SHAKE=$n tests/run -k guest-counts build; done
#
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of and for the tests

guest_here=$CPROF_SOURCE_ROOT/tests/guest
guest_build=$CPROF_BUILD_ROOT/guest-arm64
guest_programs='tests/prog/serial tests/prog/parallel tests/prog/shortthreads tests/prog/spin
	tests/guest/work tests/guest/work-frameless tests/guest/work-signed tests/guest/kick tests/guest/as'

# guest_setup [--perf] [--bash] [--libs]: prepares the guest and builds cprof for arm64; skips the
# script if the packages are not available. --perf: also prepares the guest that contains perf.
# --bash: also bash, in the folder bash next to the cross file $guest_cross. --libs: also musl and
# the C++ library, in the folder libs next to it.
guest_setup() {
	need meson ninja python3 flock prlimit
	guest_rc=0
	guest_cross=$("$guest_here/prepare.sh" "$@" 2>"$T/prepare.keep") || guest_rc=$?
	if [ "$guest_rc" -eq 77 ]; then
		skip_all "the guest: $(tail -n 1 "$T/prepare.keep" | sed 's/^guest: //')"
	elif [ "$guest_rc" -ne 0 ]; then
		diag <"$T/prepare.keep"
		echo 'Bail out! the guest could not be prepared'
		tap_done=1
		exit 1
	fi
	# Guest tests run in parallel; the first one builds, as fast as optimized code allows. Programs
	# to be profiled have debug information nevertheless.
	exec 9>"$guest_build.lock"
	flock 9
	# shellcheck disable=SC2086 # a list of words
	if ! { [ -f "$guest_build/build.ninja" ] ||
		meson setup "$guest_build" "$CPROF_SOURCE_ROOT" --cross-file "$guest_cross" \
			-Dwerror=true -Ddebug=false -Dc_args=-fno-lto; } >"$T/build.keep" 2>&1 ||
		! ninja -C "$guest_build" cmd/cprof $guest_programs >>"$T/build.keep" 2>&1; then
		tail -n 40 "$T/build.keep" | diag
		echo 'Bail out! the cross build failed'
		tap_done=1
		exit 1
	fi
	exec 9>&-
}

# in_guest NAME [OPTION OF boot.sh...] <COMMANDS: runs shell commands in a guest. There,
# `record CASE ARG...` runs cprof record --json, which writes CASE.pb.gz; $kick, if set, is put in
# front of the command. The output files end up in NAME.keep/out. $guest_more lists additional
# files for the guest.
in_guest() {
	guest_name=$1
	shift
	[ -z "${CPROF_GUEST_SHAKE-}" ] || set -- --shake "$CPROF_GUEST_SHAKE" "$@"
	mkdir "$T/$guest_name.keep"
	for guest_file in cmd/cprof $guest_programs; do
		cp "$guest_build/$guest_file" "$T/$guest_name.keep/"
	done
	# shellcheck disable=SC2086 # a list of words
	[ -z "${guest_more-}" ] || cp $guest_more "$T/$guest_name.keep/"
	{
		cat <<-'END'
		#!/bin/sh
		shaken() {
			head -c $(($1 * 173 % 4096)) /dev/zero | tr '\0' x >/tmp/shake
			SHAKE=$(cat /tmp/shake)
			export SHAKE
			i=$(($1 % 11))
			while [ $i -gt 0 ]; do
				/bin/true
				i=$((i - 1))
			done
			usleep $(($1 * 1327 % 8000))
		}
		kick=
		record() {
			name=$1
			shift
			$kick ./cprof record --json -o "$OUT/$name.pb.gz" "$@" \
				>"$OUT/$name.out" 2>"$OUT/$name.err"
			echo $? >"$OUT/$name.status"
		}
		END
		[ -z "${CPROF_GUEST_SHAKE-}" ] || echo "shaken $CPROF_GUEST_SHAKE"
		cat
		echo 'exit 0'
	} >"$T/$guest_name.keep/run"
	chmod +x "$T/$guest_name.keep/run"
	run "$guest_here/boot.sh" "$@" "$T/$guest_name.keep"
	is "$status" 0 "guest '$guest_name': all commands run, and it shuts down"
}

# result NAME CASE: selects the results of one command in a guest. Sets $status, the files out and
# err, $pb (the path of the profile) and $json (the path of the summary).
result() {
	guest_out=$T/$1.keep/out
	run_command="cprof record for '$2' in the guest '$1'"
	status=$(cat "$guest_out/$2.status" 2>/dev/null || echo missing)
	cp "$guest_out/$2.out" "$T/out" 2>/dev/null || : >"$T/out"
	cp "$guest_out/$2.err" "$T/err" 2>/dev/null || : >"$T/err"
	pb=$guest_out/$2.pb.gz
	json=$T/summary.keep
	tail -n 1 "$T/out" >"$json"
}

# summary EXPRESSION: prints a Python expression over the JSON summary of the selected result, `s`,
# and its first event, `e`
summary() {
	"$PYTHON" -c '
import json, sys
s = json.load(open(sys.argv[1]))
e = s["events"][0]
print(eval(sys.argv[2]))' "$json" "$1" 2>/dev/null || echo none
}

# recorded NAME CASE WHAT: asserts that cprof succeeded and that the profile is valid. Sets
# $counted, the final value of the first event's counter.
recorded() {
	result "$1" "$2"
	if [ "$status" = 0 ] && [ -s "$json" ]; then
		check "$3: recorded, and the profile is valid" "$guest_check" "$pb"
	else
		fail "$3: recorded"
	fi
	counted=$(summary 'e["counted"]')
}

guest_check=$CPROF_BUILD_ROOT/tests/tools/pprof-check
