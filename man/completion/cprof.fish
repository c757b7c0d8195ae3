# fish completion for cprof
#
# A test compares the options of each command with what `cprof COMMAND --help`
# shows.

function __cprof_using
	set -l words (commandline -opc)
	test (count $words) -ge 2; and test "$words[2]" = $argv[1]
end

function __cprof_no_command
	test (count (commandline -opc)) -eq 1
end

# The events of the table; behind a slash or colon those of PMUs and tracepoints.
function __cprof_events
	set -l word (commandline -ct | string split , | tail -n 1)
	if string match -qr '[:/]' -- $word
		cprof list --search (string replace -r '[:/].*' '' -- $word) 2>/dev/null | string match -r '^ +\S+' | string trim
	else
		cprof list 2>/dev/null | string match -r '^ +\S+' | string trim
	end
end

function __cprof_pmus
	cprof list --pmu 2>/dev/null | string match -r '^ +\S+' | string trim
end

complete -c cprof -f
complete -c cprof -n __cprof_no_command -a record -d 'profile a program into a pprof file'
complete -c cprof -n __cprof_no_command -a check -d 'say what readers of pprof files would reject or lose'
complete -c cprof -n __cprof_no_command -a symbolize -d 'give a profile the names that it lacks'
complete -c cprof -n __cprof_no_command -a import -d 'make profiles of what perf has recorded'
complete -c cprof -n __cprof_no_command -a list -d 'show the events and what can be done with them'
complete -c cprof -n __cprof_no_command -a doctor -d 'find out what works here, and what would help'
complete -c cprof -n __cprof_no_command -a top -d 'show live which functions cost most'
complete -c cprof -n __cprof_no_command -a merge -d 'make one profile of several'
complete -c cprof -n __cprof_no_command -a convert -d 'turn profiles into other formats and back'
complete -c cprof -n __cprof_no_command -a report -d 'show where a profile goes, or compare two'
complete -c cprof -n __cprof_no_command -l help -d 'show help'
complete -c cprof -n __cprof_no_command -l version -d 'show the version'

