#!/bin/sh
# The examples of how cprof agent is started: they are valid, and the privileges that they give suffice.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
units=$CPROF_BUILD_ROOT/cmd
system=$CPROF_SOURCE_ROOT/cmd/agent/system
examples() {
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/agentunits.py" "$@"
}

# ---- what reads them ----
if command -v systemd-analyze >/dev/null; then
	for unit in cprof-agent cprof-push; do
		# Here the program and the manual are not where they will be installed.
		sed "s|^\(ExecStart=\)[^ ]*|\1$CPROF|; /^Documentation=/d" "$units/$unit.service" >"$unit.service"
		run systemd-analyze verify "./$unit.service"
		is "$status" 0 "$unit.service: systemd takes it"
		is "$(grep -c . err)" 0 "$unit.service: it warns of nothing"
	done
	# In tenths; a service without restrictions has 96.
	check 'the recorder is confined' systemd-analyze security --offline=true --threshold=33 ./cprof-agent.service
	check 'the pusher is confined' systemd-analyze security --offline=true --threshold=18 ./cprof-push.service
else
	skip 'systemd takes the units' 'systemd-analyze is not installed'
fi
if "$PYTHON" -c 'import yaml' 2>/dev/null; then
	check 'the DaemonSet: its fields exist, and each privilege is explained' examples yaml "$system/kubernetes.yaml"
	check 'the capabilities are the same in the unit, the DaemonSet and the manual' \
		examples agree "$units/cprof-agent.service" "$system/kubernetes.yaml" "$CPROF_SOURCE_ROOT/man/cprof-agent.1"
	examples command "$system/kubernetes.yaml" pusher >pusher.txt
	is "$(sed -n 1,2p pusher.txt | tr '\n' ' ')" 'cprof push ' 'the pusher is cprof push'
else
	skip 'the DaemonSet' 'python3-yaml is not installed'
fi
check 'cprof-agent.conf is right' "$CPROF" agent -c "$system/cprof-agent.conf" -s spool="$T/conf.keep" --check

# ---- their privileges ----
capabilities=$(examples capabilities "$units/cprof-agent.service")
# confined COMMAND...: with the capabilities of the unit, and no others
confined() {
	setpriv --bounding-set="-all,$capabilities" --inh-caps="-all,$capabilities" --no-new-privs "$@"
}
if ! is_root || ! confined true 2>/dev/null; then
	skip 'the recorder with the capabilities of its unit' 'needs root'
	finish
fi
chmod 755 "$T"
mkdir -m 700 hidden.keep
cp "$PROG/spin" hidden.keep/theirs
chown -R 65534:65534 hidden.keep
group=$(stat -c %G hidden.keep)
background setpriv --reuid=65534 --regid=65534 --clear-groups "$T/hidden.keep/theirs" 2 1000000
background env --default-signal=INT,TERM setpriv --bounding-set="-all,$capabilities" --inh-caps="-all,$capabilities" \
	--no-new-privs "$CPROF" agent -s spool="$T/spool.keep" -s spool-group="$group" -s window=1s -s rate=97 2>agent.err
agent=$pid
has_windows() {
	[ "$(sed -n 's/^windows=//p' spool.keep/lost 2>/dev/null)" -ge "$1" ] 2>/dev/null
}
wait_for 60 has_windows 3 || fail 'three windows are written'
is "$(stat -c '%a %G' spool.keep)" "2770 $group" 'the spool belongs to the group of the pusher'
check 'the pusher can read it' setpriv --reuid=65533 --regid=65534 --clear-groups \
	sh -c 'cat spool.keep/*.pb.gz >/dev/null'
kill -TERM "$agent"
wait "$agent"
is "$?" 0 'SIGTERM: status 0'
is "$(grep -v recording agent.err)" '' 'nothing is missing'
check 'programs that only their owner can read have names, and so does the kernel' \
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/agentspool.py" spool.keep 'lost["windows_failed"] == 0' \
	'all(p["view"].cum("spin_leaf") > 0.8 for p in profiles if p["service"] == "theirs")' \
	'any(p["service"] == "theirs" for p in profiles)' \
	'any(p["view"].anywhere("^(asm_|entry_|do_syscall|__x64_sys|el0_)") > 0 for p in profiles)'
finish
