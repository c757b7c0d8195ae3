#include "cmd/nofile.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit original;
static bool is_raised;

void nofile_raise(void)
{
	struct rlimit limit;
	if (is_raised || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	original = limit;
	limit.rlim_cur = limit.rlim_max;
	is_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void nofile_restore(void)
{
	if (is_raised)
		is_raised = setrlimit(RLIMIT_NOFILE, &original) < 0;
}
