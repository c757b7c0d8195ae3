/* Text as /proc/PID/maps, as /proc/kallsyms and as the kernel's %pS, and the resulting address
 * spaces. */

#include "proc/procs-space.h"
#include "source/maps.h"
#include "symbolize/kernel/symkask.h"
#include "symbolize/kernel/symkernel.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_maps(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';

	struct procs_space space = { 0 };
	struct maps_entry m;
	char *at = text;
	while (maps_next(&at, &m)) {
		assert(m.start < m.end);
		assert(m.name >= text && m.name + strlen(m.name) <= text + size);
		struct procs_map map = { .start = m.start, .end = m.end, .pgoff = m.pgoff,
					 .dso = m.prot };
		if (procs_space_insert(&space, map) < 0)
			break;
		const struct procs_map *found = procs_space_find(&space, m.end - 1);
		assert(found && found->dso == m.prot);
		assert(m.end - 1 - found->start + found->pgoff == m.end - 1 - m.start + m.pgoff);
	}
	for (uint32_t i = 1; i < space.map.n; i++)
		assert(space.map.v[i - 1].end <= space.map.v[i].start);
	VEC_FREE(&space.map);
	free(text);
}

static void check_kallsyms(const uint8_t *data, size_t size)
{
	struct symkernel *k;
	if (symkernel_open_text((const char *)data, size, &k, NULL) < 0)
		return;
	for (size_t i = 0; i + 8 <= size && i < 512; i += 8) {
		uint64_t address, start;
		const char *name, *module;
		memcpy(&address, data + i, 8);
		/* Half of them are low: there short inputs have their symbols. */
		if (i % 16)
			address &= 0xfff;
		if (symkernel_find(k, address, &name, &module, &start))
			assert(start <= address && *name && strlen(module) < size);
	}
	symkernel_close(k);
}

static bool is_inside(const char *part, size_t n, const char *text, size_t size)
{
	return part >= text && n <= size && (size_t)(part - text) <= size - n &&
	       !memchr(part, '\0', n);
}

static void check_answer(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct symkask_answer got;
	if (!symkask_parse(text, size, &got))
		return;
	assert(got.offset < got.n_bytes && got.n_name);
	assert(is_inside(got.name, got.n_name, text, size));
	assert(!got.n_module || is_inside(got.module, got.n_module, text, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_answer(data, size);
	check_maps(data, size);
	check_kallsyms(data, size);
	return 0;
}
