#ifndef CPROF_CMD_LIMITOPTS_H
#define CPROF_CMD_LIMITOPTS_H

/* Limits of memory and time that several commands share: the rows of their option tables, and the
 * values, which end the program with argp_error if they are wrong. */

#include "cmd/optparse.h"

#include <stdint.h>

#define LIMITOPTS_MAX_MEMORY 901
#define LIMITOPTS_SYMBOL_TIMEOUT 902

/* what: what the memory is for; normal: the default time, "10s". */
#define LIMITOPTS_MAX_MEMORY_ROW(what, group) \
	{ "max-memory", LIMITOPTS_MAX_MEMORY, "SIZE", 0, \
	  "Memory for " what "; default: 256M", group }
#define LIMITOPTS_SYMBOL_TIMEOUT_ROW(normal, group) \
	{ "symbol-timeout", LIMITOPTS_SYMBOL_TIMEOUT, "TIME", 0, \
	  "Longest time for one file's debug information; default: " normal, group }

/* In bytes. */
static inline uint64_t limitopts_max_memory(struct argp_state *state, const char *arg)
{
	return optparse_size(state, "--max-memory", arg);
}

/* In nanoseconds. */
static inline uint64_t limitopts_symbol_timeout(struct argp_state *state, const char *arg)
{
	return optparse_time(state, "--symbol-timeout", arg, 1, UINT64_MAX);
}

#endif
