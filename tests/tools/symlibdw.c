#include "symlibdw.h"

#include "base/host.h"
#include "base/vec.h"
#include "symbolize/elf/symdebug.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * libdw decodes.  The order of work is ours, that of dwindex.c, dwwalk.c and dwline.c, because
 * dwarf_getscopes walks a unit anew for each address (3 ms each in libjvm).
 *
 *   1. Addresses get a unit: by .debug_aranges, and, for units that it omits (clang and rustc
 *      write none), by the ranges of the units' own DIEs.
 *   2. Each unit is walked once.  Each address has a `top`, the innermost function or inlined
 *      call found for it so far.  A DIE whose ranges contain addresses with its parent as top
 *      becomes their top, and its children are examined; any other subtree is skipped.  The
 *      walk ends when all addresses have a function.
 *   3. Definitions nested in classes and functions are found by a second, full walk, only for
 *      units with an address left over.
 *   4. The line of the innermost frame comes from the line table, which libdw decodes
 *      once per unit.
 *
 * DIEs only lead forward here: a DW_AT_sibling that points back ends the walk.
 */

#define DEPTH_MAX 400            /* nested DIEs; the deepest real code has some 100 */
#define NO_UNIT UINT64_MAX
#define NO_NODE (-1)

/* A function or an inlined call that covers one of the addresses; a tree. */
struct node {
	const char *name, *linkage, *call_file;
	uint32_t call_line, call_column, start_line;
	int32_t parent;              /* NO_NODE: the function itself */
};

/* An address within the current unit. */
struct place {
	uint64_t unit;               /* offset of the unit's DIE, or NO_UNIT */
	uint64_t vaddr;
	uint32_t index;              /* in the caller's array */
	int32_t top;
};

struct symlibdw {
	Dwarf *dwarf, *alt;
	int alt_fd;
	const struct symdebug_place *where;
	VEC(struct symdwarf_frame) frames;
	VEC(struct node) nodes;      /* of the current unit */
	struct place *place;         /* sorted by unit, vaddr */
	bool out_of_memory;
};

/* The current unit. */
struct unit {
	struct symlibdw *s;
	Dwarf_Die die;               /* has the lines and files */
	Dwarf_Die tree;              /* has the functions: die, or that of the .dwo file */
	Dwarf_Files *files;
	size_t n_files;
	const char *dir;
	struct place *place;
	size_t n, n_left;            /* addresses, and those without a function */
};

/* ---- opening ------------------------------------------------------------- */

/* The file to which dwz moved common parts of several debug files. */
static void open_alt(struct symlibdw *s, const char *elf_path)
{
	const char *link;
	const void *id;
	ssize_t n_id = dwelf_dwarf_gnu_debugaltlink(s->dwarf, &link, &id);
	if (n_id <= 0)
		return;
	s->alt_fd = symdebug_open_alt(s->where, link, elf_path, id, (size_t)n_id);
	if (s->alt_fd < 0)
		return;
	s->alt = dwarf_begin(s->alt_fd, DWARF_C_READ);
	if (s->alt)
		dwarf_setalt(s->dwarf, s->alt);
}

int symlibdw_open(Elf *elf, const char *elf_path, const struct symdebug_place *where,
		  struct symlibdw **ret_dwarf)
{
	struct symlibdw *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->alt_fd = -1;
	s->where = where;
	s->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!s->dwarf) {
		symlibdw_close(s);
		return -ENOENT;
	}
	open_alt(s, elf_path);
	*ret_dwarf = s;
	return 0;
}

void symlibdw_close(struct symlibdw *s)
{
	if (!s)
		return;
	dwarf_end(s->dwarf);
	dwarf_end(s->alt);
	if (s->alt_fd >= 0)
		close(s->alt_fd);
	VEC_FREE(&s->frames);
	VEC_FREE(&s->nodes);
	free(s->place);
	free(s);
}

const struct symdwarf_frame *symlibdw_frames(const struct symlibdw *s)
{
	return s->frames.v;
}

/* ---- attributes ---------------------------------------------------------- */

/* These look through DW_AT_abstract_origin and DW_AT_specification. */

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	const char *text = dwarf_attr_integrate(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
	return text && *text ? text : NULL;
}

static const char *file_name(struct unit *u, uint32_t index)
{
	if (!u->files && dwarf_getsrcfiles(&u->die, &u->files, &u->n_files) != 0)
		u->files = NULL;
	return u->files && index < u->n_files ? dwarf_filesrc(u->files, index, NULL, NULL) : NULL;
}