complete -c cprof -n '__cprof_using record' -s e -l event -x -a '(__fish_append , (__cprof_events))' -d 'events to sample'
complete -c cprof -n '__cprof_using record' -s F -l freq -x -d 'samples per second'
complete -c cprof -n '__cprof_using record' -s c -l count -x -d 'events per sample'
complete -c cprof -n '__cprof_using record' -s o -l output -r -F -d 'file to write'
complete -c cprof -n '__cprof_using record' -s p -l pid -x -a '(__fish_append , (__fish_complete_pids))' -d 'processes to attach to'
complete -c cprof -n '__cprof_using record' -s t -l tid -x -d 'threads to attach to'
complete -c cprof -n '__cprof_using record' -s a -l all-cpus -d 'all processes of the machine'
complete -c cprof -n '__cprof_using record' -s C -l cpu -x -d 'all processes on these CPUs'
complete -c cprof -n '__cprof_using record' -l duration -x -d 'stop after this time'
complete -c cprof -n '__cprof_using record' -l delay -x -d 'start after this time'
complete -c cprof -n '__cprof_using record' -l control -x -a 'fd: fifo:' -d 'take commands from there'
complete -c cprof -n '__cprof_using record' -l snapshot-signal -d 'write the profile so far at a signal'
complete -c cprof -n '__cprof_using record' -l switch-output -d 'begin a new file'
complete -c cprof -n '__cprof_using record' -l switch-max-files -x -d 'keep so many files'
complete -c cprof -n '__cprof_using record' -l repeat -x -d 'so many runs of the command'
complete -c cprof -n '__cprof_using record' -l exclusive -d 'one such recording at a time'
complete -c cprof -n '__cprof_using record' -l last -x -d 'keep only this time'
complete -c cprof -n '__cprof_using record' -l trigger -x -d 'write when a condition holds'
complete -c cprof -n '__cprof_using record' -l adaptive -d 'halve a rate that is too high'
complete -c cprof -n '__cprof_using record' -l scale -d 'scale events that took turns'
complete -c cprof -n '__cprof_using record' -l call-graph -x -a 'auto dwarf fp lbr none' -d 'how to walk user stacks'
complete -c cprof -n '__cprof_using record' -l max-depth -x -d 'frames to keep of a stack'
complete -c cprof -n '__cprof_using record' -l user -d 'user code only'
complete -c cprof -n '__cprof_using record' -l kernel -d 'kernel code only'
complete -c cprof -n '__cprof_using record' -l no-inherit -d 'leave out threads and children made later'
complete -c cprof -n '__cprof_using record' -l scope -x -a 'auto task cpu cgroup' -d 'what the events are opened on'
complete -c cprof -n '__cprof_using record' -l label -x -d 'a label KEY=VALUE on every sample'
complete -c cprof -n '__cprof_using record' -l labels -x -a '(__fish_append , pid tid thread_name process_name cpu cgroup stack)' -d 'which built-in labels to write'
complete -c cprof -n '__cprof_using record' -l ring-size -x -d 'size of the ring of each cpu'
complete -c cprof -n '__cprof_using record' -l max-memory -x -d 'budget for everything else'
complete -c cprof -n '__cprof_using record' -l symbol-timeout -x -d 'longest time for one debug file'
complete -c cprof -n '__cprof_using record' -l strict -d 'status 2 when anything was lost'
complete -c cprof -n '__cprof_using record' -s q -l quiet -d 'no summary'
complete -c cprof -n '__cprof_using record' -s v -l verbose -d 'explain'
complete -c cprof -n '__cprof_using record' -l json -d 'summary as JSON on stdout'
complete -c cprof -n '__cprof_using record' -l demangle -x -a 'none simple full' -d 'how mangled names are shown'
complete -c cprof -n '__cprof_using record' -l debuginfod -d 'fetch debug files from servers'
complete -c cprof -n '__cprof_using record' -l debuginfod-timeout -x -d 'for all files together'
complete -c cprof -n '__cprof_using record' -l no-cache -d 'use and keep no files below ~/.cache/cprof'
complete -c cprof -n '__cprof_using record' -l kernel-debug -d 'inlined calls and lines of the kernel'
complete -c cprof -n '__cprof_using record' -l no-symbols -d 'leave names of files to cprof symbolize'
complete -c cprof -n '__cprof_using record' -a '(__fish_complete_subcommand --fcs-skip=2)'

complete -c cprof -n '__cprof_using import' -s o -l output -r -F -d 'file to write'
complete -c cprof -n '__cprof_using import' -l symfs -x -a '(__fish_complete_directories)' -d 'where the recorded files lie'
complete -c cprof -n '__cprof_using import' -l debug-dir -x -a '(__fish_complete_directories)' -d 'where files lie by build id'
complete -c cprof -n '__cprof_using import' -l call-graph -x -a 'auto dwarf fp lbr none' -d 'which stacks to take'
complete -c cprof -n '__cprof_using import' -l label -x -d 'a label KEY=VALUE on every sample'
complete -c cprof -n '__cprof_using import' -l labels -x -a '(__fish_append , pid tid thread_name process_name cpu stack)' -d 'which built-in labels to write'
complete -c cprof -n '__cprof_using import' -l max-memory -x -d 'memory for the profile'
complete -c cprof -n '__cprof_using import' -l symbol-timeout -x -d 'longest time for one debug file'
complete -c cprof -n '__cprof_using import' -s q -l quiet -d 'no summary'
complete -c cprof -n '__cprof_using import' -s v -l verbose -d 'explain'
complete -c cprof -n '__cprof_using import' -l json -d 'summary as JSON on stdout'
complete -c cprof -n '__cprof_using import' -l demangle -x -a 'none simple full' -d 'how mangled names are shown'
complete -c cprof -n '__cprof_using import' -l debuginfod -d 'fetch debug files from servers'
complete -c cprof -n '__cprof_using import' -l debuginfod-timeout -x -d 'for all files together'
complete -c cprof -n '__cprof_using import' -l no-cache -d 'use and keep no files below ~/.cache/cprof'
complete -c cprof -n '__cprof_using import' -l kernel-debug -d 'inlined calls and lines of the kernel'
complete -c cprof -n '__cprof_using import' -l no-symbols -d 'leave names of files to cprof symbolize'
complete -c cprof -n '__cprof_using import' -F

