#ifndef CPROF_PROTO_PPROF_SAMPLES_H
#define CPROF_PROTO_PPROF_SAMPLES_H

/*
 * Reads a profile as pprof-read.h does, except that samples, which are nearly all of a large
 * profile, are decoded one at a time and not kept: besides the uncompressed bytes there
 * is memory only for the tables.
 *
 * Limits: 4 GiB uncompressed, 2^30 items of a kind.  Data that gzip blew up more than 200 times
 * and beyond 256 MiB is refused: real profiles reach 30 times.  The tables need at most
 * 30 bytes for each byte of the uncompressed profile (a location of two bytes has 64).
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct profile_label;
struct pprof_samples;

/* Valid until the next call of pprof_samples_next. */
struct pprof_sample_row {
	const uint32_t *location;           /* indices into head->location, leaf first */
	const int64_t *value;               /* head->n_sample_types of them */
	const struct profile_label *label;  /* its strings live as long as the head */
	size_t n_locations, n_labels;
};

/* Reads all but the samples: *ret_head, whose n_samples is how many will come, while
 * its `sample` is NULL.  data and e must stay until pprof_samples_close, which also
 * frees the head.  -EINVAL, -E2BIG, -ENOMEM as profile_read. */
int pprof_samples_open(const void *data, size_t n_bytes, struct pprof_samples **ret,
		       const struct profile **ret_head, struct err *e);

/* The same of a file, or anything that can be read to its end. */
int pprof_samples_open_file(const char *path, struct pprof_samples **ret,
			    const struct profile **ret_head, struct err *e);

/* 1: a sample; 0: that was all; -EINVAL: it is damaged; -ENOMEM. */
int pprof_samples_next(struct pprof_samples *s, struct pprof_sample_row *ret);

void pprof_samples_close(struct pprof_samples *s);

#endif
