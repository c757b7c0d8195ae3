#ifndef CPROF_SYMBOLIZE_PACK_PACKCACHE_H
#define CPROF_SYMBOLIZE_PACK_PACKCACHE_H

/*
 * What was unpacked of a compressed section, from its beginning on, kept in a file for the next
 * time; and where in the packed bytes it goes on from there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which bytes of which file, so that what another file unpacks to can never be taken for it. */
struct packcache_key {
	uint64_t dev, inode, n_file_bytes, modified_ns, changed_ns;
	uint64_t off, n_packed;  /* of the packed bytes */
	uint64_t n_bytes;        /* of the section */
	uint64_t kind;           /* enum unpack_kind */
};

/* The bit of the packed bytes behind which the rest follows. */
struct packcache_place {
	uint64_t in_off, in_bit;
};

struct packcache;

/* What such a file is called, and what it holds: 0 for this, a letter for others of the same
 * section.  All of them together have their limit. */
#define PACKCACHE_NAME_BYTES 80
void packcache_name(const struct packcache_key *key, char what, char name[PACKCACHE_NAME_BYTES]);
void packcache_limit(int dir_fd, const char *name, uint64_t n_bytes);

/* Fills in what tells the file from others; false: it cannot be told. */
bool packcache_set_file(struct packcache_key *key, int fd);

/* 0, or a negative errno where there is nothing of use. */
int packcache_open(const char *dir, const struct packcache_key *key, struct packcache **ret);
void packcache_close(struct packcache *c);

/* How many bytes there are, of the section's beginning, and where the rest is. */
uint64_t packcache_bytes(const struct packcache *c);
struct packcache_place packcache_rest(const struct packcache *c);

/* Puts those around [off, off + n_bytes) to their places in `section`, which has room for all;
 * false when they are damaged or cannot be read.  What was put there once is not put again. */
bool packcache_fill(struct packcache *c, uint8_t *section, uint64_t off, size_t n_bytes);

/* Keeps the first n_bytes of the section.  If that fails there is nothing to be said. */
void packcache_save(const char *dir, const struct packcache_key *key, const uint8_t *section,
		    uint64_t n_bytes, struct packcache_place rest);

#endif
