/*
 * The table of runtimes, in the order in which they are asked; the first answer counts.  A new
 * runtime is one file with a struct runtime, and a line here and in runtime-private.h.
 */

#include "symbolize/runtime/runtime-private.h"

#include "symbolize/runtime/runtime-file.h"

#include <errno.h>
#include <string.h>

const struct runtime *const runtime_table[RUNTIME_N] = {
	&runtime_go, &runtime_hotspot, &runtime_v8, &runtime_musl, &runtime_boost,
	&runtime_libcrypto,
};

const struct runtime *runtime_of_library(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	for (unsigned int i = 0; slash && i < RUNTIME_N; i++) {
		const char *library = runtime_table[i]->library;
		if (library && strncmp(slash + 1, library, strlen(library)) == 0)
			return runtime_table[i];
	}
	return NULL;
}

const struct runtime *runtime_of_program(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	for (unsigned int i = 0; slash && i < RUNTIME_N; i++)
		if (runtime_table[i]->program && strcmp(slash + 1, runtime_table[i]->program) == 0)
			return runtime_table[i];
	return NULL;
}

bool runtime_is_first(const struct arch *arch, const uint8_t *code, size_t n_bytes)
{
	for (unsigned int i = 0; i < RUNTIME_N; i++)
		if (runtime_table[i]->is_first && runtime_table[i]->is_first(arch, code, n_bytes))
			return true;
	return false;
}

enum runtime_root runtime_root(const struct arch *arch, const uint8_t *code, size_t n_bytes)
{
	enum runtime_root root = RUNTIME_ROOT_NO;
	for (unsigned int i = 0; i < RUNTIME_N && root == RUNTIME_ROOT_NO; i++)
		if (runtime_table[i]->root)
			root = runtime_table[i]->root(arch, code, n_bytes);
	return root;
}

bool runtime_cfa(const struct runtime_lost_cfa *l, uint64_t *ret)
{
	for (unsigned int i = 0; i < RUNTIME_N; i++)
		if (runtime_table[i]->cfa && runtime_table[i]->cfa(l, ret))
			return true;
	return false;
}

enum runtime_caller runtime_caller(const struct runtime_switch *s, uint64_t *ret_ra)
{
	struct module m;
	if (!s->find_module(s->ctx, s->at, &m))
		return RUNTIME_CALLER_DENIED;
	for (unsigned int i = 0; i < RUNTIME_N; i++)
		if (runtime_table[i]->caller && runtime_file_data(m.file, runtime_table[i]))
			return runtime_table[i]->caller(s, ret_ra);
	return RUNTIME_CALLER_DENIED;
}

/* ---- names ------------------------------------------------------------------------------- */

int runtime_names_open(struct Elf *elf, struct runtime_names *ret)
{
	*ret = (struct runtime_names){ 0 };
	for (unsigned int i = 0; i < RUNTIME_N; i++) {
		if (!runtime_table[i]->open_names)
			continue;
		int r = runtime_table[i]->open_names(elf, &ret->data);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			ret->runtime = runtime_table[i];
		return r < 0 ? r : 1;
	}
	return 0;
}

void runtime_names_close(struct runtime_names *n)
{
	if (n->runtime)
		n->runtime->close_names(n->data);
}

size_t runtime_names_find(const struct runtime_names *n, uint64_t vaddr,
			  struct symdwarf_frame *frame, size_t max)
{
	return n->runtime ? n->runtime->names(n->data, vaddr, frame, max) : 0;
}
