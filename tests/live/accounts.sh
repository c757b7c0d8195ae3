#!/bin/sh
# cprof reports the cost of recording and its problems per event, in the terminal, in JSON and in
# the file. --adaptive lowers a rate that is too high for the machine, and --scale multiplies only
# where events were multiplexed.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record --json --scale -e cpu-clock -F 4999 -o cost.pb.gz -- sh -c "'$PROG/spin' 20 400 >&2"
is "$status" 0 'costs: recorded'
like err 'cprof used [0-9.]+ m?s of CPU time; sampling cost the target about [0-9.]+ [mu]?s, ' \
	'costs: the summary says what cprof used and what the target paid'
is "$(json '0 < s["own_cpu_s"] < 10 and s["target_cost_s"] > 0')" True \
	'costs: --json has both numbers'
is "$(json 'abs(s["target_cost_s"] - e["samples"] * e["sample_cost_ns"] / 1e9) < 1e-5')" True \
	'costs: the cost is the number of samples times the cost of one'
is "$(json '300 < e["sample_cost_ns"] < 1000000')" True \
	'costs: one sample costs between 0.3 and 1000 us'
profile 'costs: the comments of the file have both numbers' cost.pb.gz \
	"re.search(r'cost: cprof itself [0-9.]+ s', comments)" \
	"re.search(r'cost: about [0-9.]+ s of the target', comments)"
is "$(json 'e["scale"]')" 1.0 '--scale: without multiplexing the factor is 1'
profile '--scale: without multiplexing the file does not mention scaling' cost.pb.gz \
	"'scaled' not in comments"
is "$(json 'e["problem"]')" None 'an event without problems has no problem in --json'

# One event happens, the other one does not.
run "$CPROF" record --json -e cpu-clock,alignment-faults -o two.pb.gz -- "$PROG/spin" 3 300
is "$status" 0 'one of two events did not happen: status 0'
like err "warning: event 'alignment-faults' never happened, so no file is written" \
	'one of two events did not happen: cprof prints a warning'
check 'one of two events did not happen: it has no file' test ! -e two.alignment-faults.pb.gz
check 'one of two events did not happen: the other has its file' test -e two.cpu-clock.pb.gz
is "$(json '[x["problem"] for x in s["events"]]')" \
	"[None, \"event 'alignment-faults' never happened\"]" \
	'one of two events did not happen: --json reports it'
run "$CPROF" record --strict -q -e cpu-clock,alignment-faults -o strict.pb.gz -- "$PROG/spin" 3 300
is "$status" 2 'one of two events did not happen: status 2 with --strict'
like err "warning: event 'alignment-faults' never happened" '-q prints the warning, too'
run "$CPROF" record -q -e cpu-clock -o quiet.pb.gz -- "$PROG/spin" 3 100
is "$(cat err)" '' '-q: nothing lost, no text'
run "$CPROF" record -q --max-depth 2 -e cpu-clock -o quiet.pb.gz -- "$PROG/spin" 3 100
like err '^cprof record: warning: [0-9]+ stacks truncated' '-q prints large losses'
is "$(wc -l <err)" 1 'and nothing else'
run "$CPROF" record -e alignment-faults -o alone.pb.gz -- "$PROG/spin" 3 50
is "$status" 0 'the only event did not happen: the status is that of the command'
like err "event 'alignment-faults' never happened" \
	'the only event did not happen: the message says so'
is "$(find . -name 'alone*')" '' 'the only event did not happen: no file'

# The rings of a stopped reader become full.
background "$PROG/spin" 20 60000 >/dev/null
spin=$pid
for rate in '-F 8000' '-c 125000'; do
	# shellcheck disable=SC2086 # two words
	start_cprof record --json --adaptive -e cpu-clock $rate --call-graph fp --ring-size 16k \
		-o slow.pb.gz -p "$spin"
	let_use "$spin" 300
	kill -STOP "$cprof_pid"
	let_use "$spin" 700
	kill -CONT "$cprof_pid"
	let_use "$spin" 1500
	kill -INT "$cprof_pid"
	end_cprof
	is "$status" 0 "$rate --adaptive: recorded"
	is "$(json 'len(e["rate_cuts"]) >= 1')" True "$rate --adaptive: the rate was lowered"
	is "$(json 'all(c["reason"] in ("samples were lost", "throttled by the kernel") and
		(c["freq_hz"] * 2 == c["was"] if "freq_hz" in c else c["period"] == 2 * c["was"])
		for c in e["rate_cuts"])')" True \
		"$rate --adaptive: each cut halves the rate and has a reason"
	like err 'cpu-clock lowered to .*\(--adaptive\)' "$rate --adaptive: the summary says so"
	profile "$rate --adaptive: the comments of the file say so" slow.pb.gz \
		"'rate lowered (--adaptive)' in comments"
	is "$(json 'e["value"] > 1.2 * 125000 * e["samples"]')" True \
		"$rate --adaptive: samples at the lower rate have larger values"
done
fast() {
	run "$CPROF" record --json -e cpu-clock -F 8000 --call-graph fp --ring-size 16k --duration 0.5 \
		-o fast.pb.gz -p "$spin"
	is "$(json 'e["rate_cuts"]')" '[]' 'without --adaptive the rate does not change'
	is "$(json '0.75 < e["value"] / e["samples"] / 125000 < 1.3')" True \
		'without --adaptive the mean value of a sample is one period, within 30 %'
}
attempts 3 fast
finish
