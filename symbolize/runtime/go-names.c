/*
 * The table starts with a header of offsets: function names, files by compile unit, a table of
 * (pc, function) pairs, and streams of (value, length) steps.  A function's line, its file and its
 * position in the tree of inlined calls are found by adding up steps until the pc is reached.
 *
 * The trees are outside of the header's tables, relative to an address ("go:func.*") that only the
 * runtime's moduledata contains.  Since Go 1.26 it alone contains the start of the code, too.  The
 * moduledata is recognised as the words that point to the table and repeat its offsets.  The word
 * with the trees' address moves as the moduledata grows (words 38, 40 and 43 in Go 1.18, 1.20 and
 * 1.27), so it is recognised by the trees.  In a position independent program, pointers are
 * relocations.
 *
 *	            1.16, 1.17       1.18, 1.19         1.20 and later
 *	magic       fffffffa         fffffff0           fffffff1
 *	pcs         pointers         32 bits from text  the same
 *	trees       pointers         32 bits from that address
 *	a call      has its parent and its file and line         has the pc of the call
 */

#include "symbolize/runtime/go-names.h"

#include "base/search.h"

#include "symbolize/dwarf/symdwarf.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PCDATA_INLINE_TREE_INDEX 2
#define FUNCDATA_INLINE_TREE 3
#define NO_OFFSET UINT32_MAX
#define INLINE_DEPTH_MAX 64
#define STEPS_MAX (1u << 16)
#define MODULEDATA_TEXT 22             /* in words */
#define MODULEDATA_GOFUNC_MIN 36u
#define MODULEDATA_GOFUNC_MAX 48u
#define TRIED_TREES 8u
#define TRIED_FUNCTIONS_MAX 4096u

enum layout { GO_1_16, GO_1_18, GO_1_20 };

struct section {
	uint64_t vaddr;
	const uint8_t *p;
	size_t n_bytes;
	bool is_writable;
};

struct go_names {
	enum layout layout;
	unsigned ptr_bytes, quantum;
	struct section *section;
	size_t n_sections;
	const Elf_Data *rela;
	struct section table;
	uint64_t n_functions, text;
	uint64_t names_off, cus_off, files_off, steps_off, functions_off;
	uint64_t gofunc;               /* 0: unknown, no inlined calls */
};

/* ---- bytes ----------------------------------------------------------------- */

static bool get(const struct section *s, uint64_t off, unsigned n_bytes, uint64_t *ret)
{
	if (off > s->n_bytes || s->n_bytes - off < n_bytes)
		return false;
	*ret = 0;
	memcpy(ret, s->p + off, n_bytes);  /* little endian, as all that is accepted */
	return true;
}

static uint32_t get32(const struct go_names *g, uint64_t off)
{
	uint64_t x;
	return get(&g->table, off, 4, &x) ? (uint32_t)x : NO_OFFSET;
}

/* A string of the table, or NULL. */
static const char *text_at(const struct go_names *g, uint64_t off)
{
	if (off >= g->table.n_bytes ||
	    !memchr(g->table.p + off, '\0', g->table.n_bytes - off))
		return NULL;
	const char *s = (const char *)g->table.p + off;
	return *s ? s : NULL;
}

static const struct section *section_at(const struct go_names *g, uint64_t vaddr)
{
	for (size_t i = 0; i < g->n_sections; i++)
		if (vaddr >= g->section[i].vaddr &&
		    vaddr - g->section[i].vaddr < g->section[i].n_bytes)
			return &g->section[i];
	return NULL;
}

static size_t n_relocations(const struct go_names *g)
{
	return g->rela ? g->rela->d_size / sizeof(GElf_Rela) : 0;
}

/* A pointer in the program's data after relocation, for a program loaded at 0. */
static uint64_t pointer_at(const struct go_names *g, uint64_t vaddr)
{
	uint64_t x;
	const struct section *s = section_at(g, vaddr);
	if (!s || !get(s, vaddr - s->vaddr, g->ptr_bytes, &x))
		return 0;
	for (size_t i = 0; x == 0 && i < n_relocations(g); i++) {
		GElf_Rela r;
		memcpy(&r, (const char *)g->rela->d_buf + i * sizeof(r), sizeof(r));
		if (r.r_offset == vaddr)
			x = (uint64_t)r.r_addend;
	}
	return x;
}

/* ---- opening --------------------------------------------------------------- */

