#include "cmd/labelopt.h"

#include "base/vec.h"
#include "cmd/cmd.h"
#include "cprof.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct { const char *name; unsigned bit; } names[] = {
	{ "pid", CPROF_LABEL_PID }, { "tid", CPROF_LABEL_TID },
	{ "thread_name", CPROF_LABEL_THREAD_NAME },
	{ "process_name", CPROF_LABEL_PROCESS_NAME }, { "cpu", CPROF_LABEL_CPU },
	{ "cgroup", CPROF_LABEL_CGROUP }, { "stack", CPROF_LABEL_STACK },
};
#define N_NAMES (sizeof(names) / sizeof(*names))

static void refuse(struct argp_state *state, const char *name, size_t n, unsigned known)
{
	char list[128] = "";
	for (size_t i = 0; i < N_NAMES; i++) {
		size_t at = strlen(list);
		if (names[i].bit & known)
			snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
				 names[i].name);
	}
	argp_error(state, "no built-in label '%.*s': they are %s", (int)n, name, list);
}

unsigned labelopt_parse(struct argp_state *state, const char *arg, unsigned known)
{
	unsigned bits = 0;
	if (strcmp(arg, "none") == 0)
		return 0;
	for (const char *p = arg;; p++) {
		size_t n = strcspn(p, ","), i = 0;
		while (i < N_NAMES && (!(names[i].bit & known) || strlen(names[i].name) != n ||
				       strncmp(p, names[i].name, n) != 0))
			i++;
		if (i == N_NAMES)
			refuse(state, p, n, known);
		else
			bits |= names[i].bit;
		p += n;
		if (!*p)
			return bits;
	}
}

void labelopt_add(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		  size_t *cap)
{
	if (!strchr(arg, '=') || arg[0] == '=')
		argp_error(state, "--label '%s' is not KEY=VALUE", arg);
	if (!vec_grow((void **)v, cap, *n, 1, sizeof(**v)))
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	(*v)[(*n)++] = arg;
}
