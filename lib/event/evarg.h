#ifndef CPROF_EVENT_EVARG_H
#define CPROF_EVENT_EVARG_H

/* The arguments of one location of a USDT probe, as its note describes them: "-4@%edi 8@$5". */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/arch/archprobe.h"

#define EVARG_MAX 12u           /* <sys/sdt.h> has no more */

struct evarg {
	struct archprobe_operand from;
	uint8_t n_bytes;        /* 1, 2, 4 or 8; no more than a register of `from` has */
	bool is_signed;
};

/*
 * Argument n, counted from 1, as code of this architecture passes it.  0; -ENOENT: there are fewer;
 * -EINVAL: its text is malformed; -EOPNOTSUPP: its value is neither in a general register nor at an
 * address that these contain.
 */
int evarg_find(const char *args, unsigned n, const struct arch_probe *arch, struct evarg *ret);

/* How many there are, at most EVARG_MAX. */
unsigned evarg_count(const char *args);

#endif
