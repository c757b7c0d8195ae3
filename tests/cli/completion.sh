#!/bin/sh
# The completions of bash, fish and zsh offer the commands, options and values that exist.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

folder=${CPROF%/*}/completion
PATH="${CPROF%/*}:$PATH"
export PATH

cat >complete.bash.keep <<'END'
source "$1/cprof"
# bash splits words at '=', too
read -ra COMP_WORDS < <(printf '%s ' "${@:2}" | sed 's/=/ = /')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMPREPLY=()
_cprof 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
END
# zsh completes only in a terminal: type a line and a tab; a widget completes the line and prints
# it. The script types nothing before zsh is ready, and never waits for a fixed time.
cat >complete.zsh.keep <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("zsh", ["zsh", "-f"])

def read_until(text, seconds=50):
    out, end = "", time.monotonic() + seconds
    while text not in out and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                out += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                break
    return out

os.write(fd, ("fpath=('%s' $fpath); autoload -U compinit; compinit -u -D; "
              "tell() { zle complete-word; print -r -- \"<GO\"\"T>$BUFFER<EN\"\"D>\" }; zle -N tell; "
              "bindkey '^I' tell; PS1='%%%% '; echo rea''dy\n" % sys.argv[1]).encode())
read_until("ready\r")
os.write(fd, sys.argv[2].encode() + b"\t")
print(read_until("<END>").split("<GOT>")[-1].split("<END>")[0])
os.close(fd)
END
# offers SHELL NAME REGEX WORD...: completes the last word
offers() {
	shell=$1
	name=$2
	regex=$3
	shift 3
	case $shell in
	bash) run bash complete.bash.keep "$folder" "$@" ;;
	fish) run env HOME="$T" fish --no-config -c "source '$folder/cprof.fish'; complete -C '$*'" ;;
	zsh) run "$PYTHON" complete.zsh.keep "$folder" "$*" ;;
	esac
	like out "$regex" "$shell: $name"
}

for shell in bash fish zsh; do
	if ! command -v $shell >/dev/null; then
		skip "$shell" "needs $shell"
		continue
	fi
	offers $shell 'commands' 'record' cprof rec
	offers $shell 'options' '--duration' cprof record --dur
	offers $shell 'options after options' '--call-graph' cprof record -e cpu-clock --call
	offers $shell 'events' 'page-faults' cprof record -e page-f
	offers $shell 'events in a list' 'cpu-clock,page-faults' cprof record -e cpu-clock,page-f
	if [ -r /sys/kernel/tracing/events/sched ]; then
		offers $shell 'tracepoints' 'sched_process_fork' cprof record -e sched:sched_process_fo
	else
		skip "$shell: tracepoints" 'tracefs cannot be read'
	fi
	offers $shell 'options of list' '--search' cprof list --sea
	offers $shell 'fixed words' 'cgroup' cprof record --scope cg
	offers $shell 'values of --call-graph' 'lbr' cprof record --call-graph lb
	offers $shell 'values of --to' 'speedscope' cprof convert --to spee
	offers $shell 'values of --from' 'script' cprof convert --from scr
	offers $shell 'values of --by' 'module' cprof report --by modu
	offers $shell 'values of --sort' 'cum' cprof report --sort cu
	offers $shell 'a list of values' 'pid,thread_name' cprof record --labels pid,thread
	offers $shell 'an optional value' 'auto' cprof record --debuginfod=au
	offers $shell 'commands to record after options' 'printenv' cprof record --strict printen
	offers $shell 'commands to record' 'printenv' cprof record printen
	offers $shell 'options of import' '--symfs' cprof import --symf
	offers $shell 'options of symbolize' '--debug-dir' cprof symbolize --debug-d
	offers $shell 'options of report' '--limit' cprof report --lim
done
finish
