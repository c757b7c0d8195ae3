#include "symbolize/symtab.h"

#include "base/vec.h"

#include <errno.h>
#include <gelf.h>

/*
 * One array sorted by start address.  Symbols may nest (a label in hand-written code, an
 * outlined part with a size), so a search goes from the last symbol that starts at or
 * below the address backwards, and max_end says when to stop.
 *
 * Nothing in a table is trusted: names must lie in a string table that ends with NUL, and
 * addresses in an executable section, to whose end sizes are cut.  Names are looked at only where
 * aliases compete, so a table of 40 000 symbols is read without touching its strings.
 */

enum {
	RANK_LOCAL, RANK_WEAK, RANK_GLOBAL,
	RANK_SIZED = 4,      /* a size beats binding */
	RANK_FUNC = 8,       /* and a function beats a label */
};

#define BACKWARD_MAX 64      /* overlapping symbols that a search looks at */

/* ---- code ranges --------------------------------------------------------- */

static int compare_range(const void *a, const void *b)
{
	const struct symtab_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

bool symtab_add_code(struct symtab *t, Elf *elf)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    !(sh.sh_flags & SHF_ALLOC) || !sh.sh_size ||
		    sh.sh_size > UINT64_MAX - sh.sh_addr)
			continue;
		if (!vec_grow((void **)&t->code, &t->cap_code, t->n_code, 1, sizeof(*t->code)))
			return false;
		t->code[t->n_code++] = (struct symtab_range){ sh.sh_addr, sh.sh_addr + sh.sh_size };
	}
	if (t->n_code)
		qsort(t->code, t->n_code, sizeof(*t->code), compare_range);
	return true;
}

static const struct symtab_range *find_code(const struct symtab *t, uint64_t vaddr)
{
	size_t lo = 0, hi = t->n_code;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->code[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < t->code[lo - 1].end ? &t->code[lo - 1] : NULL;
}

/* ---- reading ------------------------------------------------------------- */

/* Arm's "$x", "$d", "$a", "$t" mark code and data, and RISC-V's "$x..." the instruction set. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && (!name[2] || name[2] == '.' || name[1] == 'x');
}

static uint8_t rank_of(const GElf_Sym *sym, int type)
{
	uint8_t rank = RANK_LOCAL;
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		rank = RANK_GLOBAL;
		break;
	case STB_WEAK:
		rank = RANK_WEAK;
		break;
	}
	return rank | (sym->st_size ? RANK_SIZED : 0) | (type != STT_NOTYPE ? RANK_FUNC : 0);
}

static int add_symbol(struct symtab *t, const GElf_Sym *sym, const Elf_Data *names, uint8_t source)
{
	int type = GELF_ST_TYPE(sym->st_info);
	if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC)
		return 0;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return 0;
	if (sym->st_name == 0 || sym->st_name >= names->d_size)
		return 0;
	const struct symtab_range *code = find_code(t, sym->st_value);
	if (!code)
		return 0;
	const char *name = (const char *)names->d_buf + sym->st_name;
	if (!*name || (type == STT_NOTYPE && is_mapping_symbol(name)))
		return 0;
	uint64_t room = code->end - sym->st_value;
	struct symtab_symbol s = {
		.start = sym->st_value,
		.end = sym->st_size && sym->st_size < room ? sym->st_value + sym->st_size
							   : code->end,
		.name = name,
		.source = source,
		.rank = rank_of(sym, type),
		.sized = sym->st_size != 0,
	};
	return VEC_PUSH(t, s) ? 1 : -ENOMEM;
}

/* The string table with that section index, if it can be trusted. */
static const Elf_Data *string_table(Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr sh;
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB)
		return NULL;
	const Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size ||
	    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
		return NULL;
	return data;
}

int64_t symtab_add(struct symtab *t, Elf *elf, uint32_t section_type, uint8_t source)
{
	int64_t n_added = 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != section_type)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		const Elf_Data *names = string_table(elf, sh.sh_link);
		size_t sym_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
		if (!data || !data->d_buf || !names || !sym_bytes)
			continue;
		size_t n = data->d_size / sym_bytes;
		for (size_t i = 1; i < n && i <= INT32_MAX; i++) {
			GElf_Sym sym;
			if (!gelf_getsym(data, (int)i, &sym))
				break;
			int added = add_symbol(t, &sym, names, source);
			if (added < 0)
				return added;
			n_added += added;
		}
	}
	return n_added;
}

/* ---- order --------------------------------------------------------------- */

static size_t n_underscores(const char *name)
{
	return strspn(name, "_");
}

/* By start; aliases best first: rank, then the plainer name (fewer leading underscores, no
 * version or clone suffix by being shorter), then the alphabet, so that the choice is stable. */
static int compare_symbol(const void *a, const void *b)
{
	const struct symtab_symbol *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	size_t nx = n_underscores(x->name), ny = n_underscores(y->name);
	if (nx != ny)
		return nx < ny ? -1 : 1;
	nx = strlen(x->name);
	ny = strlen(y->name);
	if (nx != ny)
		return nx < ny ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps the best of each group of aliases, and drops labels inside of sized functions. */
static void drop_shadowed(struct symtab *t)
{
	size_t n = 0;
	uint64_t sized_end = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct symtab_symbol s = t->v[i];
		if (n && t->v[n - 1].start == s.start)
			continue;
		if (!s.sized && s.start < sized_end)
			continue;
		if (s.sized && s.end > sized_end)
			sized_end = s.end;
		t->v[n++] = s;
	}
	t->n = n;
}

/* What compilers put before a program's own code has no sizes, and ends with frame_dummy, a jump.
 * Behind it may come code without symbols (GHC's). */
#define FRAME_DUMMY_BYTES_MAX 16u

static uint64_t end_of_last_glue(const struct symtab_symbol *s)
{
	bool is_short = s->end - s->start <= FRAME_DUMMY_BYTES_MAX;
	return is_short || strcmp(s->name, "frame_dummy") != 0 ? s->end
							      : s->start + FRAME_DUMMY_BYTES_MAX;
}

void symtab_finish(struct symtab *t)
{
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare_symbol);
	drop_shadowed(t);
	uint64_t max_end = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct symtab_symbol *s = &t->v[i];
		if (!s->sized && i + 1 < t->n && t->v[i + 1].start < s->end)
			s->end = t->v[i + 1].start;
		if (!s->sized)
			s->end = end_of_last_glue(s);
		if (s->end > max_end)
			max_end = s->end;
		s->max_end = max_end;
	}
}

const struct symtab_symbol *symtab_find(const struct symtab *t, uint64_t vaddr)
{
	size_t lo = 0, hi = t->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t n = 0; lo && n < BACKWARD_MAX; n++) {
		const struct symtab_symbol *s = &t->v[--lo];
		if (vaddr < s->end)
			return s;
		if (s->max_end <= vaddr)
			return NULL;
	}
	return NULL;
}

void symtab_done(struct symtab *t)
{
	free(t->v);
	free(t->code);
	*t = (struct symtab){0};
}
