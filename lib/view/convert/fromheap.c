/* All addresses are return addresses: minus 1 they are inside the call. */

#include "view/convert/fromheap.h"

#include "base/err.h"
#include "base/hash.h"
#include "proto/pprof.h"
#include "source/maps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_MAX 65536u

/* Frames below these are the allocator's; what they allocate belongs to their callers. */
#define DROP_FRAMES \
	"(je_|tc_|__libc_)?(malloc|calloc|realloc|reallocarray|memalign|posix_memalign|" \
	"aligned_alloc|valloc|pvalloc|mallocx|rallocx|new|newarray|new_nothrow|" \
	"newarray_nothrow)|operator new(\\[\\])?(\\(.*\\))?|_Zn[wa].*"

static const char *const type_names[3][2] = {
	{ "alloc_objects", "alloc_space" }, { "inuse_objects", "inuse_space" },
	{ "peak_objects", "peak_space" },
};

int fromheap_begin(struct fromheap *x, unsigned types, uint64_t period, struct err *e)
{
	*x = (struct fromheap){ .types = types };
	int r = from_begin(&x->from, e);
	if (r < 0)
		return r;
	struct pprof *p = x->from.p;
	for (unsigned i = 0; i < 3; i++)
		if (types >> i & 1) {
			pprof_sample_type(p, type_names[i][0], "count");
			pprof_sample_type(p, type_names[i][1], "bytes");
		}
	pprof_default_sample_type(p, type_names[types & FROMHEAP_PEAK ? 2 : 1][1]);
	pprof_period(p, "space", "bytes", period > INT64_MAX ? INT64_MAX : (int64_t)period);
	pprof_filters(p, DROP_FRAMES, "", "");
	return 0;
}

void fromheap_done(struct fromheap *x)
{
	from_done(&x->from);
	VEC_FREE(&x->map);
	free(x->maps_text);
	VEC_FREE(&x->address);
	hashindex_done(&x->by_address);
	VEC_FREE(&x->ids);
}

/* ---- mappings ------------------------------------------------------------------------------ */

