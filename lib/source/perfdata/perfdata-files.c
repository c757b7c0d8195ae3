/*
 * The files of a recording, usually one.  perf record --threads writes a folder: "data" has the
 * header and perf's own records; "data.0" and so on have only records of one CPU each, in time
 * order, each with its own compression.
 */

#include "source/perfdata/perfdata-private.h"

#include "base/mapguard.h"
#include "source/perfdata/perfdata-zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any number of CPUs. */
#define FILES_MAX 65536u

/* Called before anything is read, because chunks point to the input that counts them. */
static struct perfdata_stream *add_stream(struct perfdata *p)
{
	if (!VEC_PUSH(&p->streams, ((struct perfdata_stream){ .own_fd = -1 })))
		return NULL;
	struct perfdata_stream *s = &p->streams.v[p->streams.n - 1];
	perfdata_input_init(&s->input);
	perfdata_input_init(&s->unpacked);
	return s;
}

/* One file of a folder; 0 if there is no such file. */
static int add_file(struct perfdata *p, int folder_fd, const char *name, struct err *e)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_errno(e, errno, "cannot read '%s'", name);
	struct perfdata_stream *s = add_stream(p);
	if (!s) {
		close(fd);
		return err_errno(e, ENOMEM, "cannot read");
	}
	snprintf(s->suffix, sizeof(s->suffix), "/%s", name);
	s->own_fd = fd;
	int r = perfdata_input_open(&s->input, fd, p->maps, e);
	if (r < 0)
		return r;
	/* A mapping needs no descriptor, and there may be fewer descriptors than CPUs. */
	if (s->input.map) {
		close(fd);
		s->own_fd = s->input.fd = -1;
	}
	return 1;
}

static int add_folder(struct perfdata *p, int folder_fd, struct err *e)
{
	int r = add_file(p, folder_fd, "data", e);
	if (r == 0) {
		err_errno(e, EISDIR, "cannot read");
		err_hint(e, "a directory of perf record --threads has a file 'data'");
		return -EISDIR;
	}
	for (unsigned i = 0; r > 0 && i < FILES_MAX; i++) {
		char name[sizeof("data.65536")];
		snprintf(name, sizeof(name), "data.%u", i);
		r = add_file(p, folder_fd, name, e);
	}
	return r < 0 ? r : 0;
}

static int add_single_file(struct perfdata *p, int fd, struct err *e)
{
	struct perfdata_stream *s = add_stream(p);
	return s ? perfdata_input_open(&s->input, fd, p->maps, e)
		 : err_errno(e, ENOMEM, "cannot read");
}

int perfdata_open_files(struct perfdata *p, int fd, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot read");
	int r = S_ISDIR(st.st_mode) ? add_folder(p, fd, e) : add_single_file(p, fd, e);
	p->info.n_files = (uint32_t)p->streams.n;
	return r;
}

bool perfdata_is_truncated(const struct perfdata *p)
{
	for (uint32_t i = 0; i < p->streams.n; i++)
		if (mapguard_is_hit(p->streams.v[i].input.guard))
			return true;
	return false;
}

void perfdata_close_files(struct perfdata *p)
{
	for (uint32_t i = 0; i < p->streams.n; i++) {
		struct perfdata_stream *s = &p->streams.v[i];
		perfdata_input_done(&s->unpacked);
		perfdata_input_done(&s->input);
		perfdata_zstd_free(s->zstd);
		if (s->own_fd >= 0)
			close(s->own_fd);
	}
	VEC_FREE(&p->streams);
}

/*
 * Decompresses all of a compressed record; a record of the kernel may continue in the next one.
 * Compressed records have at most 64 KiB, and perf packs at most one ring into each.
 */
int perfdata_unpack(struct perfdata *p, struct perfdata_stream *s, const uint8_t *packed,
		    size_t n_packed)
{
	size_t done = 0, room;
	struct err e;
	if (!s->zstd) {
		int r = perfdata_zstd_new(&s->zstd, &e);
		if (r < 0) {
			p->failure = e;
			return r;
		}
	}
	p->info.counts.n_compressed_bytes += n_packed;
	for (;;) {
		uint8_t *to = perfdata_input_room(&s->unpacked, &room);
		if (!to)
			return perfdata_no_memory(p);
		long got = perfdata_zstd_run(s->zstd, packed, n_packed, &done, to, room, &e);
		if (got < 0)
			return perfdata_broken(p, s, s->input.offset, "%s, before the data",
					       e.what);
		perfdata_input_wrote(&s->unpacked, (size_t)got);
		p->info.counts.n_decompressed_bytes += (size_t)got;
		if (done == n_packed && (size_t)got < room)
			return 0;
	}
}