static bool read_header(struct go_names *g)
{
	uint64_t magic, quantum, ptr, off = 8, word[8] = { 0 };
	if (!get(&g->table, 0, 4, &magic) || !get(&g->table, 6, 1, &quantum) ||
	    !get(&g->table, 7, 1, &ptr) || (ptr != 4 && ptr != 8) || quantum == 0)
		return false;
	g->ptr_bytes = (unsigned)ptr;
	g->quantum = (unsigned)quantum;
	switch (magic) {
	case 0xfffffffa: g->layout = GO_1_16; break;
	case 0xfffffff0: g->layout = GO_1_18; break;
	case 0xfffffff1: g->layout = GO_1_20; break;
	default: return false;
	}
	bool has_text = g->layout != GO_1_16;
	for (size_t i = 0; i < (has_text ? 8 : 7); i++, off += ptr)
		if (!get(&g->table, off, g->ptr_bytes, &word[i]))
			return false;
	const uint64_t *offsets = word + (has_text ? 3 : 2);
	g->n_functions = word[0];
	if (has_text)
		g->text = pointer_at(g, g->table.vaddr + 8 + 2 * ptr);
	g->names_off = offsets[0];
	g->cus_off = offsets[1];
	g->files_off = offsets[2];
	g->steps_off = offsets[3];
	g->functions_off = offsets[4];
	return g->functions_off < g->table.n_bytes && g->n_functions < g->table.n_bytes / 8;
}

/* Other linkers than Go's put the table of a position independent program among other data. */
static void find_table(struct go_names *g)
{
	for (size_t i = 0; i < g->n_sections; i++) {
		const struct section *s = &g->section[i];
		uint64_t magic;
		for (uint64_t off = 0; s->is_writable && get(s, off, 8, &magic); off += 16) {
			uint32_t low = (uint32_t)magic;
			if ((low != 0xfffffff0 && low != 0xfffffff1 && low != 0xfffffffa) ||
			    (magic >> 32 & 0xffff) || (magic >> 56) != 8)
				continue;
			g->table = (struct section){ s->vaddr + off, s->p + off, s->n_bytes - off,
						     false };
			if (read_header(g))
				return;
			g->table.p = NULL;
		}
	}
}

/* Does the file contain Go code?  All linkers keep the section .go.buildinfo.  Nothing is read from
 * other files, such as libLLVM with its 60 MB of data. */
static bool is_of_go(Elf *elf, size_t shstrndx)
{
	GElf_Shdr sh;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *name = gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_ALLOC ?
			elf_strptr(elf, shstrndx, sh.sh_name) : NULL;
		if (name && (strcmp(name, ".go.buildinfo") == 0 || strstr(name, ".gopclntab")))
			return true;
	}
	return false;
}

static bool read_sections(struct go_names *g, Elf *elf)
{
	size_t shstrndx, n;
	GElf_Ehdr eh;
	if (!gelf_getehdr(elf, &eh) || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || elf_getshdrstrndx(elf, &shstrndx) ||
	    elf_getshdrnum(elf, &n) || !is_of_go(elf, shstrndx))
		return false;
	g->section = calloc(n ? n : 1, sizeof(*g->section));
	for (Elf_Scn *scn = NULL; g->section && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_type == SHT_NOBITS || (sh.sh_flags & SHF_EXECINSTR))
			continue;
		const char *name = elf_strptr(elf, shstrndx, sh.sh_name);
		const Elf_Data *data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf || !name || g->n_sections == n)
			continue;
		struct section s = { sh.sh_addr, data->d_buf, data->d_size,
				     sh.sh_flags & SHF_WRITE };
		g->section[g->n_sections++] = s;
		if (sh.sh_type == SHT_RELA && eh.e_ident[EI_CLASS] == ELFCLASS64 &&
		    strcmp(name, ".rela.plt") != 0)
			g->rela = data;
		if (strcmp(name, ".gopclntab") == 0 ||
		    strcmp(name, ".data.rel.ro.gopclntab") == 0)
			g->table = s;
	}
	if (g->section && !g->table.p)
		find_table(g);
	return g->section && g->table.p;
}

/* ---- functions ------------------------------------------------------------- */

struct function {
	uint64_t entry;
	uint64_t off;                  /* of its fixed part in the table */
	uint32_t name_off, file_steps, line_steps, cu, n_pcdata, n_funcdata;
	uint32_t start_line;
	uint64_t pcdata_off, funcdata_off;
};

static uint64_t pc_of(const struct go_names *g, uint64_t i)
{
	uint64_t x, n = g->layout == GO_1_16 ? g->ptr_bytes : 4;
	if (!get(&g->table, g->functions_off + i * 2 * n, (unsigned)n, &x))
		return UINT64_MAX;
	return g->layout == GO_1_16 ? x : g->text + x;
}

