#ifndef CPROF_CMD_REPORT_OBJDUMP_H
#define CPROF_CMD_REPORT_OBJDUMP_H

/* The instructions of a function with their costs, as the system's objdump shows them. */

#include "base/vec.h"
#include "view/table/annotate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct report_source;

struct objdump_instruction {
	uint64_t vaddr;             /* in the file */
	char *text;
	int64_t flat, cum;
	int64_t line;               /* of the source, if it has a cost; 0: unknown */
	bool has_cost;
	bool is_near;               /* it has a cost, or is close to one that has */
};

struct objdump {
	VEC(struct objdump_instruction) instructions;
	bool has_symbol;            /* the file has a symbol for them */
};

/*
 * Lists the function, which a has annotated by addresses.  deadline_ns: CLOCK_MONOTONIC, when
 * objdump is killed.  -errno with e set: -ENOENT, the profile or objdump does not know where it is;
 * -ETIMEDOUT; or the file may not be shown, or is another one than that of the profile.  Free ret
 * with objdump_done, even after failure.
 */
int objdump_function(struct report_source *source, const struct model *m, const struct annotate *a,
		     const struct annotate_function *fn, uint64_t deadline_ns, struct objdump *ret,
		     struct err *e);
void objdump_done(struct objdump *o);

#endif
