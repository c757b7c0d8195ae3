#!/bin/sh
# cprof top: on a terminal (tmux), and as text.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf

# ---- as text

run "$CPROF" top --batch 2 -d 200ms -e cpu-clock --call-graph fp -- "$PROG/spin" 20 2000
is "$status" 0 '--batch 2 ends after two refreshes'
is "$(grep -c '^cprof top' out)" 2 '--batch 2 prints each refresh'
like out 'spin' '--batch prints the hottest function'
like out 'lost [0-9]+ +throttled [0-9]+' '--batch prints the counters of losses'
unlike out "$(printf '\033')" '--batch prints no escape sequences'
run "$CPROF" top --batch 50 -d 100ms --limit 1 -- true
is "$status" 0 '--batch ends with its target'
if [ -x "$PROG/inlinesxx" ]; then
	run "$CPROF" top --batch 1 -d 500ms -e cpu-clock --demangle none -- "$PROG/inlinesxx"
	like out ' _Z[A-Za-z0-9_]+$' '--demangle none: names are mangled'
	run "$CPROF" top --batch 1 -d 500ms -e cpu-clock -- "$PROG/inlinesxx"
	unlike out ' _Z' 'by default names are demangled'
else
	skip '--demangle' 'needs a C++ compiler'
fi
refused 64 'it must be simple, full or none' 'an unknown --demangle' top --demangle nice -- true
refused 64 'is not a time' '--debuginfod-timeout' top --debuginfod-timeout soon -- true
refused 64 'names no file' '--kernel-debug=' top --kernel-debug= -- true
refused 1 'not both a terminal' 'without a terminal: the message says so' top -- true
like err 'batch' 'without a terminal: the message suggests --batch'
refused 64 'not a number' '--batch 0' top --batch 0 -- true
refused 64 'the time must be between' 'an interval that is too short' top -d 1ms -- true
refused 64 'PID' 'no target' top --batch 1

# ---- on a terminal

command -v tmux >/dev/null || {
	skip 'on a terminal' 'needs tmux'
	finish
}
mux() {
	tmux -L "cprof$$" -f /dev/null "$@"
}
at_end "tmux -L cprof$$ kill-server 2>/dev/null"
# The contents of the screen, in the file screen.keep.
screen() {
	mux capture-pane -p -t 0 >screen.keep 2>/dev/null
}
shows() {
	screen && grep -Eq -e "$1" screen.keep
}
shows_not() {
	screen && ! grep -Eq -e "$1" screen.keep
}
# sees REGEX NAME: waits for it
sees() {
	if wait_for 60 shows "$1"; then
		pass "$2"
	else
		fail "$2"
		diag 30 <screen.keep
	fi
}
keys() {
	mux send-keys -t 0 "$@"
}
# shell COLUMNS LOCALE: a terminal with a shell in it, whose prompt is "$ "
shell() {
	mux kill-server 2>/dev/null
	wait_for 60 sh -c "! tmux -L cprof$$ list-sessions"
	mux new-session -d -x "$1" -y 30 "exec env -u NO_COLOR LC_ALL=$2 PS1='ready> ' ENV= sh"
	wait_for 60 shows 'ready>'
	keys -l "stty -a >before.keep; echo kept; cd '$T'" && keys Enter
	wait_for 60 test -s before.keep
	wait_for 60 shows '^kept'
}
top_pid() {
	pgrep -P "$(mux display-message -p -t 0 '#{pane_pid}')" cprof
}
# top ARG...: starts cprof top
start_top() {
	rm -f after.keep status.keep
	keys -l "'$CPROF' top -d 200ms -e cpu-clock --call-graph fp $*; echo \$? >status.keep; stty -a >after.keep"
	keys Enter
}
# The terminal is restored: its modes, its contents, and the cursor.
restored() {
	wait_for 60 test -s after.keep
	if cmp -s before.keep after.keep && wait_for 60 shows '^kept' &&
		[ "$(mux display-message -p -t 0 '#{alternate_on} #{cursor_flag} #{wrap_flag}')" = '0 1 1' ]; then
		pass "$1: the terminal is restored"
	else
		fail "$1: the terminal is restored"
		mux display-message -p -t 0 '#{alternate_on} #{cursor_flag} #{wrap_flag}' | diag
		diff before.keep after.keep | diag
		diag 5 <screen.keep
	fi
}

