/*
 * /proc/PID/task/TID/status has a line "NSpid:" (Linux 4.1): the thread's ids in the pid namespace
 * of /proc and in those below it, its own one last.  Mostly both are the same, so that one file
 * suffices.
 */

#include "recorder/kinds/owntid.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/host.h"
#include "source/synth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Does the thread call itself own? */
static bool is_own(const struct host *h, uint32_t pid, uint32_t tid, uint32_t own)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%u/task/%u/status", pid, tid) < 0)
		return false;
	const char *line = strstr(status, "\nNSpid:");
	if (!line)
		return tid == own;
	const char *end = strchrnul(line + 1, '\n');
	while (end[-1] >= '0' && end[-1] <= '9')
		end--;
	return strtoul(end, NULL, 10) == own;
}

static uint32_t search(const struct host *h, uint32_t pid, uint32_t own)
{
	CLEANUP_FREE pid_t *tids = NULL;
	if (is_own(h, pid, own, own))
		return own;
	int n = synth_list(h, (pid_t)pid, &tids);
	for (int i = 0; i < n; i++)
		if (is_own(h, pid, (uint32_t)tids[i], own))
			return (uint32_t)tids[i];
	return 0;
}

static size_t place_of(uint32_t pid, uint32_t own)
{
	return hash_u64((uint64_t)pid << 32 | own) % OWNTID_CACHED;
}

uint32_t owntid_find(struct owntid *c, const struct host *h, uint32_t pid, uint32_t own)
{
	size_t at = place_of(pid, own);
	if (!own || !pid)
		return 0;
	if (c->entry[at].pid != pid || c->entry[at].own != own) {
		c->entry[at].tid = search(h, pid, own);
		c->entry[at].pid = pid;
		c->entry[at].own = own;
	}
	return c->entry[at].tid;
}

void owntid_forget(struct owntid *c, uint32_t pid, uint32_t own)
{
	size_t at = place_of(pid, own);
	if (c->entry[at].pid == pid && c->entry[at].own == own)
		c->entry[at].pid = 0;
}
