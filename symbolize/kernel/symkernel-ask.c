/*
 * A table with the functions of some addresses only, as the kernel names them.  Between them are
 * gaps.
 */

#include "symbolize/kernel/symkernel-private.h"

#include "base/cleanup.h"
#include "symbolize/kernel/symkask.h"
#include "symbolize/kernel/symklink.h"

#include <errno.h>
#include <string.h>

CLEANUP_DEFINE(struct symkask, symkask_close)
CLEANUP_DEFINE(struct symkernel, symkernel_close)

static int ask_bounds(struct symkask *a, struct symkernel *k)
{
	k->text_start = symkask_find(a, "_stext");
	k->text_end = symkask_find(a, "_etext");
	k->base = symkask_find(a, "_text");
	return k->text_start && k->text_start < k->text_end ? 0 : -ENOENT;
}

/* Outside of the kernel proper and of modules there are BPF programs, whose names always begin so
 * (bpf_prog_*, bpf_trampoline_*).  kallsyms has a module "bpf" for them. */
static bool is_bpf(const struct symkernel *k, uint64_t address, const struct symkask_answer *got)
{
	return (address < k->text_start || address >= k->text_end) && got->n_name > 4 &&
	       memcmp(got->name, "bpf_", 4) == 0;
}

static int add_answer(struct symkernel *k, uint64_t address, const struct symkask_answer *got)
{
	uint64_t start = address - got->offset;
	uint32_t module = 0;
	int r = 0;
	if (start > address || start + got->n_bytes < start)
		return -ENOENT;
	if (got->n_module)
		r = symkernel_add_module(k, got->module, got->n_module, &module);
	else if (is_bpf(k, address, got))
		r = symkernel_add_module(k, "bpf", 3, &module);
	if (r < 0 ||
	    (r = symkernel_add_symbol(k, start, module, got->name, got->n_name)) < 0)
		return r;
	return symkernel_add_gap(k, start + got->n_bytes, module);
}

/*
 * Code outside of the kernel proper may have no name: classic BPF programs (seccomp filters, which
 * run at each system call of a container, and packet filters) and what was unloaded meanwhile are
 * not in kallsyms, either.
 */
static int ask_all(struct symkask *a, struct symkernel *k, const uint64_t *address, size_t n)
{
	struct symkask_answer got;
	uint64_t end = 0;  /* of the last function */
	for (size_t i = 0; i < n; i++) {
		if (address[i] < end)
			continue;
		int r = symkask_name(a, address[i], &got);
		if (r == 0 && (address[i] < k->text_start || address[i] >= k->text_end))
			continue;
		r = r > 0 ? add_answer(k, address[i], &got) : r == 0 ? -ENOENT : r;
		if (r < 0)
			return r;
		end = address[i] - got.offset + got.n_bytes;
	}
	return 0;
}

int symkernel_ask_open(const struct host *h, const uint64_t *address, size_t n,
		       const uint64_t *shift, struct symkernel **ret_kernel)
{
	CLEANUP(symkask_closep) struct symkask *a = NULL;
	CLEANUP(symkernel_closep) struct symkernel *k = NULL;
	int r = symkask_open(&a);
	if (r < 0 || (r = symkernel_new(&k)) < 0 || (r = ask_bounds(a, k)) < 0 ||
	    (r = ask_all(a, k, address, n)) < 0)
		return r;
	if (k->module.n > 1 && (r = symkernel_add_modules(k, h)) < 0)
		return r;
	r = symkernel_sort(k);
	if (r < 0)
		return r;
	k->shift = shift ? *shift : symklink_running(h, (struct symklink_first){
						symkernel_base(k, ""), !k->base });
	*ret_kernel = TAKE_PTR(k);
	return 0;
}
