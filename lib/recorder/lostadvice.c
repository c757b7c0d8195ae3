#include "recorder/lostadvice.h"

#include <stdio.h>

/* Other tasks are the reason if they have this part of the samples that were read. */
#define FOREIGN_PART 4

static const char *choose_scope(const struct lostadvice_seen *s)
{
	bool is_foreign = s->n_foreign > (s->n_samples + s->n_foreign) / FOREIGN_PART;
	if (s->scope != CPROF_SCOPE_CPU || s->all_processes || !is_foreign)
		return "";
	if (s->is_command && s->may_cgroup)
		return "--scope cgroup, ";
	if (s->no_bpf && s->may_bpf)
		return "leave out --no-bpf, ";
	return s->may_bpf ? "--scope task, " : "CAP_BPF or --scope task, ";
}

/* " 8M", or what must come before. */
static void ring_text(const struct lostadvice_seen *s, char *ret, size_t n_bytes)
{
	uint64_t bytes = s->ring_bytes * 2, kib = bytes >> 10;
	bool is_mib = kib && kib % 1024 == 0;
	const char *first = bytes > s->fitting_bytes ? " with more locked memory (ulimit -l)" : "";
	ret[0] = '\0';
	if (kib)
		snprintf(ret, n_bytes, " %llu%c%s",
			 (unsigned long long)(is_mib ? kib / 1024 : kib), is_mib ? 'M' : 'K',
			 first);
}

void lostadvice_text(const struct lostadvice_seen *seen, char *ret, size_t n_bytes)
{
	char size[64];
	ring_text(seen, size, sizeof(size));
	snprintf(ret, n_bytes, "%s--ring-size%s, %s", choose_scope(seen), size,
		 seen->is_period ? "larger -c" : "lower -F");
}
