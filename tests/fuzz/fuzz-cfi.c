/*
 * Call frame information in all its containers.  The first byte selects the machine and the meaning
 * of the rest: .eh_frame_hdr, .eh_frame and .debug_frame (with two u16, the sizes of the first
 * two), an ELF image, an ELF file, or a single expression.  Looks up the rules at some addresses of
 * every function, and evaluates every rule with registers and memory that are always readable.
 */

#include "symbolize/cfi/cfi-eval.h"
#include "symbolize/cfi/cfi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum cfi_eval get_reg(void *ctx, unsigned int reg, uint64_t *ret)
{
	(void)ctx;
	if (reg >= ARCH_REGS_MAX)
		abort();
	*ret = 0x1000u * reg;
	return CFI_EVAL_OK;
}

static enum cfi_eval get_memory(void *ctx, uint64_t at, size_t n_bytes, uint64_t *ret)
{
	(void)ctx;
	if (!n_bytes || n_bytes > 8)
		abort();
	*ret = at * 0x9e3779b97f4a7c15u >> (64 - 8 * n_bytes);
	return CFI_EVAL_OK;
}

static const struct cfi_eval_env env = { .bias = 0x1000, .reg = get_reg, .read = get_memory };

/* Cached results must not change later ones. */
static void forget(struct cfi *c)
{
	memset(c->cached, 0, sizeof(c->cached));
	memset(c->cached_row, 0, sizeof(c->cached_row));
	free(c->last);
	c->last = NULL;
	cfi_table_done(&c->table);
}

static void ask(struct cfi *c, uint64_t vaddr)
{
	struct cfi_rule rule, again;
	struct cfi_row row;
	uint64_t x;
	cfi_rule_at(c, vaddr, &rule);
	forget(c);
	cfi_rule_at(c, vaddr, &again);
	if (rule.kind == CFI_EMPTY || rule.kind >= CFI_N_KINDS ||
	    memcmp(&rule, &again, sizeof(rule)))
		abort();
	if (rule.kind == CFI_UNUSUAL && cfi_row_again(c, &rule, vaddr, &row) != CFI_FOUND)
		abort();
	if (cfi_row_at(c, vaddr, &row) != CFI_FOUND)
		return;
	if (row.cfa.how == CFI_HOW_VAL_EXPR)
		cfi_eval_expr(&env, row.cfa.expr, row.cfa.n_expr_bytes, NULL, &x);
	for (unsigned int i = 0; i < c->arch->n_regs; i++)
		cfi_eval_reg(&env, &row.reg[i], i, 0x7000, &x);
}

static void ask_all(struct cfi *c)
{
	const struct cfi_index *index[] = { &c->eh_index, &c->debug_index };
	static const uint64_t some[] = { 0, 1, 0x1000, 0x1010, 0x2000, 0x401000, ~0ull };
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		ask(c, some[i]);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < index[k]->entry.n && i < 64; i++) {
			const struct cfi_index_entry *e = &index[k]->entry.v[i];
			ask(c, e->start);
			ask(c, e->start + e->n_bytes / 2);
			ask(c, e->start + e->n_bytes - 1);
		}
	}
	/* functions in the table */
	for (uint64_t i = 0; i < c->n_table && i < 16; i++) {
		const uint8_t *p = cfi_section_get(&c->hdr, c->table_off + i * 8, 4);
		int32_t v;
		if (!p)
			break;
		memcpy(&v, p, 4);
		ask(c, c->hdr.vaddr + (uint64_t)(int64_t)v);
		ask(c, c->hdr.vaddr + (uint64_t)(int64_t)v + 8);
	}
	cfi_bytes_held(c);
}

static void sections(const struct arch *a, const uint8_t *p, size_t n)
{
	uint16_t n_hdr, n_eh;
	struct cfi *c;
	if (n < 4)
		return;
	memcpy(&n_hdr, p, 2);
	memcpy(&n_eh, p + 2, 2);
	p += 4;
	n -= 4;
	if (n_hdr > n)
		n_hdr = (uint16_t)n;
	if (n_eh > n - n_hdr)
		n_eh = (uint16_t)(n - n_hdr);
	struct cfi_bytes hdr = { p, n_hdr, 0x8000 }, eh = { p + n_hdr, n_eh, 0x9000 },
		debug = { p + n_hdr + n_eh, n - n_hdr - n_eh, 0 };
	if (cfi_open_sections(a, hdr, eh, debug, &c))
		return;
	ask_all(c);
	cfi_close(c);
}

static void file(const uint8_t *p, size_t n)
{
	struct cfi *c;
	int fd = memfd_create("fuzz-cfi", MFD_CLOEXEC);
	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	if (cfi_open_file(fd, &c) == 0) {
		cfi_add_debug_file(c, fd);
		if (ftruncate(fd, (off_t)(n / 2)))
			abort();
		ask_all(c);
		cfi_close(c);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t x;
	if (!size)
		return 0;
	const struct arch *a = data[0] & 1 ? &arch_arm64 : &arch_x86_64;
	const uint8_t *p = data + 1;
	size_t n = size - 1;
	struct cfi *c;
	switch (data[0] >> 1 & 3) {
	case 0:
		sections(a, p, n);
		break;
	case 1:
		if (cfi_open_image(p, n, &c) == 0) {
			ask_all(c);
			cfi_close(c);
		}
		break;
	case 2:
		file(p, n);
		break;
	default:
		cfi_eval_expr(&env, p, n, n & 1 ? &(uint64_t){ 5 } : NULL, &x);
	}
	return 0;
}