static int compare_maps(const void *a, const void *b)
{
	const struct fromheap_map *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t mapping_id(struct fromheap *x, struct fromheap_map *m)
{
	if (!m->id)
		m->id = pprof_mapping(x->from.p, &(struct pprof_mapping){
			.memory_start = m->start, .memory_limit = m->end,
			.file_offset = m->file_off, .filename = m->name, .build_id = "" });
	return m->id;
}

static int read_maps(struct fromheap *x, struct fromtext maps)
{
	struct maps_entry entry;
	char *at = x->maps_text = strndup(maps.at, fromtext_left(&maps));
	struct fromheap_map *main_binary = NULL;
	if (!at)
		return -ENOMEM;
	while (maps_next(&at, &entry))
		if (entry.prot & PROT_EXEC &&
		    !VEC_PUSH(&x->map, ((struct fromheap_map){ entry.start, entry.end, entry.pgoff,
							       entry.name, 0 })))
			return -ENOMEM;
	if (!x->map.n)
		return 0;
	/* The kernel's order: the program comes first. */
	struct fromheap_map first = x->map.v[0];
	qsort(x->map.v, x->map.n, sizeof(*x->map.v), compare_maps);
	for (size_t i = 0; i < x->map.n; i++)
		if (x->map.v[i].start == first.start && x->map.v[i].name == first.name)
			main_binary = &x->map.v[i];
	if (main_binary)
		mapping_id(x, main_binary);
	return 0;
}

int fromheap_maps(struct fromheap *x, struct fromtext all, struct fromtext *ret_rest, struct err *e)
{
	static const char title[] = "MAPPED_LIBRARIES:";
	const char *at = memmem(all.at, fromtext_left(&all), title, strlen(title));
	*ret_rest = (struct fromtext){ all.at, at ? at : all.end };
	int r = at ? read_maps(x, (struct fromtext){ at + strlen(title), all.end }) : 0;
	return r < 0 ? err_errno(e, -r, "cannot hold the profile") : 0;
}

static struct fromheap_map *find_map(struct fromheap *x, uint64_t address)
{
	size_t low = 0, high = x->map.n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (x->map.v[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->map.n && x->map.v[low].start <= address ? &x->map.v[low] : NULL;
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* 0: no memory. */
static uint64_t location_id(struct fromheap *x, uint64_t address)
{
	uint64_t hash = hash_u64(address);
	uint32_t at = HASHINDEX_FIND(&x->by_address, hash, i, x->address.v[i] == address);
	if (at != HASHINDEX_NONE)
		return (uint64_t)at + 1;
	at = (uint32_t)x->address.n;
	if (x->address.n >= HASHINDEX_NONE - 1 || !VEC_PUSH(&x->address, address) ||
	    !hashindex_add(&x->by_address, hash, at))
		return 0;
	struct fromheap_map *m = find_map(x, address);
	return pprof_location(x->from.p, m ? mapping_id(x, m) : 0, address, NULL, 0, false);
}

/* Is it code of an allocator in a library of its own?  What that allocates belongs to its callers,
 * and its own functions often have no names. */
static bool is_allocator(struct fromheap *x, uint64_t address)
{
	const struct fromheap_map *m = find_map(x, address);
	const char *base = m ? strrchr(m->name, '/') : NULL;
	return base && (strncmp(base, "/libjemalloc.", 13) == 0 ||
			strncmp(base, "/libtcmalloc", 12) == 0);
}

int fromheap_addresses(struct fromheap *x, struct fromtext list)
{
	uint64_t address;
	x->ids.n = 0;
	while (fromtext_number(&list, 16, &address)) {
		if (!x->ids.n && is_allocator(x, address))
			continue;
		uint64_t id = x->ids.n < STACK_MAX ? location_id(x, address ? address - 1 : 0) : 0;
		if (x->ids.n >= STACK_MAX)
			return -EINVAL;
		if (!id || !VEC_PUSH(&x->ids, id))
			return -ENOMEM;
	}
	fromtext_skip(&list);
	return list.at == list.end ? 0 : -EINVAL;
}

/* ---- values -------------------------------------------------------------------------------- */

struct fromheap_pair fromheap_unbias(struct fromheap_pair p, uint64_t period)
{
	if (!p.n || !p.n_bytes || period <= 1)
		return p;
	double each = (double)p.n_bytes / (double)p.n;
	double one_of = -expm1(-each / (double)period);
	double n = (double)p.n / one_of, n_bytes = (double)p.n_bytes / one_of;
	return (struct fromheap_pair){
		n < 0x1p63 ? (uint64_t)n : INT64_MAX,
		n_bytes < 0x1p63 ? (uint64_t)n_bytes : INT64_MAX,
	};
}

static int64_t value_of(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

void fromheap_sample(struct fromheap *x, const struct fromheap_pair pair[3], uint64_t each)
{
	int64_t value[6];
	size_t n = 0;
	bool any = false;
	x->n_stacks++;
	for (unsigned i = 0; i < 3; i++) {
		if (!(x->types >> i & 1))
			continue;
		value[n++] = value_of(pair[i].n);
		value[n++] = value_of(pair[i].n_bytes);
		any |= pair[i].n || pair[i].n_bytes;
	}
	const struct pprof_label label = { .key = "bytes", .num = value_of(each),
					   .num_unit = "bytes" };
	if (any)
		pprof_sample(x->from.p, x->ids.v, x->ids.n, value, n, &label, each ? 1 : 0);
}

int fromheap_finish(struct fromheap *x, struct model **ret, struct err *e)
{
	if (!x->n_stacks)
		return err_set(e, EINVAL, "the file has no stacks");
	return from_finish(&x->from, ret, e);
}
