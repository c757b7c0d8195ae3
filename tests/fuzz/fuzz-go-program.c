/* A hostile Go program: flags, then its memory from the address of its data on.  In an input of a
 * power of two bytes the version is at the start of the memory. */

#include "symbolize/runtime/go-program.h"
#include "tests/fuzz/gohostile.h"
#include "tests/unit/symbolize/golist.h"

/* One file for each set of flags, for all inputs. */
#define N_FILES 8u
static struct golist file[N_FILES];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 9 || size > 65536)
		return 0;
	struct golist *l = &file[data[0] % N_FILES];
	if (!l->cfi && !golist_open(l, "go1.27.3", data[0] % N_FILES))
		return 0;
	struct gohostile memory = { .data = data + 1, .size = size - 1, .base = GOMEMORY_DATA };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct go_places p = l->places;
	struct go_program g;
	p.memory = &m;
	enum go_program_result r = go_program_open(&p, &g);
	if (r == GO_PROGRAM_OK && (!g.allgs || g.place == GO_PLACE_NONE))
		abort();
	if (g.reasons.n > GO_REASONS_MAX ||
	    !memchr(g.version.text, 0, sizeof(g.version.text)))
		abort();
	for (unsigned int i = 0; i < g.reasons.n; i++)
		if (!memchr(g.reasons.text[i], 0, GO_REASON_BYTES))
			abort();
	return 0;
}
