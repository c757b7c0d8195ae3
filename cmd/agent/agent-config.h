#ifndef CPROF_CMD_AGENT_CONFIG_H
#define CPROF_CMD_AGENT_CONFIG_H

/* The configuration of cprof agent: lines of "key = value", which cprof-agent(1) lists. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

#define AGENT_CONFIG_BYTES_MAX 65536u
#define AGENT_LABELS_MAX 8u

struct agent_config {
	VEC(char *) text;              /* owns what the fields below point to */
	const char *event;             /* NULL: chosen */
	const char *rate;              /* Hz */
	uint64_t window_ns;
	uint64_t max_memory_bytes;
	bool no_symbols;
	bool has_lines;                 /* of debug information: inlined calls, files and lines */
	double smallest_percent;       /* smaller services are combined */
	unsigned services_max;         /* with a profile of their own in one window */
	uint64_t window_bytes;         /* of all profiles of one window; 0: see agent-fit.h */
	const char *host;              /* NULL: the machine's name */
	const char *label[AGENT_LABELS_MAX];  /* "KEY=VALUE" */
	size_t n_labels;
	const char *spool;
	const char *spool_group;       /* NULL: none */
	uint64_t spool_bytes;
	unsigned spool_files;
	const char *cache;             /* NULL: none */
	const char *push;              /* arguments of cprof push; NULL: it is not started */
	const char *push_user;
};

/* All defaults. */
void agent_config_init(struct agent_config *c);

/* Reads a text; origin is its name in messages.  -EINVAL with e set. */
int agent_config_parse(struct agent_config *c, const char *origin, const char *text,
		       size_t n_bytes, struct err *e);

/* "KEY=VALUE" of a command line. */
int agent_config_set(struct agent_config *c, const char *setting, struct err *e);

/* Checks what depends on several keys. */
int agent_config_check(const struct agent_config *c, struct err *e);
void agent_config_done(struct agent_config *c);

#endif