complete -c cprof -n '__cprof_using symbolize' -s o -l output -r -F -d 'file to write'
complete -c cprof -n '__cprof_using symbolize' -l symfs -x -a '(__fish_complete_directories)' -d 'where the recorded files lie'
complete -c cprof -n '__cprof_using symbolize' -l debug-dir -x -a '(__fish_complete_directories)' -d 'where files lie by build id'
complete -c cprof -n '__cprof_using symbolize' -l symbol-timeout -x -d 'longest time for one debug file'
complete -c cprof -n '__cprof_using symbolize' -l demangle -x -a 'none simple full' -d 'how mangled names are shown'
complete -c cprof -n '__cprof_using symbolize' -l debuginfod -d 'fetch debug files from servers'
complete -c cprof -n '__cprof_using symbolize' -l debuginfod-timeout -x -d 'for all files together'
complete -c cprof -n '__cprof_using symbolize' -l no-cache -d 'use and keep no files below ~/.cache/cprof'
complete -c cprof -n '__cprof_using symbolize' -s q -l quiet -d 'no summary'
complete -c cprof -n '__cprof_using symbolize' -s v -l verbose -d 'explain'
complete -c cprof -n '__cprof_using symbolize' -F

complete -c cprof -n '__cprof_using merge' -s o -l output -r -F -d 'file to write'
complete -c cprof -n '__cprof_using merge' -F

complete -c cprof -n '__cprof_using convert' -l to -x -a 'folded speedscope chrome firefox pprof' -d 'what to write'
complete -c cprof -n '__cprof_using convert' -l from -x -a 'pprof folded script' -d 'what is read'
complete -c cprof -n '__cprof_using convert' -l sample-type -x -d 'which values to take'
complete -c cprof -n '__cprof_using convert' -s o -l output -r -F -d 'file to write'
complete -c cprof -n '__cprof_using convert' -F

complete -c cprof -n '__cprof_using list' -l pmu -a '(__cprof_pmus)' -d 'the PMUs, or the events of one'
complete -c cprof -n '__cprof_using list' -l search -x -d 'events with a word in name or description'
complete -c cprof -n '__cprof_using list' -l json -d 'as JSON'

complete -c cprof -n '__cprof_using report' -l tree -d 'tree of calls'
complete -c cprof -n '__cprof_using report' -l callee -x -d 'what a function calls'
complete -c cprof -n '__cprof_using report' -l caller -x -d 'who calls a function'
complete -c cprof -n '__cprof_using report' -l list -x -d 'source of functions'
complete -c cprof -n '__cprof_using report' -l disasm -d 'instructions of functions'
complete -c cprof -n '__cprof_using report' -l html -r -F -d 'write a page for a browser'
complete -c cprof -n '__cprof_using report' -l svg -r -F -d 'write a still flame graph'
complete -c cprof -n '__cprof_using report' -l no-source -d 'no source text in the page'
complete -c cprof -n '__cprof_using report' -l folded -d 'one line for each stack'
complete -c cprof -n '__cprof_using report' -l json -d 'as JSON'
complete -c cprof -n '__cprof_using report' -l csv -d 'as comma separated values'
complete -c cprof -n '__cprof_using report' -l by -x -a 'function line file module thread' -d 'what a row is'
complete -c cprof -n '__cprof_using report' -l sort -x -a 'flat cum name' -d 'order'
complete -c cprof -n '__cprof_using report' -l limit -x -d 'number of rows to show'
complete -c cprof -n '__cprof_using report' -l sample-type -x -d 'which values to show'
complete -c cprof -n '__cprof_using report' -l unit -x -a 'ns us ms s hrs B kB MB GB' -d 'unit of values'
complete -c cprof -n '__cprof_using report' -l no-pager -d 'never start a pager'
complete -c cprof -n '__cprof_using report' -l focus -x -d 'only stacks with a matching frame'
complete -c cprof -n '__cprof_using report' -l ignore -x -d 'no stacks with a matching frame'
complete -c cprof -n '__cprof_using report' -l hide -x -d 'leave matching frames out'
complete -c cprof -n '__cprof_using report' -l show -x -d 'leave other frames out'
complete -c cprof -n '__cprof_using report' -l tag -x -d 'only samples with a label'
complete -c cprof -n '__cprof_using report' -l keep-dropped -d 'show dropped frames, too'
complete -c cprof -n '__cprof_using report' -l diff -r -F -d 'compare with a profile'
complete -c cprof -n '__cprof_using report' -l per-second -d 'compare values per second'
complete -c cprof -n '__cprof_using report' -l absolute -d 'compare values as they are'
complete -c cprof -n '__cprof_using report' -l fail-if -x -d 'end with status 3 if this holds'
complete -c cprof -n '__cprof_using report' -F

