#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include "base/err.h"
#include "cprof-names.h"
#include "profile/namecache.h"
#include "profile/names-kept.h"
#include "profile/names-mapping.h"
#include "profile/names.h"
#include "symbolize/elf/dso.h"

#include <inttypes.h>

/* A function that is known from [0x100, 0x180) of a file, which is mapped at a different address
 * by each process. */

#define FILE_PATH "/nowhere/lib/libx.so.1"

static uint32_t frame_at(const struct engine *g, uint64_t vaddr)
{
	for (uint32_t i = 0; i < g->frames.n; i++)
		if (g->frames.v[i].vaddr == vaddr)
			return i;
	return UINT32_MAX;
}

/* Samples of the file at two addresses. */
static void begin(struct engine *g, uint64_t start, uint64_t a, uint64_t b)
{
	feed_open(g, 0);
	feed_comm(g, 7, 7, "prog", true);
	feed_mmap(g, 7, start, 0x1000, 0, FILE_PATH);
	feed_sample(g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, start + a));
	feed_sample(g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, start + b));
	struct dso *d = dso_get(&g->dsos, g->frames.v[frame_at(g, a)].dso);
	d->n_build_id = 4;
	memcpy(d->build_id, "\1\2\3\4", 4);
}

/* The names that a look-up in that file would give. */
static void set_names(struct engine *g, struct names *n, uint64_t vaddr, bool has_range)
{
	uint32_t i = frame_at(g, vaddr);
	struct symline line = { .name = strtab_add_cstr(&g->strings, "f") };
	line.linkage = line.name;
	if (!VEC_EXTEND(&n->frames, g->frames.n) || !VEC_PUSH(&n->lines, line))
		abort();
	n->frames.v[i] = (struct names_frame){
		.first_line = (uint32_t)n->lines.n - 1, .n_lines = 1, .address = vaddr,
		.source = SYMBOLIZER_SYMTAB,
		.mapping = names_mapping_dso(g, n, dso_get(&g->dsos, g->frames.v[i].dso), vaddr),
	};
	if (has_range) {
		n->frames.v[i].same_before = (uint32_t)vaddr - 0x100;
		n->frames.v[i].same_after = 0x180 - (uint32_t)vaddr;
	}
}

static void keep(const struct engine *g, const struct names *n, struct namecache *known)
{
	struct names_options o = { 0 };
	struct namecache_bytes b = { 0 };
	tap_ok(names_kept_put(g, n, &o, known, &b) &&
	       namecache_add(known, b.data.v, b.data.n, 1 << 20) == (long)b.data.n, "kept");
	VEC_FREE(&b.data);
}

/* "name 0xaddress" of a frame. */
static const char *named(const struct engine *g, const struct names *n, uint64_t vaddr)
{
	static char text[128];
	const struct names_frame *f = &n->frames.v[frame_at(g, vaddr)];
	snprintf(text, sizeof(text), "%s 0x%" PRIx64,
		 strtab_get(&g->strings, n->lines.v[f->first_line].name), f->address);
	return text;
}

static void test_range(bool has_range)
{
	static struct engine first, second;
	struct names n = { 0 }, other = { 0 };
	struct namecache known = { 0 };
	struct names_options o = { .known = &known };
	struct err e;
	begin(&first, 0x400000, 0x110, 0x120);
	set_names(&first, &n, 0x110, has_range);
	set_names(&first, &n, 0x120, has_range);
	keep(&first, &n, &known);
	tap_int(known.now ? known.now->n_entries : 0, has_range ? 1 : 2,
		has_range ? "a function is kept once" : "addresses are kept");
	begin(&second, 0x500000, has_range ? 0x17f : 0x120, 0x180);
	tap_int(names_resolve(&second, &o, &other, &e), 0, "resolved");
	if (has_range)
		tap_str(named(&second, &other, 0x17f), "f 0x17f", "another address of it");
	else
		tap_str(named(&second, &other, 0x120), "f 0x120", "a known address");
	tap_str(named(&second, &other, 0x180), "[libx.so.1]+0x180 0x180", "and one after it");
	uint32_t n_before = known.now ? known.now->n_entries : 0;
	keep(&second, &other, &known);
	tap_int(known.now ? known.now->n_entries : 0, n_before + 1, "only the other one is new");
	names_done(&n);
	names_done(&other);
	namecache_done(&known);
	engine_done(&first);
	engine_done(&second);
}

/* What was taken from the older generation is sent again, with its range. */
static void test_again(void)
{
	static struct engine g;
	struct names n = { 0 }, other = { 0 };
	struct namecache known = { 0 };
	struct names_options o = { .known = &known };
	struct err e;
	begin(&g, 0x400000, 0x110, 0x150);
	set_names(&g, &n, 0x110, true);
	keep(&g, &n, &known);
	known.before = known.now;
	known.now = NULL;
	tap_int(names_resolve(&g, &o, &other, &e), 0, "resolved");
	tap_str(named(&g, &other, 0x150), "f 0x150", "known from the older generation");
	keep(&g, &other, &known);
	const struct namecache_generation *in;
	char id_and_path[] = "01020304 " FILE_PATH;
	struct namecache_file file = namecache_file(&known, id_and_path);
	const struct namecache_entry *entry = namecache_find(&known, file, 0x100, &in);
	tap_ok(entry && in == known.now && entry->vaddr == 0x100 && entry->end == 0x180,
	       "its range is in the newer one");
	names_done(&n);
	names_done(&other);
	namecache_done(&known);
	engine_done(&g);
}

/* Where the kernel is need not be found out again. */
static void test_shift(void)
{
	static struct engine g;
	struct cprof_naming naming = { .kernel_addresses = true };
	struct names n = { 0 };
	struct names_options o = { 0 }, real = { .naming = &naming };
	feed_open(&g, 0);
	tap_ok(!names_mapping_kernel_shift(&g, &n, &o), "no kernel, no shift");
	struct names_mapping m = {
		.limit = UINT64_MAX, .filename = strtab_add_cstr(&g.strings, "[kernel.kallsyms]"),
	};
	names_mapping_add(&n, m);
	tap_ok(!names_mapping_kernel_shift(&g, &n, &o), "an unknown part of it shows no shift");
	m = (struct names_mapping){ 0xffffffff81000000, 0xffffffff82000000, .shift = 0x1a000000,
				    .filename = m.filename };
	names_mapping_add(&n, m);
	const uint64_t *shift = names_mapping_kernel_shift(&g, &n, &o);
	tap_ok(shift && *shift == 0x1a000000, "the kernel proper does");
	tap_ok(!names_mapping_kernel_shift(&g, &n, &real), "real addresses show none");
	names_done(&n);
	engine_done(&g);
}

int main(void)
{
	test_shift();
	test_range(true);
	test_range(false);
	test_again();
	return tap_done();
}
