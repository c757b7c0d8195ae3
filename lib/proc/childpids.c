#include "proc/childpids.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <stdlib.h>

void childpids_read(const struct host *h, pid_t pid, struct childpids *ret)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "%d/task/%d/children", (int)pid,
			   (int)pid) < 0)
		return;
	for (char *p = text, *end;; p = end) {
		long child = strtol(p, &end, 10);
		if (end == p || !VEC_PUSH(&ret->pids, (pid_t)child))
			return;
	}
}

void childpids_done(struct childpids *c)
{
	VEC_FREE(&c->pids);
}
