/*
 * stackpack [-n SAMPLES] [-t TITLE] CAPTURE >CORPUS
 *
 * Selects samples of a capture (tests/tools/stackcap) and writes everything that is needed to
 * unwind them on any machine as lines of text, for tests/unwind/replay.c:
 *
 *   # ...                        the title
 *   module NAME                  a module; they are numbered from 0
 *   hdr VADDR BYTES, eh VADDR BYTES    where its .eh_frame_hdr and .eh_frame are
 *   h OFFSET HEX, e OFFSET HEX   bytes of these; all others are 0
 *   c VADDR HEX                  bytes of code that are read
 *   space                        an address space, which contains:
 *   map START END BIAS MODULE
 *   sample END BYTES PEER        how the stack ends; size of the copy; number of frames on which
 *                                libdwfl agrees (tests/unwind/NOTES.md explains the others)
 *   r HEX...                     registers, in perf's order
 *   s WORD HEX...                words of the copy from WORD on; all others are 0
 *   f HEX...                     the expected pcs, innermost first
 *
 * All numbers are hexadecimal, except counts.  The selected samples use as many different rules as
 * possible.  Stacks keep the words that point into code or into the stack, or that are read: all
 * that could mislead an unwinder, and no data of the program.  The bytes of .eh_frame_hdr are those
 * that a binary search reads.
 */

#include "symbolize/cfi/cfi.h"
#include "tests/bench/unwind.h"
#include "tests/tools/stackcap.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOKUPS_MAX 4096
#define STACK_ABOVE_BYTES 256u

enum kind { KIND_HDR, KIND_EH, KIND_CODE, N_KINDS };

struct range { uint64_t from, to; };

struct ranges {
	struct range *v;
	size_t n, cap;
};

/* A file, its sections in memory, and the parts of them that were needed. */
struct packed {
	const struct bench_file *file;
	struct cfi *cfi;                /* from the sections */
	struct cfi_bytes hdr, eh;
	struct ranges need[N_KINDS];
	int number;                     /* -1: not used */
};

struct lookup { uint32_t module; uint64_t vaddr; };

static struct bench_capture capture;
static struct packed *module;           /* parallel to capture.file */
static struct lookup lookup[LOOKUPS_MAX];
static size_t n_lookups;
static bool is_kept;                    /* mark everything that is read as needed */

static void need(struct ranges *r, uint64_t from, uint64_t to)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->v = reallocarray(r->v, r->cap, sizeof(*r->v));
		if (!r->v)
			err(1, "memory");
	}
	r->v[r->n++] = (struct range){ from, to };
}

/* ---- the parts of sections that an address needs -------------------------------------- */

static uint32_t word(const uint8_t *p)
{
	uint32_t x;
	memcpy(&x, p, sizeof(x));
	return x;
}

static void need_entry(struct packed *m, uint64_t off)
{
	const uint8_t *p = m->eh.p;
	if (off + 8 > m->eh.n_bytes)
		return;
	need(&m->need[KIND_EH], off, off + 4 + word(p + off));
	uint64_t cie = off + 4 - word(p + off + 4);
	if (word(p + off + 4) && cie + 4 < m->eh.n_bytes)
		need(&m->need[KIND_EH], cie, cie + 4 + word(p + cie));
}

