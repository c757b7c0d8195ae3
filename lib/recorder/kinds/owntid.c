/* A thread mostly has the same id in its own pid namespace, so that one file suffices. */

#include "recorder/kinds/owntid.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/host.h"
#include "source/synth.h"

#include <stdlib.h>

static uint32_t search(const struct host *h, uint32_t pid, uint32_t own)
{
	CLEANUP_FREE pid_t *tids = NULL;
	if (host_own_tid(h, pid, own) == own)
		return own;
	int n = synth_list(h, (pid_t)pid, &tids);
	for (int i = 0; i < n; i++)
		if (host_own_tid(h, pid, (uint32_t)tids[i]) == own)
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
