#ifndef CPROF_CMD_PUSH_SPOOL_H
#define CPROF_CMD_PUSH_SPOOL_H

/* The spool of cmd/agent/spool.h as the pusher reads it: another user writes there, and nothing in
 * it is trusted. */

#include "base/vec.h"
#include "cmd/agent/keyvalue.h"
#include "cmd/agent/spool.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define PUSH_PROFILE_BYTES_MAX (8u << 20)
#define PUSH_SCAN_MAX 4096u

struct push_spool {
	int fd;                          /* of the folder, -1 when closed */
	uid_t owner;                     /* of the folder: who may own files in it */
	VEC(struct spool_name) name;     /* the PUSH_SCAN_MAX oldest ones, oldest first */
};

/* A profile in memory. */
struct push_item {
	struct spool_name name;
	uint8_t *data;
	size_t n_bytes;
	struct keyvalues meta;
};

/* -errno with e set; also if we cannot remove files there. */
int push_spool_open(struct push_spool *s, const char *path, struct err *e);
void push_spool_close(struct push_spool *s);

/* Reads the names of the oldest profiles. */
int push_spool_scan(struct push_spool *s, struct err *e);

/* Reads one profile.  -ENOENT: the recorder has removed it; -EINVAL: it will never be a profile
 * with labels, and e says why; other failures may pass. */
int push_spool_read(const struct push_spool *s, const struct spool_name *name,
		    struct push_item **ret, struct err *e);
void push_item_free(struct push_item *i);

/* Reads the recorder's counters; -ENOENT if there are none, -EINVAL for a file of another form. */
int push_spool_counters(const struct push_spool *s, struct keyvalues *ret, struct err *e);

#endif
