#include "recorder/lostadvice.h"

#include <stdio.h>

/* Other tasks are the reason if they have this part of the samples that were read. */
#define FOREIGN_PART 4

static const char *choose_scope(const struct lostadvice_seen *s)
{
	bool is_foreign = s->n_foreign > (s->n_samples + s->n_foreign) / FOREIGN_PART;
	if (s->scope != CPROF_SCOPE_CPU || s->all_processes || !is_foreign)
		return "";
	if (s->no_bpf)
		return "leave out --no-bpf, ";
	return s->is_command && s->may_cgroup ? "--scope cgroup, " : "CAP_BPF or --scope task, ";
}

void lostadvice_text(const struct lostadvice_seen *seen, char *ret, size_t n_bytes)
{
	uint64_t kib = seen->ring_bytes * 2 >> 10;
	bool is_mib = kib && kib % 1024 == 0;
	char size[32] = "";
	if (kib)
		snprintf(size, sizeof(size), " %llu%c",
			 (unsigned long long)(is_mib ? kib / 1024 : kib), is_mib ? 'M' : 'K');
	snprintf(ret, n_bytes, "%s--ring-size%s, lower -F", choose_scope(seen), size);
}
