/*
 * DSOs that are not ELF files: JIT code, and frames that cprof itself makes up.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/strtab.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/jit/jitcode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool symbolizer_resolve_pseudo(struct symbolizer_batch *b, struct symaddr *a)
{
	struct symline line = { .name = (uint32_t)a->vaddr, .linkage = (uint32_t)a->vaddr };
	if (a->vaddr == 0 || a->vaddr >= b->strings->n)
		return symbolizer_resolve_nameless(b, a);
	a->source = SYMBOLIZER_PSEUDO;
	return symbolizer_add_line(b, a, &line);
}

/*
 * V8 appends the place of a function to its name: "JS:*add /srv/app.js:10:5"; before version 11
 * "LazyCompile:*add ...".
 */
static uint32_t script_of(struct symbolizer_batch *b, const char *name, uint32_t *ret_line)
{
	bool is_script = strncmp(name, "JS:", 3) == 0 || strncmp(name, "LazyCompile:", 12) == 0 ||
			 strncmp(name, "Function:", 9) == 0;
	const char *space = is_script ? strrchr(name, ' ') : NULL;
	const char *column = space ? strrchr(space, ':') : NULL;
	const char *line = column ? memrchr(space, ':', (size_t)(column - space)) : NULL;
	char *end;
	if (!line || line == space + 1)
		return 0;
	unsigned long number = strtoul(line + 1, &end, 10);
	if (end != column || number == 0 || number > UINT32_MAX)
		return 0;
	*ret_line = (uint32_t)number;
	return strtab_add(b->strings, space + 1, (size_t)(line - space - 1));
}

static bool add_jit_entry(struct symbolizer_batch *b, struct symaddr *a,
			  const struct jitcode_entry *e)
{
	const struct jitcode_line *source = jitcode_find_line(e, a->vaddr);
	struct symline line = { 0 };
	line.file = script_of(b, e->name, &line.start_line);
	if (source) {
		line.line = source->line;
		if (source->file)
			line.file = strtab_add_cstr(b->strings, source->file);
	}
	a->source = SYMBOLIZER_JIT;
	return symbolizer_set_names(b, e->name, &line) && symbolizer_add_line(b, a, &line);
}

static bool add_call(struct symbolizer_batch *b, struct symaddr *a, const struct jitcalls *j,
		     const struct jitcalls_call *c)
{
	const char *linkage = strtab_get(&j->strings, c->linkage ? c->linkage : c->name);
	struct symline line = {
		.name = strtab_add_cstr(b->strings, strtab_get(&j->strings, c->name)),
		.linkage = strtab_add_cstr(b->strings, linkage), .line = c->line,
		.start_line = c->first_line,
	};
	if (c->file)
		line.file = strtab_add_cstr(b->strings, strtab_get(&j->strings, c->file));
	return line.name && line.linkage && symbolizer_add_line(b, a, &line);
}

/* False: no memory. */
static bool add_calls(struct symbolizer_batch *b, struct symaddr *a, const struct jitcalls *j,
		      const struct jitcalls_place *p)
{
	a->source = SYMBOLIZER_JIT;
	for (uint32_t i = 0; i < p->n; i++)
		if (!add_call(b, a, j, &j->call.v[p->first + i]))
			return false;
	return true;
}

/* Memory without a file: named by its JIT compiler, by its runtime, else by its region. */
bool symbolizer_resolve_memory(struct symbolizer_batch *b, struct symaddr *a)
{
	const struct jitcode_region *region = NULL;
	for (size_t i = 0; i < b->o->n_jit; i++) {
		const struct jitcode_view *jit = &b->o->jit[i];
		const struct jitcode_entry *e = jitcode_find(jit->code, a->vaddr, jit->at_ns);
		if (e)
			return add_jit_entry(b, a, e);
		const struct jitcalls_place *p =
			jit->calls ? jitcalls_find(jit->calls, jit->layer, a->vaddr) : NULL;
		if (p)
			return add_calls(b, a, jit->calls, p);
		if (!region)
			region = jitcode_find_region(jit->code, a->vaddr);
	}
	if (!region)
		return symbolizer_resolve_nameless(b, a);
	char text[64];
	snprintf(text, sizeof(text), "[jit] 0x%" PRIx64 "-0x%" PRIx64, region->start, region->end);
	struct symline line = { 0 };
	line.name = line.linkage = strtab_add_cstr(b->strings, text);
	return symbolizer_add_line(b, a, &line);
}
