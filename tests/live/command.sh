#!/bin/sh
# record -- COMMAND: the command runs as if cprof were absent.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

run "$CPROF" record -e cpu-clock -o s.pb.gz -- sh -c "'$PROG/spin' 1 100 >/dev/null; exit 7"
is "$status" 7 'the exit status of the command is passed on'
profile 'a command that fails: its profile is written' s.pb.gz "cum('spin_leaf') > 0.3"
run "$CPROF" record -e cpu-clock -o s.pb.gz -- sh -c "'$PROG/spin' 1 100; kill -TERM \$\$"
is "$status" 143 'a command killed by a signal: the status is 128 + signal, as in a shell'
like err "was killed by signal 15 \\(Terminated\\)" \
	'a command killed by a signal: cprof reports the signal'

echo 'in and out' | "$CPROF" record -q -e cpu-clock -o s.pb.gz -- \
	sh -c "cat; echo aside >&2; '$PROG/spin' 1 200 >/dev/null" >out 2>err
is "$(cat out)" 'in and out' 'the command inherits stdin and stdout'
like err '^aside$' 'the command inherits stderr'

# One sample a minute: there is none.
run "$CPROF" record -e cpu-clock -c 60000000000 -o none.pb.gz -- sh -c 'exit 7'
is "$status" 7 'a command without samples: its exit status is passed on'
like err 'no sample' 'a command without samples: cprof says so'
run "$CPROF" record -e cpu-clock -c 60000000000 -o none.pb.gz -- true
is "$status" 0 'a command that succeeds without samples'
run "$CPROF" record --strict -e cpu-clock -c 60000000000 -o none.pb.gz -- true
is "$status" 1 'a command without samples: --strict fails'
rm -f s.pb.gz
run "$CPROF" record -e cpu-clock -F max ls -l --nosuchoption
is "$status" 2 'options after the command belong to the command'
like err 'nosuchoption' 'options after the command: the message is that of the command'
rm -f ./*.pb.gz

run "$CPROF" record -e cpu-clock -o none.pb.gz -- ./no-such-command
is "$status" 127 'command not found: status 127'
like err "no-such-command.*: (no such file|not found)" 'command not found: says so'
no_files 'command not found: no file'
echo x >plain.keep
run "$CPROF" record -e cpu-clock -o none.pb.gz -- ./plain.keep
is "$status" 126 'command not executable: status 126'
like err "plain.keep.*permission denied" 'command not executable: says so'
no_files 'command not executable: no file'
mkdir folder.keep
run "$CPROF" record -e cpu-clock -o none.pb.gz -- ./folder.keep
is "$status" 126 'a folder is not a command'
no_files 'a folder: no file'
rmdir folder.keep
printf '#!/no/such/interpreter\n' >script.keep
chmod +x script.keep
run "$CPROF" record -e cpu-clock -o none.pb.gz -- ./script.keep
is "$status" 127 'a script without its interpreter: status 127'
no_files 'a script without its interpreter: no file'
run "$CPROF" record -e cpu-clock -o none.pb.gz -- no-such-command-in-path
is "$status" 127 'a command that is not in PATH: status 127'

# Events start at exec, so cprof itself is not in the profile.
run "$CPROF" record -e cpu-clock -F 20000 --labels process_name -o x.pb.gz -- "$PROG/spin" 1 300
profile 'the profile has no samples of cprof itself' x.pb.gz \
	"labels('process_name') == {'spin'}" "not any('cprof' in m.file for m in p.mappings.values())"

# The command has the same signals and descriptors as without cprof.
cat >state.py.keep <<'END'
import os, signal
print("blocked", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
print("ignored", [s for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN])
print("files", sorted(int(x) for x in os.listdir("/proc/self/fd"))[:-1])
print("nofile", __import__("resource").getrlimit(__import__("resource").RLIMIT_NOFILE))
print("scheduler", os.sched_getscheduler(0), os.nice(0))
print("group", os.getpgid(0) == os.getpgid(os.getppid()))
END
/usr/bin/python3 state.py.keep | grep -v group >bare.keep
run "$CPROF" record -q -e cpu-clock -o state.pb.gz -- /usr/bin/python3 state.py.keep
grep -v group out >state.keep
check 'signals, descriptors, limits and priority of the command are as without cprof' \
	diff bare.keep state.keep

# exec is followed, and the profile names both
run "$CPROF" record -e cpu-clock -o e.pb.gz --labels process_name -- sh -c "exec '$PROG/serial' 100"
profile 'after exec the new program is recorded and named' e.pb.gz \
	"cum('A') > 0.9" "'serial' in labels('process_name')" \
	"p.mappings[1].file.endswith('/serial') or p.mappings[1].file.endswith('sh')"

# While execve frees the old program's memory, its stack is gone, which is not a loss. If the thread
# had a sample earlier in the same call, the stack is joined to that of the earlier sample.
gone() {
	run "$CPROF" record --json -q -e cpu-clock -F 10000 -o gone.pb.gz -- \
		/usr/bin/python3 -c "$again" 4
	is "$status" 0 'execs that free much memory: recorded'
	mv out gone.keep
	"$CPROF" report --folded --sample-type samples gone.pb.gz >folded.keep
	check 'execs that free much memory: truncated stacks are counted as such' "$PYTHON" -c '
import json
j = json.load(open("gone.keep"))
gone, losses = j["stack_ends"]["no stack"], j["losses"]
lines = [x.rsplit(" ", 1) for x in open("folded.keep") if ";begin_new_exec;" in x]
n = sum(int(samples) for stack, samples in lines)
cut = sum(int(samples) for stack, samples in lines if stack.startswith("[truncated]"))
assert n > 4 and cut <= gone and gone <= losses["cut"], (n, cut, gone, losses)'
}
again='
import os, sys
keep, n = [bytes(3000) for i in range(40000)], int(sys.argv[1])
again = ["/usr/bin/python3", "-c", open("/proc/self/cmdline").read().split("\0")[2], str(n - 1)]
os.execv(*(("/usr/bin/python3", again) if n else ("/bin/true", ["true"])))'
if is_root; then
	attempts 3 gone
else
	skip 'execs that free much memory' 'only root samples the kernel'
fi

# The recording ends with the command, not with its remaining children.
run timeout 100 "$CPROF" record -e cpu-clock -o left.pb.gz -- \
	sh -c "'$PROG/sleeper' 1000000 >/dev/null 2>&1 & echo \$! >sleeper.keep; '$PROG/spin' 1 200"
is "$status" 0 'a command that leaves a process behind: recorded'
check 'a command that leaves a process behind: the recording ends with the command' \
	kill "$(cat sleeper.keep)"

# A command stopped and continued.
start_cprof record -e cpu-clock -o stop.pb.gz -- "$PROG/spin" 2 3000
child=$(cat /proc/"$cprof_pid"/task/*/children | cut -d' ' -f1)
kill -STOP "$child"
sleep 0.3
kill -CONT "$child"
end_cprof
is "$status" 0 'a command that is stopped and continued: recorded'
profile 'a command that is stopped and continued: the profile is complete' stop.pb.gz \
	"cum('spin_leaf') > 0.9"
finish
