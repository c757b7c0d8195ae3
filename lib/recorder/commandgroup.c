/*
 * The group is created before the command is forked, which then starts in it (CLONE_INTO_CGROUP).
 * Moving a process takes 15 ms: the kernel waits until no other process is being forked.
 */

#include "recorder/commandgroup.h"

#include "base/host.h"
#include "cprof.h"
#include "event/evopen.h"

#include <stdlib.h>
#include <unistd.h>

static const char *create(struct cgroup *g, const struct host *h, enum cprof_scope scope)
{
	const struct evopen open = { .fn = evopen_syscall, .host = h };
	const char *why_not = evopen_why_not_cpus(&open);
	if (why_not)
		return why_not;
	int r = cgroup_create(g, h, getpid(), scope == CPROF_SCOPE_CGROUP);
	return r < 0 ? cgroup_why_not(r) : NULL;
}

struct cprof_cgroup *cprof_cgroup_new(enum cprof_scope scope)
{
	struct host h;
	struct cprof_cgroup *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->group = (struct cgroup){ .fd = -1, .parent_fd = -1 };
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0) {
		g->why_not = "the directories of the machine cannot be opened";
		return g;
	}
	g->why_not = create(&g->group, &h, scope);
	host_close(&h);
	return g;
}

int cprof_cgroup_fd(const struct cprof_cgroup *g)
{
	return g ? g->group.fd : -1;
}

void cprof_cgroup_free(struct cprof_cgroup *g)
{
	if (!g)
		return;
	struct host h;
	if (g->group.fd >= 0 && host_open(&h, NULL, NULL, NULL, NULL) == 0) {
		cgroup_remove(&g->group, &h);
		host_close(&h);
	}
	free(g);
}

const struct cgroup *commandgroup_of(const struct cprof_cgroup *g, pid_t command_pid,
				     const char **ret_why_not)
{
	*ret_why_not = g ? g->why_not : NULL;
	if (!g || g->why_not)
		return NULL;
	if (cgroup_has(&g->group, command_pid))
		return &g->group;
	*ret_why_not = "the command could not be started in a cgroup";
	return NULL;
}