static bool find_function(const struct go_names *g, uint64_t vaddr, struct function *f)
{
	uint64_t low = SEARCH_COUNT(g->n_functions, i, pc_of(g, i) <= vaddr), off;
	/* the last function is followed by its end */
	if (low == 0 || vaddr >= pc_of(g, low))
		return false;
	unsigned n_bytes = g->layout == GO_1_16 ? g->ptr_bytes : 4;
	uint64_t at = g->functions_off + (low - 1) * 2 * n_bytes + n_bytes;
	if (!get(&g->table, at, n_bytes, &off) || off > g->table.n_bytes)
		return false;
	*f = (struct function){ .entry = pc_of(g, low - 1), .off = g->functions_off + off };
	at = f->off + n_bytes;
	f->name_off = get32(g, at);
	f->file_steps = get32(g, at + 16);
	f->line_steps = get32(g, at + 20);
	f->n_pcdata = get32(g, at + 24);
	f->cu = get32(g, at + 28);
	at += 32;
	if (g->layout == GO_1_20) {
		f->start_line = get32(g, at);
		at += 4;
	}
	uint64_t count;
	if (!get(&g->table, at + 3, 1, &count) || f->n_pcdata > g->table.n_bytes / 4)
		return false;
	f->n_funcdata = (uint32_t)count;
	f->pcdata_off = at + 4;
	f->funcdata_off = f->pcdata_off + 4 * (uint64_t)f->n_pcdata;
	uint64_t pad = g->layout == GO_1_16 ? g->ptr_bytes - 1 : 0;
	f->funcdata_off = (f->funcdata_off + pad) & ~pad;
	return true;
}

static bool uvarint(const struct go_names *g, uint64_t *off, uint32_t *ret)
{
	uint32_t x = 0;
	for (unsigned shift = 0; shift < 32 && *off < g->table.n_bytes; shift += 7) {
		uint8_t byte = g->table.p[(*off)++];
		x |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = x;
			return true;
		}
	}
	return false;
}

/* The value of a stream of steps at vaddr; -1: none. */
static int32_t value_at(const struct go_names *g, const struct function *f, uint32_t steps,
			uint64_t vaddr)
{
	uint64_t off = g->steps_off + steps, pc = f->entry;
	uint32_t value = UINT32_MAX, delta, n_pc;
	if (steps == 0 || steps == NO_OFFSET)
		return -1;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (!uvarint(g, &off, &delta) || (delta == 0 && i) || !uvarint(g, &off, &n_pc))
			return -1;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t)n_pc * g->quantum;
		if (vaddr < pc)
			return (int32_t)value;
	}
	return -1;
}

static const char *file_of(const struct go_names *g, const struct function *f, int32_t number)
{
	if (number < 0)
		return NULL;
	uint32_t off = get32(g, g->cus_off + 4 * ((uint64_t)f->cu + (uint32_t)number));
	return off == NO_OFFSET ? NULL : text_at(g, g->files_off + off);
}

static void set_place(const struct go_names *g, const struct function *f, uint64_t vaddr,
		      struct symdwarf_frame *frame)
{
	int32_t line = value_at(g, f, f->line_steps, vaddr);
	frame->file = file_of(g, f, value_at(g, f, f->file_steps, vaddr));
	frame->line = line > 0 ? (uint32_t)line : 0;
}

/* ---- inlined calls --------------------------------------------------------- */

/* The vaddr of the function's tree of inlined calls; 0: none. */
static uint64_t tree_of(const struct go_names *g, const struct function *f)
{
	if (f->n_funcdata <= FUNCDATA_INLINE_TREE)
		return 0;
	if (g->layout == GO_1_16)
		return pointer_at(g, g->table.vaddr + f->funcdata_off +
					     FUNCDATA_INLINE_TREE * g->ptr_bytes);
	uint32_t off = get32(g, f->funcdata_off + 4 * FUNCDATA_INLINE_TREE);
	return off == NO_OFFSET || !g->gofunc ? 0 : g->gofunc + off;
}

struct call {
	uint32_t name_off, parent_pc, file, line, start_line;
	int32_t parent;
};

static bool call_at(const struct go_names *g, uint64_t tree, int32_t index, struct call *c)
{
	unsigned n_bytes = g->layout == GO_1_20 ? 16 : 20;
	uint64_t vaddr = tree + (uint64_t)index * n_bytes, word[5] = { 0 };
	const struct section *s = section_at(g, vaddr);
	for (unsigned i = 0; i < n_bytes / 4; i++)
		if (!s || !get(s, vaddr - s->vaddr + 4 * i, 4, &word[i]))
			return false;
	if (g->layout == GO_1_20)
		*c = (struct call){ .name_off = (uint32_t)word[1], .parent_pc = (uint32_t)word[2],
				    .start_line = (uint32_t)word[3] };
	else
		*c = (struct call){ .parent = (int16_t)word[0], .file = (uint32_t)word[1],
				    .line = (uint32_t)word[2], .name_off = (uint32_t)word[3] };
	return true;
}

/* ---- moduledata ------------------------------------------------------------- */