/* The binary search of cfi.c in pairs of int32_t relative to the header. */
static void need_vaddr(struct packed *m, uint64_t vaddr)
{
	struct cfi *c = m->cfi;
	uint64_t lo = 0, hi = c->n_table, fde = 0;
	const uint8_t *table = (const uint8_t *)m->hdr.p + c->table_off;
	need(&m->need[KIND_HDR], 0, c->table_off);
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		need(&m->need[KIND_HDR], c->table_off + mid * 8, c->table_off + mid * 8 + 8);
		if (m->hdr.vaddr + (uint64_t)(int32_t)word(table + mid * 8) <= vaddr) {
			fde = m->hdr.vaddr + (uint64_t)(int32_t)word(table + mid * 8 + 4);
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	if (lo)
		need_entry(m, fde - m->eh.vaddr);
}

static void open_module(struct packed *m, const struct bench_file *f)
{
	*m = (struct packed){ .file = f, .number = -1 };
	const struct cfi *c = f->cfi;
	if (!c || !c->n_table || c->table_enc != 0x3b)
		return;
	bool is_file = c->hdr.fd >= 0;
	m->hdr = (struct cfi_bytes){ is_file ? f->bytes + c->hdr.file_off : c->hdr.base,
				     c->hdr.n_bytes, c->hdr.vaddr };
	m->eh = (struct cfi_bytes){ is_file ? f->bytes + c->eh.file_off : c->eh.base,
				    c->eh.n_bytes, c->eh.vaddr };
	if (cfi_open_sections(&arch_x86_64, m->hdr, m->eh, (struct cfi_bytes){ 0 }, &m->cfi))
		err(1, "memory");
	m->cfi->fd = c->fd;
	m->cfi->image = c->image;
	m->cfi->n_image_bytes = c->n_image_bytes;
	m->cfi->n_loads = c->n_loads;
	memcpy(m->cfi->load, c->load, sizeof(c->load));
}

/* The linker replaces cfi_read_code by this, to note what is read. */
size_t __real_cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes);
size_t __wrap_cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes);

size_t __wrap_cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes)
{
	size_t n = __real_cfi_read_code(c, vaddr, buf, n_bytes);
	for (size_t i = 0; i < capture.n_files && is_kept && n; i++)
		if (module[i].cfi == c)
			need(&module[i].need[KIND_CODE], vaddr, vaddr + n);
	return n;
}

/* ---- unwinding ------------------------------------------------------------------------- */

static struct packed *module_at(const struct bench_space *s, uint64_t pc,
				const struct bench_map **ret)
{
	if (!bench_find(s, pc, ret))
		return NULL;
	return &module[(*ret)->file->id - 1];
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	const struct bench_map *map;
	struct packed *m = module_at(ctx, pc, &map);
	if (!m)
		return false;
	*ret = (struct module){ .cfi = m->cfi, .bias = map->bias, .id = map->file->id };
	if (n_lookups < LOOKUPS_MAX)
		lookup[n_lookups++] =
			(struct lookup){ (uint32_t)(m - module), pc - map->bias };
	if (is_kept)
		m->number = 0;
	if (is_kept && m->cfi)
		need_vaddr(m, pc - map->bias);
	return true;
}

/* A new space for each call, so that no rule is cached. */
static void run(struct unwind *u, const struct bench_sample *s, const uint8_t *stack,
		uint64_t n_bytes, struct unwind_result *ret)
{
	static uint64_t serial;
	struct unwind_input in = { .regs = &s->regs, .stack = stack, .n_stack_bytes = n_bytes,
		.ctx = s->space, .space = ++serial };
	n_lookups = 0;
	unwind_stack(u, &in, NULL, ret);
}

static struct unwind *new_unwind(void)
{
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module,
				    .n_cache = 1024 };
	struct unwind *u = unwind_new(&o);
	if (!u)
		err(1, "memory");
	return u;
}

/* ---- choice ---------------------------------------------------------------------------- */

struct set { uint64_t *slot; size_t n_slots; };

/* Is it new?  Adds it if `add` is set. */
static bool set_add(struct set *s, struct lookup l, bool add)
{
	uint64_t key = (l.vaddr * 4096 + l.module + 1) * 0x9e3779b97f4a7c15u;
	for (size_t i = key >> 40;; i++) {
		uint64_t *p = &s->slot[i % s->n_slots];
		if (*p == key)
			return false;
		if (*p)
			continue;
		if (add)
			*p = key;
		return true;
	}
}

