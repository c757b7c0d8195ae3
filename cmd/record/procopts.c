/* Processes are looked up when the option is parsed. */
#include "cmd/record/procopts.h"

#include "base/err.h"
#include "base/host.h"
#include "cmd/cmd.h"
#include "cmd/printable.h"
#include "cmd/record/findprocs.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name that so many processes have is reported with their ids. */
#define MATCHES_MANY 8u

static bool is_id(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static void add_id(struct findprocs_ids *ids, struct argp_state *state, const char *text)
{
	errno = 0;
	long id = strtol(text, NULL, 10);
	if (errno || id <= 0 || id > INT32_MAX)
		argp_error(state, "'%s' is not the id of a process", text);
	if (!VEC_PUSH(&ids->pids, (pid_t)id))
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
}

static void print_matches(const struct findprocs_ids *ids, const struct argp_state *state,
			  const char *name, size_t from)
{
	size_t n = ids->pids.n - from;
	if (n <= MATCHES_MANY)
		return;
	fprintf(stderr, "%s: %zu processes have the name '", state->name, n);
	printable_text(stderr, name);
	fputs("':", stderr);
	for (size_t i = from; i < ids->pids.n; i++)
		fprintf(stderr, " %d", (int)ids->pids.v[i]);
	fputc('\n', stderr);
}

/* Reads the list of processes and applies one of the two functions of findprocs. */
static void find_processes(struct findprocs_ids *ids, struct argp_state *state, const char *name)
{
	struct host h = { .fd = { -1, -1, -1 } };
	struct findprocs f = { 0 };
	struct err e = { 0 };
	if (host_open(&h, NULL, NULL, NULL, &e) < 0 || findprocs_read(&f, &h, &e) < 0)
		argp_failure(state, CMD_FAILED, 0, "%s", e.what);
	bool ok = name ? findprocs_add_named(&f, name, getpid(), geteuid(), ids) :
			 findprocs_add_children(&f, ids);
	findprocs_done(&f);
	host_close(&h);
	if (!ok)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot find processes");
}

static void add_name(struct findprocs_ids *ids, struct argp_state *state, const char *name)
{
	size_t from = ids->pids.n;
	find_processes(ids, state, name);
	if (ids->pids.n == from)
		argp_failure(state, CMD_FAILED, 0, "no process has the name '%s': 'ps -e' lists "
			     "them", name);
	print_matches(ids, state, name, from);
}

/* What pgrep has printed may have ended meanwhile, which is no reason to record nothing. */
void procopts_drop_ended(struct findprocs_ids *ids, const struct argp_state *state)
{
	struct host h = { .fd = { -1, -1, -1 } };
	struct findprocs_ids ended = { 0 };
	struct err e = { 0 };
	if (ids->pids.n < 2)
		return;
	if (host_open(&h, NULL, NULL, NULL, &e) < 0)
		argp_failure(state, CMD_FAILED, 0, "%s", e.what);
	if (!findprocs_drop_ended(&h, ids, &ended))
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot check the processes");
	host_close(&h);
	for (size_t i = 0; i < ended.pids.n; i++)
		fprintf(stderr, "%s: process %d does not exist or has ended; it is left out\n",
			state->name, (int)ended.pids.v[i]);
	VEC_FREE(&ended.pids);
}

/* Ids and names, separated as pidof and pgrep print them or by commas. */
void procopts_parse(struct findprocs_ids *ids, struct argp_state *state, const char *arg)
{
	static const char separators[] = ", \t\n";
	char *copy = strdup(arg), *rest = NULL;
	if (!copy)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	char *word = copy ? strtok_r(copy, separators, &rest) : NULL;
	/* In -p $(pidof NAME) without such a process, the next option is the argument. */
	if (!word || word[0] == '-')
		argp_error(state, "-p needs ids or names of processes, not '%s'; pidof and pgrep "
			   "print nothing if they find none", arg);
	for (; word; word = strtok_r(NULL, separators, &rest))
		if (is_id(word))
			add_id(ids, state, word);
		else
			add_name(ids, state, word);
	free(copy);
}

bool procopts_take_word(struct findprocs_ids *ids, struct argp_state *state, const char *word)
{
	if (!ids->pids.n || state->quoted || !is_id(word))
		return false;
	add_id(ids, state, word);
	return true;
}

void procopts_add_children(struct findprocs_ids *ids, struct argp_state *state)
{
	find_processes(ids, state, NULL);
}