complete -c cprof -n '__cprof_using doctor' -s p -l pid -x -a '(__fish_complete_pids)' -d 'a process to examine'
complete -c cprof -n '__cprof_using doctor' -l json -d 'one JSON object'

complete -c cprof -n '__cprof_using check' -l for -x -a 'pprof parca pyroscope speedscope' -d 'only what concerns these readers'
complete -c cprof -n '__cprof_using check' -s q -l quiet -d 'print nothing'
complete -c cprof -n '__cprof_using check' -l json -d 'print findings as JSON'
complete -c cprof -n '__cprof_using check' -F

complete -c cprof -n '__cprof_using top' -s e -l event -x -a '(__fish_append , (__cprof_events))' -d 'events to sample'
complete -c cprof -n '__cprof_using top' -s F -l freq -x -d 'samples per second'
complete -c cprof -n '__cprof_using top' -s c -l count -x -d 'events per sample'
complete -c cprof -n '__cprof_using top' -s p -l pid -x -a '(__fish_append , (__fish_complete_pids))' -d 'processes to attach to'
complete -c cprof -n '__cprof_using top' -s t -l tid -x -d 'threads to attach to'
complete -c cprof -n '__cprof_using top' -s a -l all-cpus -d 'all processes of the machine'
complete -c cprof -n '__cprof_using top' -s C -l cpu -x -d 'all processes on these CPUs'
complete -c cprof -n '__cprof_using top' -l adaptive -d 'halve a rate that is too high'
complete -c cprof -n '__cprof_using top' -l call-graph -x -a 'auto dwarf fp lbr none' -d 'how to walk user stacks'
complete -c cprof -n '__cprof_using top' -l max-depth -x -d 'frames to keep of a stack'
complete -c cprof -n '__cprof_using top' -l user -d 'user code only'
complete -c cprof -n '__cprof_using top' -l kernel -d 'kernel code only'
complete -c cprof -n '__cprof_using top' -l no-inherit -d 'leave out threads and children made later'
complete -c cprof -n '__cprof_using top' -l scope -x -a 'auto task cpu cgroup' -d 'what the events are opened on'
complete -c cprof -n '__cprof_using top' -l ring-size -x -d 'size of the ring of each cpu'
complete -c cprof -n '__cprof_using top' -l max-memory -x -d 'budget for everything else'
complete -c cprof -n '__cprof_using top' -l symbol-timeout -x -d 'longest time for one debug file'
complete -c cprof -n '__cprof_using top' -l demangle -x -a 'none simple full' -d 'how mangled names are shown'
complete -c cprof -n '__cprof_using top' -l debuginfod -d 'fetch debug files from servers'
complete -c cprof -n '__cprof_using top' -l debuginfod-timeout -x -d 'for all files together'
complete -c cprof -n '__cprof_using top' -l no-cache -d 'use and keep no files below ~/.cache/cprof'
complete -c cprof -n '__cprof_using top' -l kernel-debug -d 'inlined calls and lines of the kernel'
complete -c cprof -n '__cprof_using top' -l batch -x -d 'print so many refreshes as text'
complete -c cprof -n '__cprof_using top' -s d -l interval -x -d 'time between refreshes'
complete -c cprof -n '__cprof_using top' -l window -x -d 'how long the last seconds are'
complete -c cprof -n '__cprof_using top' -l limit -x -d 'functions to show'
complete -c cprof -n '__cprof_using top' -s o -l output -r -F -d 'file that the key w writes'
