#ifndef CPROF_CMD_RECORD_RECORDOPTS_H
#define CPROF_CMD_RECORD_RECORDOPTS_H

/* The command line of cprof record. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/record/against.h"
#include "cmd/record/partopts.h"
#include "cmd/record/targetopts.h"

/* What --heap shows: only what is in use at the end, or also at the peak. */
enum recordopts_heap { RECORDOPTS_HEAP_AUTO, RECORDOPTS_HEAP_END, RECORDOPTS_HEAP_PEAK };

struct recordopts {
	struct targetopts target;     /* its config has the labels below, too */
	struct partopts part;
	VEC(const char *) labels;
	const char *output;           /* NULL: the default names */
	struct filemode mode;
	bool exclusive;
	unsigned repeat;              /* runs of the command; 0: one, without --repeat */
	struct against against;
	uint64_t duration_ns;         /* 0: until the target ends */
	bool is_memory;               /* --alloc or --heap */
	enum recordopts_heap heap;
	bool strict, quiet, verbose, json;
};

extern const struct argp recordopts_argp;

/* Parses, or prints what is wrong and exits with status 64 (as argp does). */
void recordopts_parse(struct recordopts *o, int argc, char **argv);

void recordopts_done(struct recordopts *o);

#endif
