#ifndef CPROF_CMD_AGENT_SPOOL_H
#define CPROF_CMD_AGENT_SPOOL_H

/*
 * The spool: one directory between the recorder of cprof agent, which may read everything and has
 * no network, and the pusher, which has a network and may read nothing else.  They share nothing
 * but these files:
 *
 *     START-SEQUENCE-SERVICE.pb.gz   a profile of one service in one window
 *     START-SEQUENCE-SERVICE.meta    what it is of: key=value lines (keyvalue.h)
 *     lost                           counters of the recorder: key=value lines
 *     .tmp-*                         files that are being written; not to be touched by others
 *                                    (.tmp-lost stays, so that counters need no space)
 *
 * Rules:
 *  - START is the beginning of the window, in nanoseconds since 1970, 20 digits; SEQUENCE has at
 *    least 10 digits and only grows; SERVICE is a hash of the service in 16 hexadecimal digits.
 *    So names are never used again, and the order of names is that of time for one service.
 *  - Files are written as .tmp-* and renamed, the .meta before its profile.  A profile without a
 *    .meta is about to be removed.
 *  - Whoever removes a profile removes it before its .meta.  The recorder
 *    removes a .meta that has no profile any more.
 *  - The recorder removes the oldest profiles where its limits require it, and counts them in
 *    `lost`.  The pusher removes what was delivered, or what will never be taken.
 *  - The directory belongs to the recorder's user, and has the mode 0770 and the group of the
 *    pusher if there is one, else 0700.  The pusher could therefore write there: neither side
 *    follows links, and each checks what it reads.
 *
 * Keys of .meta:
 *     label.NAME         a label of the service: label.service_name (always), label.host,
 *                        label.cgroup, label.exe, label.exe_build_id, label.comm,
 *                        label.container_id, label.pod_uid, label.namespace, label.pod,
 *                        label.container, and those of the configuration
 *     window_start_ns    since 1970
 *     window_ns          its duration
 *     event              as in cprof-events(7), "cpu-clock"
 *     sample_type, unit  of the profile's second value: "cpu", "nanoseconds"
 *     period             in that unit
 *     n_samples
 *     n_processes        how many services are combined in it; more than 1 only for "other"
 *
 * Keys of `lost`, all of which but the last only grow, also when the recorder is restarted:
 *     profiles, bytes            that were written into the spool
 *     profiles_lost, bytes_lost  that were removed because the spool or the disk was full
 *     profiles_failed            that could not be written
 *     windows, windows_failed    windows with samples; those of which nothing could be written,
 *                                and the present one of a recorder that was killed
 *     windows_reduced            those that would have been larger than window-size
 *     samples, samples_lost      that were recorded; that the kernel has dropped
 *     samples_folded             that other samples stand for, so that a window fits
 *     cpu_ns                     CPU time of the recorder, with its helpers
 *     recording                  1 while a recorder is running, or after it was killed
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

#define SPOOL_PROFILE ".pb.gz"
#define SPOOL_META ".meta"
#define SPOOL_COUNTERS "lost"
#define SPOOL_TEMPORARY ".tmp-"

#define SPOOL_NAME_MAX 96

struct spool_name {
	uint64_t start_ns, sequence, service;
};

struct spool_entry {
	struct spool_name name;
	uint64_t n_bytes;              /* of the profile */
};

struct spool_list {
	VEC(struct spool_entry) entry; /* oldest first */
	uint64_t n_bytes;              /* of all profiles */
};

/* The name of a file; suffix: SPOOL_PROFILE or SPOOL_META. */
void spool_name_text(const struct spool_name *n, const char *suffix, char ret[SPOOL_NAME_MAX]);

/* False for other files. */
bool spool_name_parse(const char *text, const char *suffix, struct spool_name *ret);

/* By start, then by sequence: < 0, 0 or > 0. */
int spool_name_compare(const struct spool_name *a, const struct spool_name *b);

/* The profiles of a spool.  -errno with e set, and *ret untouched. */
int spool_list(int dir_fd, struct spool_list *ret, struct err *e);
void spool_list_done(struct spool_list *l);

/* Removes a profile and its .meta.  0, also if they are gone; -errno. */
int spool_remove(int dir_fd, const struct spool_name *n);

#endif
