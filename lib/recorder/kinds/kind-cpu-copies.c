/* Several readers have functions of their own, and no copies. */

#include "recorder/kinds/kind-cpu-copies.h"

#include "base/log.h"
#include "engine/engine.h"
#include "recorder/kinds/kind-cpu.h"
#include "source/samplecopy.h"

#include <stdlib.h>
#include <string.h>

struct kind_cpu_copies {
	const struct samplecopy *live;  /* NULL: none */
	struct samplecopy_reader reader;
};

_Static_assert(RUNTIME_COPY_PARTS == SAMPLECOPY_PARTS &&
	       RUNTIME_PART_BYTES == SAMPLECOPY_PART_BYTES, "the same parts");

static bool find_copy(void *ctx, uint32_t cpu, uint32_t tid, uint64_t time_ns,
		      struct runtime_copy *ret)
{
	struct kind_cpu_copies *c = ctx;
	struct samplecopy_copy copy;
	if (!samplecopy_find(c->live, &c->reader, cpu, tid, time_ns, &copy))
		return false;
	*ret = (struct runtime_copy){
		.n = copy.n, .stamp = copy.stamp, .time_ns = copy.time_ns,
	};
	memcpy(ret->at, copy.at, sizeof(ret->at));
	memcpy(ret->bytes, copy.bytes, sizeof(ret->bytes));
	return true;
}

static bool want_copy(void *ctx, uint32_t tid, const uint64_t *at, size_t n)
{
	const struct kind_cpu_copies *c = ctx;
	return samplecopy_want(c->live, tid, at, n) == 0;
}

bool kind_cpu_copies_are_due(const struct kind_session *k, const struct engine *g)
{
	const struct kind_cpu *c = k->state;
	return !c->copies && g->functions.may_copy && k->n_readers <= 1 && !k->config->no_bpf;
}

void kind_cpu_copies_begin(struct kind_session *k, struct engine *g,
			   const struct samplecopy *live)
{
	struct kind_cpu *c = k->state;
	struct interp_copies *copies = &g->functions.copies;
	c->copies = calloc(1, sizeof(*c->copies));
	if (c->copies && live) {
		c->copies->live = live;
		copies->ctx = c->copies;
		copies->find = find_copy;
		copies->want = want_copy;
		functions_pace_use_copies(&g->functions.pace, live->n_slots);
	}
	log_line(k->log, LOG_EXPLAIN, "memory of interpreters: %s", copies->find ?
		 "the kernel copies it at each sample" : "read after samples");
}
