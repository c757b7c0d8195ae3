#include "profile/names-mapping.h"

#include "base/strtab.h"
#include "cprof-names.h"
#include "engine/engine.h"
#include "proto/pprof.h"
#include "symbolize/kernel/symkernel.h"
#include "symbolize/kernel/symklink.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_NAME "[kernel.kallsyms]"

/* A linear search suffices: there are a few dozen mappings at most, and callers mostly try the one
 * of their last address first. */

uint32_t names_mapping_add(struct names *n, struct names_mapping m)
{
	for (size_t i = 0; i < n->mappings.n; i++) {
		const struct names_mapping *have = &n->mappings.v[i];
		if (have->filename == m.filename && have->build_id == m.build_id &&
		    have->start == m.start)
			return (uint32_t)i;
	}
	return VEC_PUSH(&n->mappings, m) ? (uint32_t)n->mappings.n - 1 : NAMES_NO_MAPPING;
}

void names_mapping_none(struct engine *g, struct names *n)
{
	names_mapping_add(n, (struct names_mapping){
		.filename = strtab_add_cstr(&g->strings, PPROF_NO_MAIN),
	});
}

/* By hand: this is done for each known name of each profile. */
static uint32_t build_id_text(struct engine *g, const uint8_t *id, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	char text[2 * DSO_BUILD_ID_MAX], *end = text;
	for (size_t i = 0; i < n && i < DSO_BUILD_ID_MAX; i++) {
		*end++ = digit[id[i] >> 4];
		*end++ = digit[id[i] & 15];
	}
	return strtab_add(&g->strings, text, (size_t)(end - text));
}

uint32_t names_mapping_dso(struct engine *g, struct names *n, const struct dso *d, uint64_t vaddr)
{
	struct names_mapping m = {
		.limit = UINT64_MAX >> 1,
		.filename = strtab_add_cstr(&g->strings, d->path),
		.build_id = build_id_text(g, d->build_id, d->n_build_id),
	};
	for (uint16_t i = 0; i < d->n_segments; i++) {
		const struct dso_segment *s = &d->segment[i];
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->n_mem_bytes)
			continue;
		m.start = s->vaddr;
		m.limit = s->vaddr + s->n_mem_bytes;
		m.file_off = s->file_off;
		break;
	}
	return names_mapping_add(n, m);
}

static bool wants_real_addresses(const struct names_options *o)
{
	return o->naming && o->naming->kernel_addresses;
}

/* The kernel's map of that address in a recording of another kernel; NULL: none. */
static const struct names_kernel_map *find_map(const struct names_options *o, uint64_t address)
{
	for (size_t i = 0; i < o->n_kernel_maps; i++)
		if (address >= o->kernel_map[i].start && address < o->kernel_map[i].end)
			return &o->kernel_map[i];
	return NULL;
}

/* The shift of a map: the kernel proper's is known if its first symbol is. */
static uint64_t shift_of(const struct names_options *o, const struct names_kernel_map *map,
			 uint64_t address)
{
	if (strcmp(map->filename, KERNEL_NAME) != 0)
		return map->start;
	if (!map->symbol || !*map->symbol || !map->symbol_address)
		return address;
	const struct symklink_first first = { map->symbol_address,
					      strcmp(map->symbol, "_stext") == 0 };
	return symklink_guess(o->kernel_release, first);
}

/* Replaces addresses in memory by those of the profile.  Without a shift, which is the address
 * itself then, nothing is known about the mapping, either. */
static uint32_t add_kernel_mapping(struct names *n, const struct names_options *o,
				   struct names_mapping m, uint64_t shift, uint64_t *address)
{
	if (wants_real_addresses(o))
		return names_mapping_add(n, m);
	bool has_bounds = m.start != 0 && shift != *address;
	*address -= shift;
	m.start = has_bounds ? m.start - shift : 0;
	m.limit = has_bounds ? m.limit - shift : UINT64_MAX;
	m.shift = has_bounds ? shift : 0;
	if (*address < m.start || *address >= m.limit) {
		m.start = m.shift = 0;
		m.limit = UINT64_MAX;
	}
	return names_mapping_add(n, m);
}

uint32_t names_mapping_kernel(struct engine *g, struct names *n, const struct names_options *o,
			      const struct symkernel *k, uint64_t *address)
{
	const char *name, *module = "";
	uint64_t start;
	struct names_mapping m = { .limit = UINT64_MAX };
	char file[80];
	const struct jitcode_entry *code = jitcode_find(&g->kernel_code, *address, UINT64_MAX);
	if (code && code->index == PERF_RECORD_KSYMBOL_TYPE_BPF) {
		m.filename = strtab_add_cstr(&g->strings, "[bpf]");
		return add_kernel_mapping(n, o, m, code->start, address);
	}
	bool is_known = k && symkernel_find(k, *address, &name, &module, &start);
	if (is_known && *module) {
		/* These are no modules: each of their functions was placed by itself. */
		bool is_jit = strcmp(module, "bpf") == 0 || strncmp(module, "__builtin__", 11) == 0;
		uint64_t base = is_jit ? start : symkernel_base(k, module);
		snprintf(file, sizeof(file), "[%s]", module);
		m.filename = strtab_add_cstr(&g->strings, file);
		return add_kernel_mapping(n, o, m, base <= *address ? base : *address, address);
	}
	const struct names_kernel_map *map = k ? NULL : find_map(o, *address);
	if (map) {
		m = (struct names_mapping){
			.start = map->start, .limit = map->end,
			.filename = strtab_add_cstr(&g->strings, map->filename),
			.build_id = build_id_text(g, map->build_id, map->n_build_id),
		};
		return add_kernel_mapping(n, o, m, code ? code->start : shift_of(o, map, *address),
					  address);
	}
	uint8_t id[DSO_BUILD_ID_MAX];
	size_t n_id =
		k && o->symbols.host ? symkernel_build_id(o->symbols.host, id, sizeof(id)) : 0;
	if (k)
		symkernel_text(k, &m.start, &m.limit);
	/* Addresses after the text (init, trampolines) also belong to the kernel. */
	bool is_text = *address >= m.start && *address < m.limit && m.start;
	if (!is_text) {
		m.start = 0;
		m.limit = UINT64_MAX;
	}
	m.filename = strtab_add_cstr(&g->strings, KERNEL_NAME);
	m.build_id = build_id_text(g, id, n_id);
	uint64_t base = k ? symkernel_base(k, "") : 0;
	bool is_image = base && (is_text || is_known) && !code;
	return add_kernel_mapping(n, o, m, code ? code->start : is_image ? symkernel_shift(k)
								     : *address, address);
}

const uint64_t *names_mapping_kernel_shift(const struct engine *g, const struct names *n,
					   const struct names_options *o)
{
	uint32_t name = strtab_find(&g->strings, KERNEL_NAME, strlen(KERNEL_NAME));
	for (size_t i = 0; i < n->mappings.n && !wants_real_addresses(o); i++)
		if (n->mappings.v[i].filename == name && n->mappings.v[i].start)
			return &n->mappings.v[i].shift;
	return NULL;
}

bool names_mapping_holds(const struct names *n, uint32_t m, enum dso_kind kind, uint64_t vaddr)
{
	if (m == NAMES_NO_MAPPING)
		return false;
	const struct names_mapping *have = &n->mappings.v[m];
	vaddr -= have->shift;
	return vaddr >= have->start && vaddr < have->limit &&
	       (kind != DSO_KERNEL || have->start != 0);
}
