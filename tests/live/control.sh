#!/bin/sh
# perf's control protocol: windows are exact, and scripts for perf record work.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# The program alternates between A, which must not be recorded, and B, which must.
mkfifo ctl.keep ack.keep
exec 7<>ctl.keep 8<>ack.keep
windows() {
	"$PROG/alternate" 100 10 ctl.keep ack.keep >alternate.keep &
	work=$!
	run "$CPROF" record -D -1 -e cpu-clock -F 2000 --control "$1" -o w.pb.gz -p "$work"
	wait "$work"
	is "$status" 0 "$2: status 0"
	profile "$2: under 0.5 % in A, all of B" w.pb.gz "cum('A') < 0.005" "cum('B') > 0.95" \
		'0.85e9 < total < 1.3e9'
}
attempts 3 windows fifo:ctl.keep,ack.keep 'by FIFO'
attempts 3 windows fd:7,8 'by descriptors'
exec 7>&- 8>&-
rm -f ctl.keep ack.keep

# The script of perf-record(1), with shorter sleeps, and an event that needs no PMU.
cat >man.sh.keep <<'END'
#!/bin/bash

ctl_dir=./

ctl_fifo=${ctl_dir}perf_ctl.fifo
test -p ${ctl_fifo} && unlink ${ctl_fifo}
mkfifo ${ctl_fifo}
exec {ctl_fd}<>${ctl_fifo}

ctl_ack_fifo=${ctl_dir}perf_ctl_ack.fifo
test -p ${ctl_ack_fifo} && unlink ${ctl_ack_fifo}
mkfifo ${ctl_ack_fifo}
exec {ctl_fd_ack}<>${ctl_ack_fifo}

perf record -D -1 -e cpu-clock -o script.pb.gz       \
            --control fd:${ctl_fd},${ctl_fd_ack} \
            -- "$PROG/spin" 4 5000 &
perf_pid=$!

sleep 0.5 && echo 'enable' >&${ctl_fd} && read -u ${ctl_fd_ack} e1 && echo "enabled(${e1})"
sleep 0.5 && echo 'disable' >&${ctl_fd} && read -u ${ctl_fd_ack} d1 && echo "disabled(${d1})"

exec {ctl_fd_ack}>&-
unlink ${ctl_ack_fifo}

exec {ctl_fd}>&-
unlink ${ctl_fifo}

wait -n ${perf_pid}
exit $?
END
sed -i 's|^perf record|"$CPROF" record|' man.sh.keep
export CPROF
of_man() {
	run bash man.sh.keep
	is "$status" 0 'the script of perf-record(1): status 0'
	like out '^enabled\(ack\)$' 'the script of perf-record(1): its enable is acknowledged'
	like out '^disabled\(ack\)$' 'the script of perf-record(1): its disable is acknowledged'
	like err '^Events disabled$' 'the script of perf-record(1): the recording starts disabled'
	like err '^Events enabled$' 'the script of perf-record(1): the events are enabled'
	profile 'the script of perf-record(1): only its window is recorded' script.pb.gz \
		'n > 5' 'total < 1.3e9'
}
if command -v bash >/dev/null; then
	attempts 3 of_man
else
	skip 'the script of perf-record(1)' 'needs bash'
fi

# The bytes, and one event of several.
mkfifo ctl.keep ack.keep
exec 7<>ctl.keep 8<>ack.keep
say() {
	echo "$1" >&7
	timeout 60 head -c 5 <&8 | od -An -c | tr -d ' \n'
}
background "$PROG/spin" 4 1000000
start_cprof record -D -1 -e cpu-clock,task-clock --control fd:7,8 -o e.pb.gz -p "$pid"
for command in ping nonsense '' 'enable task-clock' 'enable nosuch' enablex 'evlist' 'evlist -F' \
	'evlist -v' 'evlist -g'; do
	is "$(say "$command")" 'ack\n\0' "'$command' is answered with ack, newline and a zero byte"
done
let_use "$pid" 100
is "$(say snapshot)" 'ack\n\0' "'snapshot' is acknowledged"
set -- e.task-clock.*.pb.gz
check 'snapshot: acknowledged when the file exists' test -f "$1"
profile 'snapshot: the file of the enabled event has samples' "$1" 'n > 5'
check 'snapshot: the disabled event has no file' sh -c '! ls e.cpu-clock.*'
say 'disable task-clock' >/dev/null
say 'enable cpu-clock' >/dev/null
let_use "$pid" 100
is "$(say stop)" 'ack\n\0' "'stop' is acknowledged"
end_cprof
is "$status" 0 "'stop' ends the recording"
like err "^failed: can't find 'nosuch' event$" 'an unknown event, in perf'"'"'s words'
like err '^failed: wrong command$' 'a command without a blank after its word is refused'
like err '^task-clock: sample_freq=999$' 'evlist -F prints the frequency'
like err '^cpu-clock: type: 1, size: [0-9]*, .*sample_type: IP.TID.TIME' 'evlist -v prints the attr'
profile 'an event that is enabled later has samples' e.cpu-clock.pb.gz 'n > 5'

# A client that disconnects, and a command that is stopped.
start_cprof record -e cpu-clock --control fifo:ctl.keep -o s.pb.gz -- "$PROG/spin" 4 1000000
let_use "$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)" 100
echo stop >&7
end_cprof
is "$status" 143 "'stop' ends the command by SIGTERM"
profile 'stop with a command: the profile is complete' s.pb.gz 'n > 5'
finish
