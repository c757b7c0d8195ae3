#include "cmd/perfwords.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *command, *word, *instead;
} words[] = {
	{ "", "script", "perf script's text: 'cprof report --folded FILE', or 'cprof convert'" },
	{ "", "annotate", "instructions: 'cprof report --list FUNCTION --disasm FILE'" },
	{ "", "diff", "'cprof report --diff BASE FILE' compares profiles" },
	{ "", "sched", "waits: 'cprof record -e off-cpu', or 'cprof import --waits off-cpu'" },
	{ "", "lock", "waits for locks: 'cprof record -e block --locks'" },
	{ "", "inject", "no such step is needed: 'cprof record' names JIT code itself" },
	{ "report", "-i", "the file needs no option: 'cprof report FILE'" },
	{ "report", "--input", "the file needs no option: 'cprof report FILE'" },
	{ "report", "--stdio", "leave it out: 'cprof report' prints text" },
	{ "report", "--tui", "'cprof report --http' opens the page in a browser" },
	{ "report", "--no-children", "leave it out: flat and cum have columns of their own" },
	{ "report", "--children", "'--sort cum' sorts by the cost with callees" },
	{ "record", "--all-user", "'--user' records user code only" },
	{ "record", "--all-kernel", "'--kernel' records kernel code only" },
	{ "stat", "--all-user", "'--user' counts user code only" },
	{ "stat", "--all-kernel", "'--kernel' counts kernel code only" },
	{ "stat", "-x", "'--json' is for programs" },
	{ "stat", "--field-separator", "'--json' is for programs" },
	{ "stat", "-d", "name the events: -e '{L1-dcache-loads,L1-dcache-load-misses}'" },
	{ "stat", "--detailed", "name the events: -e '{L1-dcache-loads,L1-dcache-load-misses}'" },
	{ "stat", "-I", "'cprof record --timeline' shows when; '--duration 1' counts one second" },
	{ "stat", "--interval-print",
	  "'cprof record --timeline' shows when; '--duration 1' counts one second" },
};

const char *perfwords_instead(const char *command, const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].command, command) == 0 && strcmp(words[i].word, word) == 0)
			return words[i].instead;
	return NULL;
}
