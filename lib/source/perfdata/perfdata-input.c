/* Mapped files and streams behind one interface: records are contiguous in both. */

#include "source/perfdata/perfdata-input.h"

#include "base/err.h"
#include "base/mapguard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 20)
#define ROOM_BYTES (64u << 10)

/* Pages that were read count as this process's memory; they are released in steps. */
#define RELEASE_BYTES (8u << 20)
#define TOUCH_BYTES (32u << 20)

/* A file is mapped completely or not at all; perf writes no files of many terabytes. */
#define MAP_BYTES_MAX ((uint64_t)1 << 46)

void perfdata_chunk_hold(struct perfdata_chunk *c)
{
	if (c)
		c->n_refs++;
}

void perfdata_chunk_drop(struct perfdata_chunk *c)
{
	if (!c || --c->n_refs)
		return;
	*c->n_held_bytes -= c->n_bytes;
	free(c);
}

void perfdata_input_init(struct perfdata_input *in)
{
	*in = (struct perfdata_input){ .fd = -1 };
}

int perfdata_input_open(struct perfdata_input *in, int fd, struct mapguard_table *maps,
			struct err *e)
{
	struct stat st;
	perfdata_input_init(in);
	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot read");
	if (S_ISDIR(st.st_mode))
		return err_errno(e, EISDIR, "cannot read");
	in->fd = fd;
	off_t at = lseek(fd, 0, SEEK_CUR);
	if (!S_ISREG(st.st_mode) || at != 0 || st.st_size == 0 ||
	    (uint64_t)st.st_size > MAP_BYTES_MAX)
		return 0;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 0;  /* use read(2) instead */
	madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
	in->map = map;
	in->guard = mapguard_add(maps, map, (size_t)st.st_size);
	in->n_map = (size_t)st.st_size;
	in->p = in->map;
	in->end = in->map + in->n_map;
	return 0;
}

void perfdata_input_done(struct perfdata_input *in)
{
	mapguard_remove(in->guard);
	in->guard = NULL;
	if (in->map)
		munmap(in->map, in->n_map);
	perfdata_chunk_drop(in->chunk);
	in->chunk = NULL;
	in->map = NULL;
}

/* Makes room for a total of n bytes from p on. */
static bool make_room(struct perfdata_input *in, size_t n_bytes)
{
	size_t n = (size_t)(in->end - in->p);
	struct perfdata_chunk *old = in->chunk;
	if (old && old->n_bytes - (size_t)(in->p - (uint8_t *)old->data) >= n_bytes)
		return true;
	size_t cap = n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
	struct perfdata_chunk *c = malloc(sizeof(*c) + cap);
	if (!c)
		return false;
	*c = (struct perfdata_chunk){
		.n_refs = 1, .n_bytes = cap, .n_held_bytes = &in->n_held_bytes,
	};
	in->n_held_bytes += cap;
	if (n)
		memcpy(c->data, in->p, n);
	in->p = (uint8_t *)c->data;
	in->end = in->p + n;
	in->chunk = c;
	perfdata_chunk_drop(old);
	return true;
}

static size_t room(const struct perfdata_input *in)
{
	return in->chunk->n_bytes - (size_t)(in->end - (uint8_t *)in->chunk->data);
}

int perfdata_input_need(struct perfdata_input *in, size_t n_bytes)
{
	while ((size_t)(in->end - in->p) < n_bytes) {
		if (in->map || in->fd < 0)
			return 0;
		if (!make_room(in, n_bytes))
			return -ENOMEM;
		ssize_t got = read(in->fd, (uint8_t *)in->end, room(in));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		in->end += got;
	}
	return 1;
}

int perfdata_input_skip(struct perfdata_input *in, uint64_t n_bytes)
{
	for (;;) {
		uint64_t n = (uint64_t)(in->end - in->p);
		n = n < n_bytes ? n : n_bytes;
		perfdata_input_take(in, n);
		n_bytes -= n;
		if (!n_bytes)
			return 1;
		int r = perfdata_input_need(in, 1);
		if (r <= 0)
			return r;
	}
}

uint8_t *perfdata_input_room(struct perfdata_input *in, size_t *ret_n_bytes)
{
	if (!make_room(in, (size_t)(in->end - in->p) + ROOM_BYTES))
		return NULL;
	*ret_n_bytes = room(in);
	return (uint8_t *)in->end;
}

void perfdata_input_wrote(struct perfdata_input *in, size_t n_bytes)
{
	in->end += n_bytes;
}

void perfdata_input_touch(struct perfdata_input *in, size_t n_bytes)
{
	in->n_touched += n_bytes;
	if (!in->map || in->n_touched < TOUCH_BYTES)
		return;
	in->n_touched = 0;
	madvise(in->map + in->n_released, (size_t)(in->p - in->map) - in->n_released,
		MADV_DONTNEED);
}

bool perfdata_input_may_release(const struct perfdata_input *in)
{
	return in->map && (size_t)(in->p - in->map) >= in->n_released + RELEASE_BYTES;
}

void perfdata_input_release(struct perfdata_input *in, const uint8_t *at)
{
	if (!in->map)
		return;
	size_t n = (size_t)(at - in->map) / RELEASE_BYTES * RELEASE_BYTES;
	if (n <= in->n_released)
		return;
	madvise(in->map + in->n_released, n - in->n_released, MADV_DONTNEED);
	in->n_released = n;
}
