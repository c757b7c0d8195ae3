#ifndef CPROF_PROTO_PPROF_SAMPLES_H
#define CPROF_PROTO_PPROF_SAMPLES_H

/*
 * Reads a profile like pprof-read.h, but decodes samples one at a time without keeping them.  Since
 * a large profile consists mostly of samples, this needs memory only for the uncompressed bytes and
 * the tables.
 *
 * Limits: 4 GiB uncompressed, 2^30 items of a kind.  Compressed data that expands more than 200
 * times and beyond 256 MiB is refused; real profiles expand up to 30 times.  The tables need at
 * most 30 bytes for each byte of the uncompressed profile (a location of two bytes has 64).
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct profile_label;
struct pprof_samples;
struct pprof_tables;

/* Valid until the next pprof_samples_next, except labels. */
struct pprof_sample_row {
	const uint32_t *location;           /* indices into head->location, leaf first */
	const int64_t *value;               /* head->n_sample_types of them */
	const struct profile_label *label;  /* valid as long as the head, as are its strings */
	size_t n_locations, n_labels;
	uint32_t label_set;                 /* equal numbers have equal labels; 0: none */
};

/* Reads everything except samples into *ret_head; its n_samples is set, its `sample` is NULL.  With
 * ret_tables, its functions, locations and strings are NULL, too, and are in *ret_tables.  data and
 * e must stay valid until pprof_samples_close, which also frees head and tables.  -EINVAL, -E2BIG,
 * -ENOMEM as for profile_read. */
int pprof_samples_open(const void *data, size_t n_bytes, struct pprof_samples **ret,
		       const struct profile **ret_head, const struct pprof_tables **ret_tables,
		       struct err *e);

/* The same for a file, or anything that can be read to its end. */
int pprof_samples_open_file(const char *path, struct pprof_samples **ret,
			    const struct profile **ret_head,
			    const struct pprof_tables **ret_tables, struct err *e);

/* 1: a sample; 0: no more; -EINVAL: damaged; -ENOMEM. */
int pprof_samples_next(struct pprof_samples *s, struct pprof_sample_row *ret);

/* The next sample is the first one again. */
void pprof_samples_rewind(struct pprof_samples *s);

void pprof_samples_close(struct pprof_samples *s);

#endif