/* Is the first call of a function's tree a call, within the function and with a name? */
static bool is_tree(const struct go_names *g, const struct function *f, uint64_t n_code)
{
	struct call c;
	if (!call_at(g, tree_of(g, f), 0, &c) || c.parent_pc >= n_code)
		return false;
	uint64_t name_off = g->names_off + c.name_off;
	return text_at(g, name_off) && g->table.p[name_off - 1] == '\0';
}

/* Do the first functions with trees have real ones, if these are relative to g->gofunc? */
static bool has_trees(const struct go_names *g)
{
	struct function f;
	unsigned n_trees = 0;
	for (uint64_t i = 0; i < TRIED_FUNCTIONS_MAX && n_trees < TRIED_TREES; i++) {
		uint64_t pc = pc_of(g, i);
		if (i >= g->n_functions || !find_function(g, pc, &f))
			break;
		if (!tree_of(g, &f))
			continue;
		if (!is_tree(g, &f, pc_of(g, i + 1) - pc))
			return false;
		n_trees++;
	}
	return n_trees > 0;
}

/* If the moduledata of this table is at vaddr, takes what it contains. */
static bool try_moduledata(struct go_names *g, uint64_t vaddr)
{
	uint64_t p = g->ptr_bytes;
	if (pointer_at(g, vaddr + p) != g->table.vaddr + g->names_off)
		return false;
	uint64_t text = pointer_at(g, vaddr + MODULEDATA_TEXT * p);
	if (!text || (g->text && text != g->text))
		return false;
	g->text = text;
	for (unsigned i = MODULEDATA_GOFUNC_MIN; i <= MODULEDATA_GOFUNC_MAX; i++) {
		g->gofunc = pointer_at(g, vaddr + i * p);
		if (g->gofunc && has_trees(g))
			return true;
	}
	g->gofunc = 0;
	return true;
}

static void find_moduledata(struct go_names *g)
{
	for (size_t i = 0; i < g->n_sections; i++) {
		const struct section *s = &g->section[i];
		uint64_t x;
		for (uint64_t off = 0; s->is_writable && get(s, off, g->ptr_bytes, &x);
		     off += g->ptr_bytes)
			if (x == g->table.vaddr && try_moduledata(g, s->vaddr + off))
				return;
	}
	for (size_t i = 0; i < n_relocations(g); i++) {
		GElf_Rela r;
		memcpy(&r, (const char *)g->rela->d_buf + i * sizeof(r), sizeof(r));
		if ((uint64_t)r.r_addend == g->table.vaddr && try_moduledata(g, r.r_offset))
			return;
	}
}

int go_names_open(Elf *elf, struct go_names **ret_go)
{
	struct go_names *g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	if (!read_sections(g, elf) || !read_header(g)) {
		go_names_close(g);
		return -ENOENT;
	}
	if (g->layout != GO_1_16)
		find_moduledata(g);
	if (g->layout != GO_1_16 && !g->text) {
		go_names_close(g);
		return -ENOENT;
	}
	*ret_go = g;
	return 0;
}

void go_names_close(struct go_names *g)
{
	if (g)
		free(g->section);
	free(g);
}

size_t go_names_find(const struct go_names *g, uint64_t vaddr, struct symdwarf_frame *frame,
		     size_t max)
{
	struct function f;
	if (max == 0 || !find_function(g, vaddr, &f))
		return 0;
	const char *name = text_at(g, g->names_off + f.name_off);
	if (!name)
		return 0;
	uint64_t tree = tree_of(g, &f);
	uint32_t index_steps = f.n_pcdata > PCDATA_INLINE_TREE_INDEX
				       ? get32(g, f.pcdata_off + 4 * PCDATA_INLINE_TREE_INDEX)
				       : 0;
	int32_t index = tree ? value_at(g, &f, index_steps, vaddr) : -1;
	struct symdwarf_frame at = { 0 };
	struct call c;
	size_t n = 0;
	set_place(g, &f, vaddr, &at);
	for (; index >= 0 && n + 1 < max && n < INLINE_DEPTH_MAX && call_at(g, tree, index, &c);
	     n++) {
		frame[n] = at;
		frame[n].name = text_at(g, g->names_off + c.name_off);
		frame[n].start_line = c.start_line;
		if (!frame[n].name)
			break;
		if (g->layout == GO_1_20) {
			set_place(g, &f, f.entry + c.parent_pc, &at);
			index = value_at(g, &f, index_steps, f.entry + c.parent_pc);
		} else {
			at.file = file_of(g, &f, (int32_t)c.file);
			at.line = c.line;
			index = c.parent;
		}
	}
	frame[n] = at;
	frame[n].name = name;
	frame[n].start_line = f.start_line;
	return n + 1;
}