static int32_t add_node(struct unit *u, Dwarf_Die *die, int32_t parent)
{
	struct node node = {
		.name = text_of(die, DW_AT_name),
		.linkage = text_of(die, DW_AT_linkage_name),
		.start_line = number_of(die, DW_AT_decl_line),
		.parent = parent,
	};
	if (!node.linkage)
		node.linkage = text_of(die, DW_AT_MIPS_linkage_name);
	if (dwarf_tag(die) == DW_TAG_inlined_subroutine) {
		node.call_file = file_name(u, number_of(die, DW_AT_call_file));
		node.call_line = number_of(die, DW_AT_call_line);
		node.call_column = number_of(die, DW_AT_call_column);
	}
	if (u->s->nodes.n >= INT32_MAX || !VEC_PUSH(&u->s->nodes, node)) {
		u->s->out_of_memory = true;
		return NO_NODE;
	}
	return (int32_t)(u->s->nodes.n - 1);
}

/* ---- the walk ------------------------------------------------------------ */

/* Index of the first place at or above vaddr. */
static size_t lower_bound(const struct place *p, size_t n, uint64_t vaddr)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Makes die the top of the addresses in its ranges whose top is parent.  Its node, or NO_NODE if
 * there are none.
 *
 * A range from 0 is code that the linker dropped: no program has code there.
 */
static int32_t claim(struct unit *u, Dwarf_Die *die, int32_t parent)
{
	int32_t node = NO_NODE;
	ptrdiff_t off = 0;
	Dwarf_Addr base, start, end;
	while ((off = dwarf_ranges(die, off, &base, &start, &end)) > 0) {
		if (start == 0)
			continue;
		for (size_t i = lower_bound(u->place, u->n, start);
		     i < u->n && u->place[i].vaddr < end; i++) {
			if (u->place[i].top != parent)
				continue;
			if (node == NO_NODE)
				node = add_node(u, die, parent);
			if (node == NO_NODE)
				return NO_NODE;
			u->place[i].top = node;
			if (parent == NO_NODE)
				u->n_left--;
		}
	}
	return node;
}

static bool first_child(Dwarf_Die *die, Dwarf_Die *ret_child)
{
	return dwarf_child(die, ret_child) == 0 &&
	       dwarf_dieoffset(ret_child) > dwarf_dieoffset(die);
}

static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;
	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
}

/* Inlined calls below die, whose node is `node`. */
static void walk_function(struct unit *u, Dwarf_Die *die, int32_t node, unsigned depth)
{
	Dwarf_Die child;
	if (depth > DEPTH_MAX || !first_child(die, &child))
		return;
	do {
		int32_t inner;
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			inner = claim(u, &child, node);
			if (inner != NO_NODE)
				walk_function(u, &child, inner, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			/* Its own ranges are ignored: blocks are few, and some have none. */
			walk_function(u, &child, node, depth + 1);
			break;
		}
	} while (!u->s->out_of_memory && next_sibling(&child));
}

/* Functions below die: directly, or in namespaces; when full, anywhere. */
static void walk_scope(struct unit *u, Dwarf_Die *die, bool full, unsigned depth)
{
	Dwarf_Die child;
	if (depth > DEPTH_MAX || !first_child(die, &child))
		return;
	do {
		bool descend = full;
		int32_t node;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			node = claim(u, &child, NO_NODE);
			if (node != NO_NODE)
				walk_function(u, &child, node, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			descend = true;
			break;
		}
		if (descend && u->n_left && dwarf_haschildren(&child) > 0)
			walk_scope(u, &child, full, depth + 1);
	} while (u->n_left && !u->s->out_of_memory && next_sibling(&child));
}

/* ---- frames -------------------------------------------------------------- */

static struct symdwarf_frame frame_at(const struct unit *u, const char *file, uint32_t line,
				      uint32_t column)
{
	return (struct symdwarf_frame){
		.file = file, .dir = file && file[0] != '/' ? u->dir : NULL,
		.line = line, .column = column,
	};
}

/* The line table's row for vaddr. */
static struct symdwarf_frame line_at(struct unit *u, uint64_t vaddr)
{
	Dwarf_Line *row = dwarf_getsrc_die(&u->die, vaddr);
	int line = 0, column = 0;
	if (!row)
		return (struct symdwarf_frame){0};
	dwarf_lineno(row, &line);
	dwarf_linecol(row, &column);
	return frame_at(u, dwarf_linesrc(row, NULL, NULL), line > 0 ? (uint32_t)line : 0,
			column > 0 ? (uint32_t)column : 0);
}

static bool emit(struct unit *u, const struct place *p, struct symdwarf_addr *a)
{
	struct symlibdw *s = u->s;
	struct symdwarf_frame frame = line_at(u, p->vaddr);
	a->first = (uint32_t)s->frames.n;
	a->has_function = p->top != NO_NODE;
	if (!a->has_function)
		return (!frame.line && !frame.file) || VEC_PUSH(&s->frames, frame);
	for (int32_t i = p->top; i != NO_NODE; i = s->nodes.v[i].parent) {
		const struct node *node = &s->nodes.v[i];
		frame.name = node->name;
		frame.linkage = node->linkage;
		frame.start_line = node->start_line;
		if (!VEC_PUSH(&s->frames, frame))
			return false;
		frame = frame_at(u, node->call_file, node->call_line, node->call_column);
	}
	return true;
}

