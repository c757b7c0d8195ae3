/*
 * A wrong place does not last.  A process begins with what is kept, but chooses its places again
 * when it has learned from some hundred samples, and then these are kept.
 */

#include "interp/interp-saved.h"

#include "base/cleanup.h"
#include "interp/interp-learn.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/dsokeep.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "interpreter-"
#define VERSION 1u
#define N_MIN 256u              /* activations that were learned from, before that is kept */
#define ALL_BYTES_MAX (1u << 20)        /* some hundred interpreters */

static const char magic[8] = "cprofint";

struct header {                 /* then n_calls struct interp_callplaces_known */
	char magic[8];
	uint32_t version, n_places; /* ACTIVATION_PLACES */
	uint32_t instruction, frame;
	uint32_t n_calls, unused;
};

void interp_saved_name(const struct dso *d, char ret_name[INTERP_SAVED_NAME_MAX])
{
	char id[DSO_BUILD_ID_TEXT_MAX];
	struct stat st;
	int fd = d->n_build_id ? dsokeep_hold(d) : -ENOENT;
	ret_name[0] = '\0';
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		snprintf(ret_name, INTERP_SAVED_NAME_MAX, PREFIX "%s", dso_build_id_text(d, id));
	dsokeep_release(d);
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool is_valid(const struct header *h, size_t n_bytes)
{
	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->version == VERSION &&
	       h->n_places == ACTIVATION_PLACES && h->instruction < ACTIVATION_PLACES &&
	       h->frame < ACTIVATION_PLACES && h->n_calls <= INTERP_CALLPLACES_MAX &&
	       n_bytes - sizeof(*h) == h->n_calls * sizeof(struct interp_callplaces_known);
}

int interp_saved_decode(const void *bytes, size_t n_bytes, struct interp_learn *l)
{
	struct header h;
	struct interp_callplaces_known call;
	const char *p = bytes;
	if (n_bytes < sizeof(h))
		return -EINVAL;
	memcpy(&h, p, sizeof(h));
	if (!is_valid(&h, n_bytes))
		return -EINVAL;
	interp_learn_begin(l, h.instruction, h.frame);
	for (uint32_t i = 0; i < h.n_calls; i++) {
		memcpy(&call, p + sizeof(h) + i * sizeof(call), sizeof(call));
		if (call.place < ACTIVATION_PLACES)
			interp_callplaces_put(&l->calls, &call);
	}
	return 0;
}

int interp_saved_read(const char *dir, const char *name, struct interp_learn *l)
{
	uint64_t n_bytes;
	CLEANUP_CLOSE int fd = cachefile_open(dir, name, &n_bytes);
	if (fd < 0)
		return fd;
	if (n_bytes > sizeof(struct header) +
			      INTERP_CALLPLACES_MAX * sizeof(struct interp_callplaces_known))
		return -EINVAL;
	CLEANUP_FREE char *bytes = malloc(n_bytes + 1);
	if (!bytes)
		return -ENOMEM;
	if (read(fd, bytes, n_bytes) != (ssize_t)n_bytes)
		return -EINVAL;
	cachefile_touch(fd);
	return interp_saved_decode(bytes, n_bytes, l);
}

/* ---- writing ------------------------------------------------------------------------------- */

void interp_saved_write(const char *dir, const char *name, const struct interp_learn *l)
{
	if (l->n < N_MIN || !interp_learn_is_known(l))
		return;
	CLEANUP_FREE struct interp_callplaces_known *call =
		calloc(INTERP_CALLPLACES_MAX, sizeof(*call));
	CLEANUP_CLOSE int dir_fd = call ? cachefile_open_dir(dir) : -ENOMEM;
	if (dir_fd < 0)
		return;
	size_t n = interp_callplaces_list(&l->calls, call);
	struct header h = {
		.version = VERSION, .n_places = ACTIVATION_PLACES,
		.instruction = l->instruction, .frame = l->frame, .n_calls = (uint32_t)n,
	};
	memcpy(h.magic, magic, sizeof(magic));
	const struct cachefile_part part[] = { { &h, sizeof(h) }, { call, n * sizeof(*call) } };
	if (cachefile_write(dir_fd, name, part, 2) == 0)
		cachefile_limit(dir_fd, PREFIX, name, ALL_BYTES_MAX);
}
