/*
 * One pass over the DIEs of a unit.  A structure is a DIE outside of functions that has the name of
 * a wanted type, and its members are the children that have an offset.  A typedef may have the same
 * name, but has no children.  Each DIE takes at least one byte, and units follow each other, so the
 * pass ends.
 */

#include "symbolize/dwarf/dwmember.h"

#include "symbolize/dwarf/dwfile.h"
#include "symbolize/elf/symdebug.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* The DIEs of a unit are at depth 1. */
#define TYPES_DEPTH 1u
#define MEMBERS_DEPTH 2u

struct scan {
	const struct dwunit *u;
	struct bytes b;
	struct dwmember *want;
	size_t n, n_left;
	uint64_t in_type;       /* bit i: the members that are being read are of want[i].type */
};

struct die {
	struct dwvalue name, member_off;
};

static void read_die(struct scan *s, const struct dwabbrev *a, struct die *ret)
{
	*ret = (struct die){ .name.form = 0 };
	for (uint32_t i = 0; i < a->n_attrs && !s->b.bad; i++) {
		const struct dwattr *attr = dwabbrev_attr(s->u->table, a, i);
		struct dwvalue v;
		dwform_read(&s->b, attr->form, attr->implicit, &s->u->format, &v);
		if (attr->name == DW_AT_name)
			ret->name = v;
		else if (attr->name == DW_AT_data_member_location)
			ret->member_off = v;
	}
}

static void skip_die(struct scan *s, const struct dwabbrev *a)
{
	if (a->n_bytes >= 0) {
		bytes_take(&s->b, (uint64_t)a->n_bytes);
		return;
	}
	for (uint32_t i = 0; i < a->n_attrs && !s->b.bad; i++)
		dwform_skip(&s->b, dwabbrev_attr(s->u->table, a, i)->form, &s->u->format);
}

static void find(struct scan *s, size_t i, uint64_t off)
{
	s->want[i].is_found = true;
	s->want[i].off = (uint32_t)off;
	s->n_left--;
}

/* Notes which of the wanted types this is. */
static void see_type(struct scan *s, const struct die *die)
{
	const char *name = dwunit_string(s->u, &die->name);
	s->in_type = 0;
	for (size_t i = 0; i < s->n && name; i++) {
		if (s->want[i].is_found || strcmp(s->want[i].type, name) != 0)
			continue;
		if (s->want[i].name)
			s->in_type |= UINT64_C(1) << i;
		else
			find(s, i, 0);
	}
}

/* An offset that is an expression, as of virtual bases, has a form without a number. */
static void see_member(struct scan *s, const struct die *die)
{
	const struct dwvalue *off = &die->member_off;
	const char *name = dwunit_string(s->u, &die->name);
	bool is_number = off->form && off->form != DW_FORM_exprloc && off->form != DW_FORM_block1 &&
			 off->form != DW_FORM_block2 && off->form != DW_FORM_block4 &&
			 off->form != DW_FORM_block;
	for (size_t i = 0; i < s->n && name && is_number && off->u <= UINT32_MAX; i++)
		if (s->in_type >> i & 1 && !s->want[i].is_found &&
		    strcmp(s->want[i].name, name) == 0)
			find(s, i, off->u);
}

static void scan_unit(struct scan *s)
{
	uint64_t depth = 0;
	s->b = dwunit_hold(s->u, s->u->root_off);
	while (!s->b.bad && s->b.p < s->b.end && s->n_left) {
		uint64_t code = dwform_uleb(&s->b);
		struct die die;
		if (!code) {
			if (depth <= TYPES_DEPTH)
				return;
			depth--;
			continue;
		}
		const struct dwabbrev *a = dwabbrev_find(s->u->table, code);
		if (!a)
			return;
		if (depth == TYPES_DEPTH || (depth == MEMBERS_DEPTH && s->in_type)) {
			read_die(s, a, &die);
			if (s->b.bad)
				return;
			if (depth == TYPES_DEPTH)
				see_type(s, &die);
			else
				see_member(s, &die);
		} else {
			skip_die(s, a);
		}
		depth += a->has_children;
		if (depth == 0)
			return;
	}
}

void dwmember_find(struct dwfile *file, uint16_t language, struct dwmember *want, size_t n)
{
	struct scan s = { .want = want, .n = n < DWMEMBER_MAX ? n : DWMEMBER_MAX };
	struct dwunit u;
	for (size_t i = 0; i < n; i++)
		want[i].is_found = false;
	s.n_left = s.n;
	dwfile_begin(file);
	for (uint64_t off = 0; s.n_left && !dwfile_is_late(file) && dwunit_header(file, off, &u);
	     off = u.end) {
		struct dwunit open;
		if (!dwunit_is_compile(&u) || !dwunit_open(file, off, &open))
			continue;
		s.u = &open;
		if (open.language == language)
			scan_unit(&s);
		dwunit_close(&open);
	}
}

int dwmember_find_file(Elf *elf, int fd, const struct symdebug_place *where, uint16_t language,
		       struct dwmember *want, size_t n)
{
	struct dwfile file;
	int r = dwfile_open(&file, elf, fd, where);
	if (r < 0)
		return r;
	dwmember_find(&file, language, want, n);
	r = file.out_of_memory ? -ENOMEM : 0;
	dwfile_done(&file);
	return r;
}
