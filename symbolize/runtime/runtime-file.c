#include "symbolize/runtime/runtime-file.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-private.h"

#include <stdlib.h>

struct runtime_file *runtime_file_new(struct cfi *c)
{
	struct runtime_file *f = calloc(1, sizeof(*f));
	if (f)
		f->cfi = c;
	return f;
}

void runtime_file_free(struct runtime_file *f)
{
	if (f && f->runtime)
		f->runtime->close_file(f->data);
	free(f);
}

static void search_runtime(struct runtime_file *f)
{
	f->is_searched = true;
	for (unsigned int i = 0; i < RUNTIME_N; i++) {
		if (!runtime_table[i]->open_file)
			continue;
		f->data = runtime_table[i]->open_file(f->cfi);
		if (f->data) {
			f->runtime = runtime_table[i];
			return;
		}
	}
}

/* The runtime whose file it is, searched when first needed. */
static const struct runtime *runtime_of(struct runtime_file *f)
{
	if (f && !f->is_searched)
		search_runtime(f);
	return f ? f->runtime : NULL;
}

void *runtime_file_data(struct runtime_file *f, const struct runtime *runtime)
{
	return runtime_of(f) == runtime ? f->data : NULL;
}

bool runtime_file_switches(int fd)
{
	struct cfi *c = NULL;
	if (cfi_open_file(fd, &c) < 0)
		return false;
	struct runtime_file f = { .cfi = c };
	const struct runtime *runtime = runtime_of(&f);
	bool switches = runtime && runtime->caller;
	if (runtime)
		runtime->close_file(f.data);
	cfi_close(c);
	return switches;
}

void runtime_file_rule(const struct module *m, uint64_t vaddr, struct cfi_rule *ret)
{
	cfi_rule_at(m->cfi, vaddr, ret);
	/* a runtime's own table is more precise than the .debug_frame that was generated from it */
	if (!m->file || (ret->kind != CFI_NONE && !(ret->flags & CFI_FLAG_DEBUG)))
		return;
	const struct runtime *runtime = runtime_of(m->file);
	if (runtime)
		runtime->rule(m->file->data, vaddr, ret);
}

bool runtime_file_function(const struct module *m, uint64_t vaddr, uint64_t *ret_start)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (cfi_find_fde(m->cfi, vaddr, &fde, &off, &is_debug) == CFI_FOUND) {
		*ret_start = fde.start;
		return true;
	}
	const struct runtime *runtime = runtime_of(m->file);
	return runtime && runtime->function(m->file->data, vaddr, ret_start);
}

bool runtime_file_is_wrapper(const struct module *m, uint64_t vaddr)
{
	const struct runtime *runtime = runtime_of(m->file);
	return runtime && runtime->is_wrapper && runtime->is_wrapper(m->file->data, vaddr);
}
