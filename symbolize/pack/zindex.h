#ifndef CPROF_SYMBOLIZE_PACK_ZINDEX_H
#define CPROF_SYMBOLIZE_PACK_ZINDEX_H

/*
 * Access points of a deflate stream: places where decompression can start without the bytes before
 * them.  The index of a large debug section is kept in the cache folder, so that later recordings
 * decompress only the parts that they need.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All files of the cache that hold decompressed bytes or access points, and their total size. */
#define ZINDEX_PREFIX "unpacked-"
#define ZINDEX_CACHE_BYTES_MAX (256ull << 20)

#define ZINDEX_WINDOW_BYTES 32768u /* a deflate block can refer this far back */

/* Identifies a section of one file.  A changed file has another key. */
struct zindex_key {
	uint64_t dev, inode, n_file_bytes, modified_ns, changed_ns;
	uint64_t off, n_packed;  /* of the compressed bytes */
	uint64_t n_bytes;        /* decompressed */
};

/* The block for the decompressed bytes at off begins at this bit of the compressed ones. */
struct zindex_point {
	uint64_t off, in_off, in_bit;
};

struct zindex;

/* Fills in the part of the key that identifies the file.  False unless it is a regular file. */
bool zindex_key_set_file(struct zindex_key *key, int fd);

/* Reads the index from the folder.  With dir NULL, or where the folder cannot be used, the index
 * is empty and new points last until close.  0 or -ENOMEM. */
int zindex_open(const char *dir, const struct zindex_key *key, struct zindex **ret);
void zindex_close(struct zindex *ix);

/* The number of points at or before off; points are sorted by off, and none is within the first
 * ZINDEX_WINDOW_BYTES. */
size_t zindex_count_before(const struct zindex *ix, uint64_t off);
struct zindex_point zindex_get(const struct zindex *ix, size_t i);

/* Copies the window before point i.  False when it is damaged: the point is removed. */
bool zindex_window(struct zindex *ix, size_t i, uint8_t *to);

/* Adds a point after all others.  Does nothing if the last one is too close, or on failure. */
void zindex_add(struct zindex *ix, const struct zindex_point *point, const uint8_t *window);

#endif
