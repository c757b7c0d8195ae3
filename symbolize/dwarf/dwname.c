/*
 * A function's names come from its DIE and from the DIEs that this one refers to, its origins; each
 * attribute is taken from the first DIE that has it.  The attributes of origins are remembered by
 * offset, because the same small functions are inlined all over a unit, and with link-time
 * optimization all over a program.
 */

#include "symbolize/dwarf/dwname.h"

#include "base/hash.h"
#include "base/hashindex.h"
#include "symbolize/dwarf/dwfile.h"
#include "symbolize/dwarf/dwtext.h"

#include <dwarf.h>

#define ORIGINS_MAX 16

struct dwname_known {
	uint64_t off;            /* of the DIE */
	struct dwname name;
};

void dwname_done(struct dwfile *file)
{
	VEC_FREE(&file->names);
	hashindex_done(&file->by_name_off);
}

static struct dwname *known_name(const struct dwfile *file, uint64_t off)
{
	uint32_t i = HASHINDEX_FIND(&file->by_name_off, hash_u64(off), k,
				    file->names.v[k].off == off);
	return i != HASHINDEX_NONE ? &file->names.v[i].name : NULL;
}

static void remember(struct dwfile *file, uint64_t off, const struct dwname *name)
{
	struct dwname *known = known_name(file, off);
	if (known) {
		*known = *name;
		return;
	}
	if (!VEC_RESERVE(&file->names, 1) ||
	    !hashindex_add(&file->by_name_off, hash_u64(off), (uint32_t)file->names.n)) {
		file->out_of_memory = true;
		return;
	}
	file->names.v[file->names.n++] = (struct dwname_known){ off, *name };
}

/* The DIE that an attribute refers to; file NULL: none. */
struct origin {
	struct dwfile *file;
	uint64_t off;
};

static uint32_t number(const struct dwvalue *v)
{
	return v->u > UINT32_MAX ? 0 : (uint32_t)v->u;
}

/* Reads the attributes of the DIE in b. */
static void read_attrs(const struct dwunit *u, struct bytes *b, struct dwname *name,
		       struct dwcall *call, struct origin *ret_origin)
{
	const struct dwabbrev *a = dwabbrev_find(u->table, dwform_uleb(b));
	struct origin origin;
	for (uint32_t i = 0; a && !b->bad && i < a->n_attrs; i++) {
		const struct dwattr *attr = dwabbrev_attr(u->table, a, i);
		struct dwvalue v;
		dwform_read(b, attr->form, attr->implicit, &u->format, &v);
		if (b->bad)
			break;
		switch (attr->name) {
		case DW_AT_name:
			name->name = dwtext_note(u, &v);
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			name->linkage = dwtext_note(u, &v);
			break;
		case DW_AT_decl_line:
			name->start_line = number(&v);
			break;
		case DW_AT_call_file:
			call->has_file = true;
			call->file = v.u;
			break;
		case DW_AT_call_line:
			call->line = number(&v);
			break;
		case DW_AT_call_column:
			call->column = number(&v);
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			if (dwunit_reference(u, &v, &origin.file, &origin.off))
				*ret_origin = origin;
			break;
		}
	}
}

/* Reads the DIE's own attributes. */
static void read_die(const struct dwunit *u, uint64_t off, struct dwname *name,
		     struct dwcall *call, struct origin *ret_origin)
{
	struct bytes b = dwunit_look(u, off, DWUNIT_DIE_BYTES);
	read_attrs(u, &b, name, call, ret_origin);
	if (!b.bad)
		return;
	b = dwunit_look(u, off, UINT64_MAX);
	read_attrs(u, &b, name, call, ret_origin);
}

static void fill(struct dwname *name, const struct dwname *from)
{
	if (!name->name)
		name->name = from->name;
	if (!name->linkage)
		name->linkage = from->linkage;
	if (!name->start_line)
		name->start_line = from->start_line;
}

/* u is a unit of the same file, possibly the right one. */
static void read_origin(const struct dwunit *u, const struct origin *from, struct dwname *ret,
			unsigned depth)
{
	struct dwfile *file = from->file;
	struct dwcall ignored;
	struct dwname name = {0}, more = {0};
	struct origin origin = {0};
	uint64_t off = from->off;
	const struct dwname *known = known_name(file, off);
	if (known) {
		*ret = *known;
		return;
	}
	if (depth > ORIGINS_MAX)
		return;
	/* a copy, since dwunit_holding may close the unit that it returned before */
	bool is_here = file == u->file && off >= u->off && off < u->end;
	const struct dwunit *home = is_here ? u : dwunit_holding(file, off);
	if (!home)
		return;
	struct dwunit held = *home;
	held.table->n_users++;
	read_die(&held, off, &name, &ignored, &origin);
	if (origin.file) {
		read_origin(&held, &origin, &more, depth + 1);
		fill(&name, &more);
	}
	dwabbrev_put(held.table);
	remember(file, off, &name);
	*ret = name;
}

void dwname_read(const struct dwunit *u, uint64_t off, struct dwname *ret, struct dwcall *ret_call)
{
	struct dwname name = {0}, more = {0};
	struct dwcall call = {0};
	struct origin origin = {0};
	read_die(u, off, &name, &call, &origin);
	if (origin.file) {
		read_origin(u, &origin, &more, 0);
		fill(&name, &more);
	}
	*ret = name;
	*ret_call = call;
}
