# bash completion for cprof
#
# The options of a command stand between `#options COMMAND` and `#end`; a test
# compares them with what `cprof COMMAND --help` shows.

# The events of the table; behind a slash or colon those of PMUs and tracepoints.
_cprof_events() {
	case $1 in
	*[:/]*) cprof list --search "${1%%[:/]*}" 2>/dev/null ;;
	*) cprof list 2>/dev/null ;;
	esac | awk '/^ / { print $1 }'
}

# The last element of a comma-separated list; the elements before it stay.
_cprof_list() {
	local cur=$1 before=
	shift
	[[ $cur != *,* ]] || before=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "${cur##*,}")
	compopt -o nospace
}

_cprof() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]-} options i word joined="" at=$COMP_CWORD
	COMPREPLY=()
	# bash takes words apart at colons, as in sched:sched_switch
	while ((at > 2)) && [[ ${COMP_WORDS[at]} == : || ${COMP_WORDS[at - 1]} == : ]]; do
		joined=${COMP_WORDS[--at]}$joined
		cur=$joined${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[at - 1]}
	done

	if [[ $COMP_CWORD -eq 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'record top import symbolize check merge convert list doctor report --help --version' -- "$cur")
		return
	fi
	case $command in
	record)
		options='
		#options record
		--event --freq --count --output --pid --tid --all-cpus --cpu --duration --delay --call-graph --max-depth
		--adaptive --scale --user --kernel --no-inherit --scope --label --labels --ring-size --max-memory
		--symbol-timeout --strict --quiet --verbose --json --demangle --no-symbols
		--debuginfod --debuginfod-timeout --kernel-debug --no-cache
		--control --snapshot-signal --switch-output --switch-max-files --last --trigger --exclusive --repeat
		#end
		'
		;;
	top)
		options='
		#options top
		--event --freq --count --pid --tid --all-cpus --cpu --call-graph --max-depth --adaptive --user
		--kernel
		--no-inherit --scope --ring-size --max-memory --symbol-timeout --demangle
		--debuginfod --debuginfod-timeout --kernel-debug --no-cache
		--batch --interval --window --limit --output
		#end
		'
		;;
	list)
		options='
		#options list
		--pmu --search --json
		#end
		'
		;;
	doctor)
		options='
		#options doctor
		--pid --json
		#end
		'
		;;
	import)
		options='
		#options import
		--output --symfs --debug-dir --call-graph --label --labels --max-memory
		--symbol-timeout --quiet --verbose --json --demangle --no-symbols
		--debuginfod --debuginfod-timeout --kernel-debug --no-cache
		#end
		'
		;;
	symbolize)
		options='
		#options symbolize
		--output --symfs --debug-dir --demangle --quiet --verbose
		--symbol-timeout --debuginfod --debuginfod-timeout --no-cache
		#end
		'
		;;
	check)
		options='
		#options check
		--for --quiet --json
		#end
		'
		;;
	merge)
		options='
		#options merge
		--output
		#end
		'
		;;
	convert)
		options='
		#options convert
		--to --from --sample-type --output
		#end
		'
		;;
	report)
		options='
		#options report
		--tree --callee --caller --list --disasm --html --svg --no-source --folded --json --csv --by --sort --limit
		--sample-type --unit --no-pager --focus --ignore --hide --show --tag --keep-dropped
		--diff --per-second --absolute --fail-if
		#end
		'
		;;
	*) return ;;
	esac
	options=${options//#options $command/}
	options=${options//#end/}

	# Behind the first word that is no option begins the command to be recorded.
	if [[ $command == record || $command == top ]]; then
		for ((i = 2; i < at; i++)); do
			word=${COMP_WORDS[i]}
			case $word in
			--)
				((i++))
				break
				;;
			-e | -F | -c | -o | -p | -t | -C | -d | --batch | --interval | --window | --limit | --event | --freq | --count | --output | --pid | --tid | --cpu | \
				--duration | --delay | --call-graph | --max-depth | --scope | --label | --labels | \
				--ring-size | --max-memory | --symbol-timeout | --demangle | --debuginfod-timeout | --control | --switch-max-files | --last | --trigger)
				((i++))
				;;
			-*) ;;
			*) break ;;
			esac
		done
		if ((i < at)) || [[ $prev == -- ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			elif ((i == at)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
	fi

	case $prev in
	-e | --event)
		_cprof_list "$cur" "$(_cprof_events "${cur##*,}")"
		COMPREPLY=("${COMPREPLY[@]#"$joined"}")
		;;
	-p | --pid) _cprof_list "$cur" "$(cd /proc && echo [0-9]*)" ;;
	--scope) mapfile -t COMPREPLY < <(compgen -W 'auto task cpu cgroup' -- "$cur") ;;
	--symfs | --debug-dir)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		;;
	--call-graph) mapfile -t COMPREPLY < <(compgen -W 'auto dwarf fp lbr none' -- "$cur") ;;
	--labels) _cprof_list "$cur" 'pid tid thread_name process_name cpu cgroup stack' ;;
	--demangle) mapfile -t COMPREPLY < <(compgen -W 'none simple full' -- "$cur") ;;
	--sort) mapfile -t COMPREPLY < <(compgen -W 'flat cum' -- "$cur") ;;
	--control) mapfile -t COMPREPLY < <(compgen -W 'fd: fifo:' -- "$cur") ;;
	--switch-max-files | --last | --trigger | \
		-d | --batch | --interval | --window | -F | --freq | -c | --count | -t | --tid | -C | --cpu | --duration | --delay | --max-depth | --label | --ring-size | \
		--debuginfod-timeout | --max-memory | --symbol-timeout | --limit | --sample-type) ;;
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$cur")
		elif [[ ( $command == record || $command == top ) && $prev != -o && $prev != --output ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	esac
}

complete -F _cprof cprof