/* Indexes of n samples that use the most different rules, in *ret. */
static size_t choose(struct unwind *u, size_t n, size_t *ret)
{
	struct set seen = { calloc(1u << 20, sizeof(uint64_t)), 1u << 20 };
	struct unwind_result r;
	size_t n_chosen = 0;
	while (n_chosen < n) {
		size_t best = 0;
		double best_new = 0;
		for (size_t i = 0; i < capture.n_samples; i++) {
			const struct bench_sample *s = &capture.sample[i];
			size_t n_new = 0;
			run(u, s, s->stack, s->n_stack_bytes, &r);
			if (r.n < 2)
				continue;
			for (size_t j = 0; j < n_lookups; j++)
				n_new += set_add(&seen, lookup[j], false);
			/* of two equivalent samples, the one with the smaller stack */
			double gain = (double)n_new / (double)(2048 + r.frame[r.n - 1].sp -
							       r.frame[0].sp);
			if (n_new && gain > best_new) {
				best_new = gain;
				best = i;
			}
		}
		if (!best_new)
			break;
		const struct bench_sample *s = &capture.sample[best];
		run(u, s, s->stack, s->n_stack_bytes, &r);
		for (size_t j = 0; j < n_lookups; j++)
			set_add(&seen, lookup[j], true);
		ret[n_chosen++] = best;
	}
	free(seen.slot);
	return n_chosen;
}

/* ---- writing ----------------------------------------------------------------------------- */