/* ---- units --------------------------------------------------------------- */

/* Languages without mangling: their names need no symbol table. */
static bool is_plain(int language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Go:
	case DW_LANG_Mips_Assembler:
	case 0x2c:                   /* DW_LANG_C17, newer than the header */
		return true;
	}
	return false;
}

/* libdw opens the .dwo file by its name when the split unit is requested: do so only if it is a
 * regular file. */
static bool has_dwo_file(struct symlibdw *s, Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_dwo_name);
	const char *dir = text_of(die, DW_AT_comp_dir);
	if (!name)
		name = text_of(die, DW_AT_GNU_dwo_name);
	if (!name || !s->where->host)
		return false;
	bool is_absolute = name[0] == '/';
	if (!is_absolute && (!dir || dir[0] != '/'))
		return false;
	int fd = host_open_file(s->where->host, HOST_ROOT, O_PATH, "%s/%s",
				is_absolute ? "." : dir + 1, is_absolute ? name + 1 : name);
	if (fd < 0)
		return false;
	struct stat st;
	bool is_regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	close(fd);
	return is_regular;
}

static int resolve_unit(struct symlibdw *s, struct place *place, size_t n,
			struct symdwarf_addr *addr)
{
	struct unit u = { .s = s, .place = place, .n = n, .n_left = n };
	if (!dwarf_offdie(s->dwarf, place[0].unit, &u.die))
		return 0;
	uint8_t type;
	u.tree = u.die;
	u.dir = text_of(&u.die, DW_AT_comp_dir);
	if (dwarf_cu_info(u.die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && has_dwo_file(s, &u.die)) {
		Dwarf_Die split = {0};
		if (dwarf_cu_info(u.die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
		    split.addr)
			u.tree = split;
	}
	s->nodes.n = 0;
	walk_scope(&u, &u.tree, false, 0);
	if (u.n_left)
		walk_scope(&u, &u.tree, true, 0);
	if (s->out_of_memory)
		return -ENOMEM;
	bool plain = is_plain(dwarf_srclang(&u.tree));
	for (size_t i = 0; i < n; i++) {
		struct symdwarf_addr *a = &addr[place[i].index];
		a->is_plain = plain;
		if (!emit(&u, &place[i], a) || s->frames.n > UINT32_MAX)
			return -ENOMEM;
		a->n = (uint32_t)(s->frames.n - a->first);
	}
	return 0;
}

/* Step 1 for units that .debug_aranges omits; place is still sorted by vaddr. */
static void find_units_by_ranges(struct symlibdw *s, struct place *place, size_t n, size_t n_left)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	while (n_left && dwarf_get_units(s->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		ptrdiff_t off = 0;
		Dwarf_Addr base, start, end;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		while ((off = dwarf_ranges(&die, off, &base, &start, &end)) > 0) {
			if (start == 0)
				continue;
			for (size_t i = lower_bound(place, n, start);
			     i < n && place[i].vaddr < end; i++) {
				if (place[i].unit != NO_UNIT)
					continue;
				place[i].unit = dwarf_dieoffset(&die);
				n_left--;
			}
		}
	}
}

static void find_units(struct symlibdw *s, struct place *place, size_t n)
{
	Dwarf_Aranges *aranges = NULL;
	size_t n_aranges = 0, n_left = 0;
	if (dwarf_getaranges(s->dwarf, &aranges, &n_aranges) != 0)
		n_aranges = 0;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Off unit;
		Dwarf_Arange *a = n_aranges ? dwarf_getarange_addr(aranges, place[i].vaddr) : NULL;
		if (a && dwarf_getarangeinfo(a, NULL, NULL, &unit) == 0)
			place[i].unit = unit;
		else
			n_left++;
	}
	find_units_by_ranges(s, place, n, n_left);
}

static int compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

int symlibdw_resolve(struct symlibdw *s, struct symdwarf_addr *addr, size_t n)
{
	if (n == 0)
		return 0;
	if (n > UINT32_MAX)
		return -ENOMEM;
	free(s->place);
	s->place = calloc(n, sizeof(*s->place));
	if (!s->place)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->place[i] = (struct place){ NO_UNIT, addr[i].vaddr, (uint32_t)i, NO_NODE };
		addr[i].first = addr[i].n = 0;
		addr[i].has_function = addr[i].is_plain = false;
	}
	find_units(s, s->place, n);
	qsort(s->place, n, sizeof(*s->place), compare_place);
	for (size_t i = 0, end; i < n && s->place[i].unit != NO_UNIT; i = end) {
		for (end = i + 1; end < n && s->place[end].unit == s->place[i].unit; end++)
			;
		int r = resolve_unit(s, s->place + i, end - i, addr);
		if (r)
			return r;
	}
	return 0;
}
