#include "profile/names-mapping.h"

#include "base/strtab.h"
#include "engine/engine.h"
#include "symbolize/kernel/symkernel.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

/* A linear search suffices: there are a few dozen mappings at most, and callers mostly try the one
 * of their last address first. */

static uint32_t add_mapping(struct names *n, struct names_mapping m)
{
	for (size_t i = 0; i < n->mappings.n; i++) {
		const struct names_mapping *have = &n->mappings.v[i];
		if (have->filename == m.filename && have->build_id == m.build_id &&
		    have->start == m.start)
			return (uint32_t)i;
	}
	return VEC_PUSH(&n->mappings, m) ? (uint32_t)n->mappings.n - 1 : NAMES_NO_MAPPING;
}

static uint32_t build_id_text(struct engine *g, const uint8_t *id, size_t n)
{
	char text[2 * DSO_BUILD_ID_MAX + 1] = "";
	for (size_t i = 0; i < n && i < DSO_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return strtab_add_cstr(&g->strings, text);
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
	return add_mapping(n, m);
}

uint32_t names_mapping_kernel(struct engine *g, struct names *n, const struct names_options *o,
			      const struct symkernel *k, uint64_t address)
{
	const char *name, *module = "";
	uint64_t start;
	struct names_mapping m = { .limit = UINT64_MAX };
	char file[80];
	const struct jitcode_entry *code = jitcode_find(&g->kernel_code, address, UINT64_MAX);
	if (code && code->index == PERF_RECORD_KSYMBOL_TYPE_BPF) {
		m.filename = strtab_add_cstr(&g->strings, "[bpf]");
		return add_mapping(n, m);
	}
	if (k && symkernel_find(k, address, &name, &module, &start) && *module) {
		snprintf(file, sizeof(file), "[%s]", module);
		m.filename = strtab_add_cstr(&g->strings, file);
		return add_mapping(n, m);
	}
	for (size_t i = 0; !k && i < o->n_kernel_maps; i++) {
		const struct names_kernel_map *map = &o->kernel_map[i];
		if (address < map->start || address >= map->end)
			continue;
		m = (struct names_mapping){
			.start = map->start, .limit = map->end,
			.filename = strtab_add_cstr(&g->strings, map->filename),
			.build_id = build_id_text(g, map->build_id, map->n_build_id),
		};
		return add_mapping(n, m);
	}
	uint8_t id[DSO_BUILD_ID_MAX];
	size_t n_id =
		k && o->symbols.host ? symkernel_build_id(o->symbols.host, id, sizeof(id)) : 0;
	if (k)
		symkernel_text(k, &m.start, &m.limit);
	/* Addresses after the text (init, trampolines) also belong to the kernel. */
	if (address < m.start || address >= m.limit) {
		m.start = 0;
		m.limit = UINT64_MAX;
	}
	m.filename = strtab_add_cstr(&g->strings, "[kernel.kallsyms]");
	m.build_id = build_id_text(g, id, n_id);
	return add_mapping(n, m);
}

bool names_mapping_holds(const struct names *n, uint32_t m, enum dso_kind kind, uint64_t vaddr)
{
	if (m == NAMES_NO_MAPPING)
		return false;
	const struct names_mapping *have = &n->mappings.v[m];
	return vaddr >= have->start && vaddr < have->limit &&
	       (kind != DSO_KERNEL || have->start != 0);
}
