#ifndef CPROF_TESTS_FUZZ_DWINPUT_H
#define CPROF_TESTS_FUZZ_DWINPUT_H

/* An input as a file with debug information: its sections in the order of enum dwsection_id, each
 * preceded by its length (u16); the last one is the rest. */

#include "symbolize/dwarf/dwfile.h"

#include <stdlib.h>

struct dwinput {
	struct dwfile file;
	uint8_t *copy[DWSECTION_N];
};

static inline void dwinput_open(struct dwinput *in, const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	dwfile_init(&in->file, NULL, -1);
	for (unsigned i = 0; i < DWSECTION_N; i++) {
		size_t n = i + 1 < DWSECTION_N ? bytes_u16(&b) : bytes_left(&b);
		if (n > bytes_left(&b))
			n = bytes_left(&b);
		/* allocated separately, so the sanitizer detects every read beyond the end */
		in->copy[i] = malloc(n ? n : 1);
		if (!in->copy[i])
			abort();
		memcpy(in->copy[i], b.p, n);
		b.p += n;
		in->file.sections.v[i] =
			(struct dwsection){ .base = in->copy[i], .n_bytes = n, .tried = true };
	}
}

static inline void dwinput_close(struct dwinput *in)
{
	dwfile_done(&in->file);
	for (unsigned i = 0; i < DWSECTION_N; i++)
		free(in->copy[i]);
}

#endif
