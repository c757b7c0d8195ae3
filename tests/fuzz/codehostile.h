#ifndef CPROF_TESTS_CODEHOSTILE_H
#define CPROF_TESTS_CODEHOSTILE_H

/*
 * A hostile program with a runtime: changes of the memory of an honest one, three bytes each:
 * where, and what is there.  That memory appears again and again at all higher addresses, so that
 * many pointers lead into it.
 */

#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "tests/unit/symbolize/flatmemory.h"

#include <stdlib.h>

struct codehostile {
	const struct runtime_code_ops *ops;
	struct flatmemory memory;
	unsigned int n_reads, n_reads_max;  /* a bound for all questions of one input */
};

/* Of an input without the bytes before the changes. */
static inline void codehostile_change(uint8_t *memory, size_t n_bytes, const uint8_t *data,
				      size_t size)
{
	for (size_t i = 0; i + 3 <= size; i += 3)
		memory[(data[i] | data[i + 1] << 8) % n_bytes] = data[i + 2];
}

/* For struct runtime_memory. */
static inline long codehostile_read(void *ctx, const struct iovec *local, size_t n_local,
				    const struct iovec *remote, size_t n_remote)
{
	struct codehostile *c = ctx;
	if (++c->n_reads > c->n_reads_max)
		abort();
	return flatmemory_read(&c->memory, local, n_local, remote, n_remote);
}

/* Asks for the code at pc and for the calls in it. */
static inline void codehostile_ask(const struct codehostile *c, void *program,
				   const struct runtime_code_source *from, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct runtime_code code;
	uint64_t epoch;
	if (c->ops->epoch)
		c->ops->epoch(program, from, &epoch);
	if (!c->ops->find(program, from, pc, &code))
		return;
	if (pc - code.start >= code.n_bytes || !code.name || !*code.name)
		abort();
	for (unsigned int i = 0; i < 4; i++) {
		size_t n = c->ops->calls(program, from, &code, pc + i, call);
		if (n < 1 || n > RUNTIME_CALLS_MAX || !call[n - 1].name)
			abort();
	}
	c->ops->release(&code);
}

#endif