static int range_cmp(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void put_ranges(char letter, struct ranges *r, const uint8_t *bytes, const struct cfi *code)
{
	if (!r->n)
		return;
	qsort(r->v, r->n, sizeof(*r->v), range_cmp);
	for (size_t i = 0; i < r->n;) {
		struct range all = r->v[i];
		for (i++; i < r->n && r->v[i].from <= all.to; i++)
			if (r->v[i].to > all.to)
				all.to = r->v[i].to;
		printf("%c %" PRIx64 " ", letter, all.from);
		for (uint64_t at = all.from; at < all.to; at++) {
			uint8_t b = 0;
			if (code)
				cfi_read_code(code, at, &b, 1);
			else
				b = bytes[at];
			printf("%02x", b);
		}
		printf("\n");
	}
}

static void put_modules(void)
{
	int number = 0;
	for (size_t i = 0; i < capture.n_files; i++) {
		struct packed *m = &module[i];
		if (m->number < 0)
			continue;
		m->number = number++;
		const char *slash = strrchr(m->file->path, '/');
		printf("module %s\n", slash ? slash + 1 : m->file->path);
		if (m->cfi) {
			printf("hdr %" PRIx64 " %zu\neh %" PRIx64 " %zu\n", m->hdr.vaddr,
			       m->hdr.n_bytes, m->eh.vaddr, m->eh.n_bytes);
			put_ranges('h', &m->need[KIND_HDR], m->hdr.p, NULL);
			put_ranges('e', &m->need[KIND_EH], m->eh.p, NULL);
		}
		put_ranges('c', &m->need[KIND_CODE], NULL, m->file->cfi);
	}
}

static void put_space(const struct bench_space *s)
{
	printf("space\n");
	for (uint32_t i = 0; i < s->n; i++) {
		const struct packed *m = &module[s->map[i].file->id - 1];
		if (m->number >= 0)
			printf("map %" PRIx64 " %" PRIx64 " %" PRIx64 " %d\n", s->map[i].start,
			       s->map[i].end, s->map[i].bias, m->number);
	}
}

/* Clears the words of a copy that are irrelevant to an unwinder. */
static void clean(const struct bench_sample *s, uint64_t *stack, size_t n_words)
{
	uint64_t sp = s->regs.r[arch_x86_64.sp];
	const struct bench_map *map;
	for (size_t i = 0; i < n_words; i++)
		if (stack[i] - sp >= s->n_stack_bytes && !bench_find(s->space, stack[i], &map))
			stack[i] = 0;
}

static bool is_same(const struct unwind_result *r, const uint64_t *pc, uint32_t n,
		    enum unwind_end end)
{
	if (r->n != n || r->end != end)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (r->frame[i].pc != pc[i])
			return false;
	return true;
}

/* The sample with the cleared and shortened stack; false if it does not unwind to the same
 * result. */
static bool put_sample(struct unwind *u, const struct bench_sample *s, bool is_dry)
{
	static const int8_t dwarf[STACKCAP_N_REGS_X86] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11,
		12, 13, 14, 15 };
	struct unwind_result r;
	uint64_t pc[BENCH_DEPTH_MAX], peer[BENCH_DEPTH_MAX];
	run(u, s, s->stack, s->n_stack_bytes, &r);
	uint32_t n = r.n;
	enum unwind_end end = r.end;
	if (n > BENCH_DEPTH_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		pc[i] = r.frame[i].pc;
	uint64_t n_bytes = s->n_stack_bytes;
	uint64_t used = r.frame[n - 1].sp - r.frame[0].sp + STACK_ABOVE_BYTES;
	if (end == UNWIND_ROOT && used < n_bytes)
		n_bytes = used & ~7ull;
	uint64_t *stack = malloc(n_bytes + 8);
	if (!stack)
		err(1, "memory");
	memcpy(stack, s->stack, n_bytes);
	clean(s, stack, n_bytes / 8);
	run(u, s, (const uint8_t *)stack, n_bytes, &r);
	bool ok = is_same(&r, pc, n, end);
	if (!ok || is_dry) {
		free(stack);
		return ok;
	}
	size_t n_found = bench_dwfl(&capture, s, peer), n_peer = 0;
	while (n_peer < n_found && n_peer < n && peer[n_peer] == pc[n_peer])
		n_peer++;
	printf("sample %d %" PRIu64 " %zu\nr", (int)end, n_bytes, n_peer);
	for (int i = 0; i < STACKCAP_N_REGS_X86; i++)
		printf(" %" PRIx64, s->regs.r[dwarf[i]]);
	for (size_t i = 0; i < n_bytes / 8; i++) {
		if (!stack[i])
			continue;
		if (i == 0 || !stack[i - 1])
			printf("\ns %zx", i);
		printf(" %" PRIx64, stack[i]);
	}
	printf("\nf");
	for (uint32_t i = 0; i < n; i++)
		printf(" %" PRIx64, pc[i]);
	printf("\n");
	free(stack);
	return true;
}

int main(int argc, char **argv)
{
	size_t n = 24;
	const char *title = NULL;
	for (int c; (c = getopt(argc, argv, "n:t:")) != -1;) {
		switch (c) {
		case 'n': n = strtoul(optarg, NULL, 0); break;
		case 't': title = optarg; break;
		default: return 64;
		}
	}
	if (optind + 1 != argc)
		errx(64, "usage: stackpack [-n SAMPLES] [-t TITLE] CAPTURE");
	bench_load(argv[optind], &capture);
	module = calloc(capture.n_files + 1, sizeof(*module));
	size_t *index = calloc(n + 1, sizeof(*index));
	if (!module || !index)
		err(1, "memory");
	for (size_t i = 0; i < capture.n_files; i++)
		open_module(&module[i], capture.file[i]);
	struct unwind *u = new_unwind();
	n = choose(u, n, index);
	size_t n_good = 0;
	for (size_t i = 0; i < n; i++) {
		is_kept = false;
		if (!put_sample(u, &capture.sample[index[i]], true))
			continue;
		/* again with an empty cache, so that all code that is needed is read */
		struct unwind *fresh = new_unwind();
		is_kept = true;
		put_sample(fresh, &capture.sample[index[i]], true);
		unwind_free(fresh);
		index[n_good++] = index[i];
	}
	is_kept = false;
	if (title)
		printf("# %s\n", title);
	put_modules();
	const struct bench_space *space = NULL;
	for (size_t i = 0; i < n_good; i++) {
		const struct bench_sample *s = &capture.sample[index[i]];
		if (s->space != space)
			put_space(s->space);
		space = s->space;
		put_sample(u, s, false);
	}
	fprintf(stderr, "stackpack: %zu of %zu samples\n", n_good, capture.n_samples);
	return 0;
}
