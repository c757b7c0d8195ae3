#include "snapshot/gofuncs.h"

#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/dwarf/symdwarf.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 64u                  /* of inlined calls; the last one is the function */
#define TEXT_BYTES_MAX 1024u

void gofuncs_open(struct gofuncs *f, const struct dso *d, struct strtab *strings)
{
	*f = (struct gofuncs){ .strings = strings };
	f->is_open = symelf_open(&f->elf, d, NULL) == 0;
	if (f->is_open)
		runtime_names_open(f->elf.elf, &f->names);
}

void gofuncs_close(struct gofuncs *f)
{
	runtime_names_close(&f->names);
	if (f->is_open)
		symelf_close(&f->elf);
	VEC_FREE(&f->places);
	hashindex_done(&f->by_vaddr);
}

/* src/runtime/traceback.go, isSystemGoroutine.  Goroutines that run finalizers and cleanups are the
 * program's while they do so, which their state shows. */
static bool is_runtime(const char *function)
{
	static const char *const programs[] = {
		"runtime.main", "runtime.handleAsyncEvent", "runtime.corostart",
	};
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(function, programs[i]) == 0)
			return false;
	return strncmp(function, "runtime.", strlen("runtime.")) == 0;
}

static struct gofuncs_place look_up(struct gofuncs *f, uint64_t vaddr)
{
	struct symdwarf_frame frame[FRAMES_MAX];
	struct gofuncs_place p = { .vaddr = vaddr };
	char text[TEXT_BYTES_MAX];
	size_t n = runtime_names_find(&f->names, vaddr, frame, FRAMES_MAX);
	if (!n)
		return p;
	const char *function = frame[n - 1].name;
	snprintf(text, sizeof(text), "%s %s:%u", function, frame[0].file ? frame[0].file : "?",
		 frame[0].line);
	p.function = strtab_add_cstr(f->strings, function);
	p.text = strtab_add_cstr(f->strings, text);
	p.is_runtime = is_runtime(function);
	return p;
}

const struct gofuncs_place *gofuncs_at(struct gofuncs *f, uint64_t vaddr)
{
	uint64_t hash = hash_u64(vaddr);
	uint32_t i = HASHINDEX_FIND(&f->by_vaddr, hash, k, f->places.v[k].vaddr == vaddr);
	if (i != HASHINDEX_NONE)
		return &f->places.v[i];
	struct gofuncs_place p = look_up(f, vaddr);
	if (!VEC_RESERVE(&f->places, 1) || !hashindex_reserve(&f->by_vaddr, false))
		return NULL;
	hashindex_put(&f->by_vaddr, hash, (uint32_t)f->places.n);
	f->places.v[f->places.n++] = p;
	return &f->places.v[f->places.n - 1];
}
