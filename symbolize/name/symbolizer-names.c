/*
 * All names and paths become ids in one table, so each is demangled or built once.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/path.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/name/demangle.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

bool symbolizer_find_start(struct symbolizer_batch *b, uint64_t vaddr, uint64_t *ret)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	const struct dso *d = b->d;
	if (vaddr - b->found.start < b->found.n_bytes) {
		*ret = b->found.start;
		return true;
	}
	if (!b->cfi_tried) {
		b->cfi_tried = true;
		if (d->image ? cfi_open_image(d->image, d->n_image_bytes, &b->cfi)
			     : !dsokeep_has_file(d) || cfi_open_dso(d, &b->cfi))
			b->cfi = NULL;
	}
	if (!b->cfi || cfi_find_fde(b->cfi, vaddr, &fde, &off, &is_debug) != CFI_FOUND ||
	    fde.start > vaddr)
		return false;
	b->found.start = *ret = fde.start;
	b->found.n_bytes = fde.n_bytes;
	return true;
}

/* "[libfoo.so]+0x1234", "[vdso]+0x10" */
uint32_t symbolizer_made_up_name(struct symbolizer_batch *b, uint64_t vaddr)
{
	char text[512];
	/* all addresses of one function get one name */
	if (b->d->key.kind == DSO_ELF || b->d->key.kind == DSO_VDSO)
		symbolizer_find_start(b, vaddr, &vaddr);
	const char *base = *b->d->path ? path_base_name(b->d->path) : "unknown";
	bool has_brackets = base[0] == '[';
	snprintf(text, sizeof(text), "%s%.400s%s+0x%" PRIx64, has_brackets ? "" : "[", base,
		 has_brackets ? "" : "]", vaddr);
	return strtab_add_cstr(b->strings, text);
}

/* The slot for the demangled form of that linkage name; NULL: out of memory. */
static uint32_t *demangled_slot(struct symbolizer_batch *b, uint32_t linkage)
{
	return VEC_EXTEND(&b->demangled, linkage + (size_t)1) ? &b->demangled.v[linkage] : NULL;
}

/* Sets both names from the one in the object file. */
bool symbolizer_set_names(struct symbolizer_batch *b, const char *linkage, struct symline *line)
{
	line->linkage = line->name = strtab_add_cstr(b->strings, linkage);
	if (!line->linkage)
		return false;
	if (!demangle_is_mangled(linkage)) {
		char *name = demangle_as(linkage, b->o->demangle);
		if (name)
			line->name = strtab_add_cstr(b->strings, name);
		free(name);
		return line->name != 0;
	}
	uint32_t *slot = demangled_slot(b, line->linkage);
	if (!slot)
		return false;
	if (!*slot) {
		char *name = demangle_as(linkage, b->o->demangle);
		*slot = name ? strtab_add_cstr(b->strings, name) : line->linkage;
		free(name);
	}
	line->name = *slot ? *slot : line->linkage;
	return true;
}

/* "foo@plt" for the stub that calls foo. */
bool symbolizer_set_plt_names(struct symbolizer_batch *b, const char *target, struct symline *line)
{
	char *plain = demangle_as(target, b->o->demangle);
	char *name = NULL, *linkage = NULL;
	bool ok = asprintf(&linkage, "%s@plt", target) >= 0;
	if (ok) {
		line->linkage = line->name = strtab_add_cstr(b->strings, linkage);
		free(linkage);
	}
	if (ok && plain) {
		ok = asprintf(&name, "%s@plt", plain) >= 0;
		if (ok) {
			line->name = strtab_add_cstr(b->strings, name);
			free(name);
		}
	}
	free(plain);
	return ok && line->name;
}

uint32_t symbolizer_file_id(struct symbolizer_batch *b, const char *dir, const char *file)
{
	if (!file)
		return 0;
	if (!dir)
		return strtab_add_cstr(b->strings, file);
	size_t i = ((uintptr_t)file >> 4 ^ (uintptr_t)file >> 10) & (SYMBOLIZER_FILE_MEMO - 1);
	if (b->memo[i].file == file && b->memo[i].dir == dir)
		return b->memo[i].id;
	char *path = NULL;
	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return 0;
	uint32_t id = strtab_add_cstr(b->strings, path);
	free(path);
	b->memo[i].dir = dir;
	b->memo[i].file = file;
	b->memo[i].id = id;
	return id;
}

bool symbolizer_add_line(struct symbolizer_batch *b, struct symaddr *a, const struct symline *line)
{
	if (a->n_lines == 0)
		a->first_line = (uint32_t)b->lines->n;
	if (!line->name || b->lines->n >= UINT32_MAX || !VEC_PUSH(b->lines, *line))
		return false;
	a->n_lines++;
	b->has.filenames |= line->file != 0;
	b->has.line_numbers |= line->line != 0;
	return true;
}

bool symbolizer_add_made_up(struct symbolizer_batch *b, struct symaddr *a, struct symline line)
{
	line.name = line.linkage = symbolizer_made_up_name(b, a->vaddr);
	a->source = SYMBOLIZER_NONE;
	return symbolizer_add_line(b, a, &line);
}

bool symbolizer_resolve_nameless(struct symbolizer_batch *b, struct symaddr *a)
{
	return symbolizer_add_made_up(b, a, (struct symline){0});
}

int symbolizer_resolve_each(struct symbolizer_batch *b, struct symaddr *addr, size_t n,
			    bool (*resolve)(struct symbolizer_batch *, struct symaddr *))
{
	for (size_t i = 0; i < n; i++)
		if (!resolve(b, &addr[i]))
			return -ENOMEM;
	return 0;
}
