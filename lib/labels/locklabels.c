/*
 * A wait costs one look in a cache: locks that threads wait for are few.  Only executable mappings
 * are known, so a file's data is found by the distance from its code, which is the same in memory
 * and in the file.
 */

#include "labels/locklabels.h"

#include "agg/labels.h"
#include "base/hash.h"
#include "base/path.h"
#include "proc/procs-space.h"
#include "symbolize/elf/dso.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a file's name in a value. */
#define FILE_BYTES_MAX 64

/* Those of earlier profiles are kept while their values are in use. */
#define VARIABLES_MAX (4 * APPVALUES_PER_KEY)

void locklabels_init(struct locklabels *l, struct strtab *strings, struct labels *labels,
		     const struct dso_table *dsos)
{
	*l = (struct locklabels){ .strings = strings, .labels = labels, .dsos = dsos };
	appvalues_init(&l->values, strings);
}

void locklabels_done(struct locklabels *l)
{
	appvalues_done(&l->values);
	VEC_FREE(&l->variable);
}

static void forget_known(struct locklabels *l)
{
	memset(l->known, 0, sizeof(l->known));
}

void locklabels_clear(struct locklabels *l)
{
	appvalues_clear(&l->values);
	forget_known(l);
}

void locklabels_renew(struct locklabels *l, bool (*renew)(void *ctx, uint32_t *string), void *ctx)
{
	size_t n = 0;
	appvalues_renew(&l->values, renew, ctx);
	forget_known(l);
	for (size_t i = 0; i < l->variable.n; i++) {
		l->variable.v[n] = l->variable.v[i];
		n += renew(ctx, &l->variable.v[n].text);
	}
	l->variable.n = n;
}

void locklabels_mark(const struct locklabels *l, bool *used)
{
	for (size_t i = 0; i < l->variable.n; i++) {
		const struct locklabels_variable *v = &l->variable.v[i];
		const struct dso *d = v->dso < l->dsos->n ? dso_get(l->dsos, v->dso) : NULL;
		if (d && d->serial == v->dso_serial)
			used[v->dso] = true;
	}
}

/* ---- places ------------------------------------------------------------------------------ */

/* Is the address in the data of the file that m maps the code of? */
static bool is_in_file(const struct dso *d, const struct procs_map *m, uint64_t address,
		       uint64_t *ret_vaddr)
{
	uint64_t code;
	if (!d || !d->is_elf || d->key.kind != DSO_ELF || !dso_vaddr(d, m->pgoff, &code))
		return false;
	*ret_vaddr = address - m->start + code;
	return *ret_vaddr - d->data_start < d->data_end - d->data_start;
}

static const struct dso *find_file(const struct locklabels *l, const struct procs_space *space,
				   uint64_t address, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < space->map.n; i++) {
		const struct procs_map *m = &space->map.v[i];
		const struct dso *d = dso_get(l->dsos, m->dso);
		if (is_in_file(d, m, address, ret_vaddr))
			return d;
	}
	return NULL;
}

/* ---- labels ------------------------------------------------------------------------------ */

static uint32_t set_of(struct locklabels *l, const char *key, const char *value,
		       struct label *ret, bool *ret_is_kept)
{
	*ret_is_kept = appvalues_label(&l->values, key, value, ret);
	struct label label = *ret;
	uint32_t set = ret->key && ret->value ? labels_add(l->labels, &label, 1, false)
					      : LABELS_NONE;
	return set == LABELS_NONE ? 0 : set;
}

/* Remembers what the value of a lock stands for.  False: the same text means another lock. */
static bool note_variable(struct locklabels *l, const struct dso *d, uint64_t vaddr, uint32_t text)
{
	for (size_t i = 0; i < l->variable.n; i++) {
		const struct locklabels_variable *v = &l->variable.v[i];
		if (v->text == text)
			return v->dso == d->id && v->dso_serial == d->serial && v->vaddr == vaddr;
	}
	const struct locklabels_variable fresh = { d->id, d->serial, text, vaddr };
	if (l->variable.n < VARIABLES_MAX)
		VEC_PUSH(&l->variable, fresh);  /* otherwise it keeps its address as a name */
	return true;
}

static uint32_t make_set(struct locklabels *l, const struct procs_space *space, uint64_t address)
{
	char text[FILE_BYTES_MAX + 32];
	struct label label;
	uint64_t vaddr;
	bool is_kept;
	const struct dso *d = find_file(l, space, address, &vaddr);
	if (d) {
		snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, FILE_BYTES_MAX,
			 path_base_name(d->path), vaddr);
		uint32_t set = set_of(l, LOCKLABELS_LOCK, text, &label, &is_kept);
		if (!is_kept || note_variable(l, d, vaddr, label.value))
			return set;
	}
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return set_of(l, LOCKLABELS_LOCK, text, &label, &is_kept);
}

uint32_t locklabels_of(struct locklabels *l, const struct procs_space *space, uint64_t address)
{
	size_t at = hash_pair(space->serial, address) % LOCKLABELS_KNOWN;
	if (space->serial && l->known[at].serial == space->serial &&
	    l->known[at].address == address)
		return l->known[at].set;
	uint32_t set = make_set(l, space, address);
	l->known[at].serial = space->serial;
	l->known[at].address = address;
	l->known[at].set = set;
	return set;
}

uint32_t locklabels_with_holder(struct locklabels *l, uint32_t set, const char *name, uint32_t tid)
{
	char text[64];
	struct label label;
	bool is_kept;
	/* A thread's name has at most 15 bytes. */
	snprintf(text, sizeof(text), "%.32s/%" PRIu32, name, tid);
	uint32_t holder = set_of(l, LOCKLABELS_HOLDER, text, &label, &is_kept);
	return holder ? labels_join(l->labels, set, holder) : set;
}
