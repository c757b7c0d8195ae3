#ifndef CPROF_CMD_AGENT_SPOOL_WRITE_H
#define CPROF_CMD_AGENT_SPOOL_WRITE_H

/* The recorder's side of a spool (spool.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/agent/spool.h"

struct err;

/* As in the file `lost`. */
struct spool_counters {
	uint64_t profiles, bytes, profiles_lost, bytes_lost, profiles_failed;
	uint64_t windows, windows_failed, windows_reduced, samples, samples_lost, samples_folded;
	uint64_t cpu_ns, recording;
};

struct spool_writer {
	int dir_fd;                    /* -1: closed */
	uint64_t bytes_max;
	uint64_t files_max;            /* profiles with their .meta count as one */
	/* What is in the spool at most: the pusher removes files at any time. */
	uint64_t n_bytes, n_files;
	struct spool_counters n;
};

/* Room for a .meta, in the account of bytes. */
#define SPOOL_META_BYTES 1024u

/*
 * Opens the folder, makes it if it is missing, and removes what an earlier recorder left behind
 * half-written.  group: of the pusher; NULL: none.  -EBUSY: another recorder uses it.
 */
int spool_writer_open(struct spool_writer *w, const char *path, const char *group, struct err *e);
void spool_writer_close(struct spool_writer *w);

/* Removes files that are half-written; only while nobody writes. */
void spool_writer_clean(struct spool_writer *w);

/* Writes a profile and its .meta, and removes the oldest ones if there is no room, or if others
 * have filled the disk.  -errno. */
int spool_writer_add(struct spool_writer *w, const struct spool_name *name, const char *profile,
		     size_t n_profile, const char *meta, size_t n_meta);

/* Writes the counters to `lost`, also when the disk is full.  -errno. */
int spool_writer_count(struct spool_writer *w);

/* Recording begins and ends.  Without an end the recorder was killed. */
void spool_writer_begin(struct spool_writer *w);
void spool_writer_end(struct spool_writer *w);

#endif