background "$PROG/threads" 2 1000000000
target=$pid
for columns in 80 200; do
	for locale in C C.UTF-8; do
		shell $columns $locale
		start_top "-p $target"
		sees '%.* thread_work|%.* prog_work' "$columns columns, $locale: functions"
		sees '^cprof top +cpu-clock .*Hz' "$columns columns, $locale: the head"
		is "$(wc -L <screen.keep | awk -v n=$columns '{ print ($1 <= n) }')" 1 "$columns columns, $locale: no line is wider"
		keys q
		restored "$columns columns, $locale, q"
		is "$(cat status.keep)" 0 "$columns columns, $locale: status 0"
	done
done

start_top "-p $target"
sees 'THREAD +\([0-9]+ of' 'the display lists threads'
keys s
sees 'by cum, last' 's: sorts by the next column'
keys h
sees 'zoom into the thread' 'h: lists the keys'
keys h
keys 1
sees 'only thread [0-9]+' '1: zooms into a thread'
tid=$(sed -n 's/^only thread \([0-9]*\).*/\1/p' screen.keep)
keys w
sees "wrote 'cprof-top.1.pb.gz', of this thread" 'w: writes a profile'
check 'w: cprof check accepts the profile' "$CPROF" check cprof-top.1.pb.gz
"$CPROF" report --by tid --csv cprof-top.1.pb.gz >tids.keep
is "$(grep -c "$tid" tids.keep) $(wc -l <tids.keep)" '1 2' 'w: the profile has only that thread'
keys a
wait_for 60 shows_not 'only thread'
keys w
sees "wrote 'cprof-top.2.pb.gz'$|wrote 'cprof-top.2.pb.gz' *$" 'w: a second profile has all threads'
check 'w: cprof check accepts the second profile' "$CPROF" check cprof-top.2.pb.gz
keys Space
sees 'top \[frozen\]' 'space: freezes the display'
keys r
sees 'started again from zero' 'r: resets'
sees '^samples 0 ' 'r: resets all counters'
keys Space
sees '^samples [1-9]' 'space: continues'

mux resize-window -x 60 -y 20 2>/dev/null
sees '^cprof top +cpu-clock' 'after a change of size the display is redrawn'
mux resize-window -x 200 -y 30
wait_for 60 shows 'h help'
keys C-z
restored_line=$(wait_for 60 shows 'Stopped|suspended' && echo yes)
is "$restored_line" yes 'Ctrl-Z: suspends cprof top'
is "$(mux display-message -p -t 0 '#{alternate_on} #{cursor_flag}')" '0 1' \
	'Ctrl-Z: restores the screen'
keys -l fg
keys Enter
sees '^samples [1-9]' 'fg: continues'
keys q
wait_for 60 shows 'ready> *$'
for signal in TERM INT HUP; do
	start_top "-p $target"
	wait_for 60 shows '^samples [1-9]'
	kill "-$signal" "$(top_pid)"
	restored "SIG$signal"
	is "$(cat status.keep)" 0 "SIG$signal: status 0"
done
keys -l 'ulimit -c 0; echo limit''ed' && keys Enter
wait_for 60 shows '^limited'
for signal in SEGV ABRT QUIT; do
	start_top "-p $target"
	wait_for 60 shows '^samples [1-9]'
	kill "-$signal" "$(top_pid)"
	restored "SIG$signal"
	is "$(cat status.keep)" "$((128 + $(kill -l "$signal" 2>/dev/null || "$PYTHON" -c "import signal; print(int(signal.SIG$signal))")))" \
		"SIG$signal: the status is that of the signal"
done

start_top -- "'$PROG/spin'" 20 400
sees 'target has ended' 'a command that ends: the display stays'
keys q
restored 'a command'
start_top -- sh -c "'exec sleep 1000'"
sees 'no samples yet' 'a command that sleeps'
child=$(pgrep -P "$(top_pid)")
keys q
restored 'a command that sleeps'
is "${child:+found} $(kill -0 "$child" 2>/dev/null && echo alive)" "found " \
	"a command that sleeps ends with cprof top"
finish
