/*
 * One array sorted by start address.  Symbols may nest (a label in hand-written code, an outlined
 * part with a size), so a search goes backwards from the last symbol that starts at or below the
 * address.
 *
 * Nothing in a table is trusted: a name must be in a string table that ends with NUL, and an
 * address in an executable section; sizes are cut at its end.  The names of symbols are read only
 * when a search finds them (and to choose between aliases of equal rank and different size), so a
 * table of 40 000 symbols is read without its strings.
 */

#include "symbolize/elf/symtab.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK_LOCAL, RANK_WEAK, RANK_GLOBAL,
	RANK_SIZED = 4,      /* a size beats binding */
	RANK_FUNC = 8,       /* a function beats a label */
};

#define BACKWARD_MAX 64      /* overlapping symbols that a search examines */
#define SYMBOLS_MAX (1u << 24) /* of one table; more are ignored */

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)

/* ---- code ranges --------------------------------------------------------- */

static int compare_range(const void *a, const void *b)
{
	const struct symtab_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds the sections that have all these flags, and are in memory at their own address. */
static bool add_sections(struct symtab *t, Elf *elf, uint64_t flags)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || (sh.sh_flags & flags) != flags ||
		    sh.sh_flags & SHF_TLS || !sh.sh_size ||
		    sh.sh_size > UINT64_MAX - sh.sh_addr)
			continue;
		struct symtab_range range = { sh.sh_addr, sh.sh_addr + sh.sh_size };
		if (!VEC_PUSH(&t->code, range))
			return false;
	}
	if (t->code.n)
		qsort(t->code.v, t->code.n, sizeof(*t->code.v), compare_range);
	return true;
}

bool symtab_add_code(struct symtab *t, Elf *elf)
{
	return add_sections(t, elf, SHF_ALLOC | SHF_EXECINSTR);
}

bool symtab_add_data(struct symtab *t, Elf *elf)
{
	t->is_data = true;
	return add_sections(t, elf, SHF_ALLOC | SHF_WRITE);
}

static const struct symtab_range *find_code(const struct symtab *t, uint64_t vaddr)
{
	size_t lo = SEARCH_COUNT(t->code.n, i, t->code.v[i].start <= vaddr);
	return lo && vaddr < t->code.v[lo - 1].end ? &t->code.v[lo - 1] : NULL;
}

/* ---- reading ------------------------------------------------------------- */

/* By the first three bytes of the name: on Arm, "$x", "$d", "$a" and "$t" mark code and data; on
 * RISC-V, "$x..." marks the instruction set. */
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

static int add_symbol(struct symtab *t, const GElf_Sym *sym, uint8_t text)
{
	int type = GELF_ST_TYPE(sym->st_info);
	const struct symread *names = &t->text[text];
	if (t->is_data ? type != STT_OBJECT || !sym->st_size
		       : type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC)
		return 0;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return 0;
	if (sym->st_name == 0 || sym->st_name >= names->n_bytes)
		return 0;
	const struct symtab_range *code = find_code(t, sym->st_value);
	if (!code)
		return 0;
	if (type == STT_NOTYPE) {
		char first[3];
		if (!symread_first(names, sym->st_name, &t->piece, first) || !*first ||
		    is_mapping_symbol(first))
			return 0;
	}
	uint64_t room = code->end - sym->st_value;
	struct symtab_symbol s = {
		.start = sym->st_value,
		.end = sym->st_size && sym->st_size < room ? sym->st_value + sym->st_size
							   : code->end,
		.name = sym->st_name,
		.text = text,
		.is_dynamic = t->is_dynamic[text],
		.rank = rank_of(sym, type),
		.sized = sym->st_size != 0,
	};
	return VEC_PUSH(t, s) ? 1 : -ENOMEM;
}

static int64_t add_table(struct symtab *t, const struct symread *from, uint8_t text)
{
	int64_t n_added = 0;
	struct symread_rows rows;
	GElf_Sym sym;
	if (!symread_rows_init(&rows, from, ELF_T_SYM))
		return -ENOMEM;
	if (rows.n > SYMBOLS_MAX)
		rows.n = SYMBOLS_MAX;
	symread_next_symbol(&rows, &sym);  /* the first one is the null symbol */
	while (n_added >= 0 && symread_next_symbol(&rows, &sym)) {
		int added = add_symbol(t, &sym, text);
		n_added = added < 0 ? added : n_added + added;
	}
	symread_rows_done(&rows);
	return n_added;
}

int64_t symtab_add(struct symtab *t, Elf *elf, int fd, uint32_t section_type)
{
	int64_t n_added = 0;
	for (Elf_Scn *scn = NULL; n_added >= 0 && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		struct symread from;
		if (t->n_texts == SYMTAB_TEXTS_MAX)
			break;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != section_type ||
		    !symread_init(&from, elf, fd, &sh) ||
		    !symread_init_text(&t->text[t->n_texts], elf, fd, sh.sh_link))
			continue;
		t->is_dynamic[t->n_texts] = section_type == SHT_DYNSYM;
		int64_t added = add_table(t, &from, (uint8_t)t->n_texts++);
		n_added = added < 0 ? added : n_added + added;
	}
	return n_added;
}

/* ---- names --------------------------------------------------------------- */

static size_t n_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Is x the plainer of the two names?  Fewer leading underscores win, then the shorter name (no
 * version or clone suffix), then the alphabet, so that the choice is stable. */
static bool is_plainer(const char *x, const char *y)
{
	size_t nx = n_underscores(x), ny = n_underscores(y);
	if (nx != ny)
		return nx < ny;
	nx = strlen(x);
	ny = strlen(y);
	if (nx != ny)
		return nx < ny;
	return strcmp(x, y) < 0;
}

/* Is x's name the plainer one?  A name that cannot be read is not. */
static bool has_plainer_name(struct symtab *t, uint8_t x_text, uint32_t x_name, uint8_t y_text,
			     uint32_t y_name)
{
	const char *x = symread_text(&t->text[x_text], x_name, &t->piece);
	const char *y = symread_text(&t->text[y_text], y_name, &t->other);
	return x && *x && (!y || !*y || is_plainer(x, y));
}

/* The name, chosen among aliases when first needed. */
static const char *name_of(struct symtab *t, struct symtab_symbol *s)
{
	for (size_t i = s->alias; i; i = t->aliases.v[i - 1].is_last ? 0 : i + 1) {
		const struct symtab_alias *a = &t->aliases.v[i - 1];
		if (!has_plainer_name(t, a->text, a->name, s->text, s->name))
			continue;
		s->text = a->text;
		s->name = a->name;
		s->is_dynamic = t->is_dynamic[a->text];
	}
	s->alias = 0;
	const char *name = symread_text(&t->text[s->text], s->name, &t->piece);
	return name && *name ? name : NULL;
}

/* ---- order --------------------------------------------------------------- */

static int compare_start(const void *a, const void *b)
{
	const struct symtab_symbol *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts by the digit at that bit, and swaps *from and *to. */
static void sort_by_digit(struct symtab_symbol **from, struct symtab_symbol **to, size_t n,
			  uint64_t lowest, unsigned bit)
{
	uint32_t at[DIGIT_VALUES] = {0}, sum = 0;
	const struct symtab_symbol *v = *from;
	for (size_t i = 0; i < n; i++)
		at[(v[i].start - lowest) >> bit & (DIGIT_VALUES - 1)]++;
	for (size_t i = 0; i < DIGIT_VALUES; i++) {
		uint32_t count = at[i];
		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		(*to)[at[(v[i].start - lowest) >> bit & (DIGIT_VALUES - 1)]++] = v[i];
	struct symtab_symbol *swap = *from;
	*from = *to;
	*to = swap;
}

/* By start, with a radix sort: a program's addresses have two or three digits. */
static void sort_by_start(struct symtab *t)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	struct symtab_symbol *v = t->v, *scratch = NULL;
	for (size_t i = 0; i < t->n; i++) {
		lowest = v[i].start < lowest ? v[i].start : lowest;
		highest = v[i].start > highest ? v[i].start : highest;
	}
	if (t->n >= DIGIT_VALUES)
		scratch = reallocarray(NULL, t->n, sizeof(*scratch));
	if (!scratch) {
		if (t->n)
			qsort(v, t->n, sizeof(*v), compare_start);
		return;
	}
	for (unsigned bit = 0; bit < 64 && (highest - lowest) >> bit; bit += DIGIT_BITS)
		sort_by_digit(&v, &scratch, t->n, lowest, bit);
	if (t->v != v)
		t->cap = t->n;
	t->v = v;
	free(scratch);
}

/* The best of the aliases [s, end) that can be found without reading names, among those with a size
 * only, or among all.  Others of the same rank become its aliases.  False if there is none. */
static bool choose_alias(struct symtab *t, const struct symtab_symbol *s,
			 const struct symtab_symbol *end, bool sized_only,
			 struct symtab_symbol *ret)
{
	const struct symtab_symbol *best = NULL;
	for (const struct symtab_symbol *x = s; x < end; x++)
		if ((x->sized || !sized_only) && (!best || x->rank > best->rank))
			best = x;
	if (!best)
		return false;
	struct symtab_symbol chosen = *best;
	bool is_one_size = true;
	for (const struct symtab_symbol *x = best + 1; x < end && is_one_size; x++)
		is_one_size = x->rank != best->rank || x->end == best->end;
	for (const struct symtab_symbol *x = best + 1; x < end; x++) {
		if (x->rank != best->rank)
			continue;
		struct symtab_alias a = { x->name, x->text, true };
		if (!is_one_size) {
			if (has_plainer_name(t, x->text, x->name, chosen.text, chosen.name))
				chosen = *x;
		} else if (VEC_PUSH(&t->aliases, a)) {
			if (chosen.alias)
				t->aliases.v[t->aliases.n - 2].is_last = false;
			else
				chosen.alias = (uint32_t)t->aliases.n;
		}
	}
	*ret = chosen;
	return true;
}

/* Keeps the best of each group of aliases, and drops labels inside sized functions. */
static void drop_shadowed(struct symtab *t)
{
	size_t n = 0;
	uint64_t sized_end = 0;
	for (size_t i = 0, next; i < t->n; i = next) {
		struct symtab_symbol s;
		for (next = i + 1; next < t->n && t->v[next].start == t->v[i].start;)
			next++;
		if (!choose_alias(t, t->v + i, t->v + next, t->v[i].start < sized_end, &s))
			continue;
		if (s.sized && s.end > sized_end)
			sized_end = s.end;
		t->v[n++] = s;
	}
	t->n = n;
}

/* The start-up code that compilers put before a program's own code has no sizes.  It ends with
 * frame_dummy, a jump.  Code without symbols may follow it (GHC's). */
#define FRAME_DUMMY_BYTES_MAX 16u

static bool is_frame_dummy(struct symtab *t, struct symtab_symbol *s)
{
	const char *name = s->sized ? NULL : name_of(t, s);
	return name && strcmp(name, "frame_dummy") == 0;
}

static bool covers(struct symtab *t, struct symtab_symbol *s, uint64_t vaddr)
{
	if (vaddr >= s->end)
		return false;
	return s->sized || vaddr - s->start < FRAME_DUMMY_BYTES_MAX || !is_frame_dummy(t, s);
}

void symtab_finish(struct symtab *t)
{
	sort_by_start(t);
	drop_shadowed(t);
	for (size_t i = 0; i + 1 < t->n; i++)
		if (!t->v[i].sized && t->v[i + 1].start < t->v[i].end)
			t->v[i].end = t->v[i + 1].start;
}

const struct symtab_symbol *symtab_find(struct symtab *t, uint64_t vaddr, const char **ret_name)
{
	size_t lo = SEARCH_COUNT(t->n, i, t->v[i].start <= vaddr);
	for (size_t n = 0; lo && n < BACKWARD_MAX; n++) {
		struct symtab_symbol *s = &t->v[--lo];
		if (!covers(t, s, vaddr))
			continue;
		*ret_name = name_of(t, s);
		return *ret_name ? s : NULL;
	}
	return NULL;
}

bool symtab_same(struct symtab *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t lo = SEARCH_COUNT(t->n, i, t->v[i].start <= vaddr);
	uint64_t start = 0, end = lo < t->n ? t->v[lo].start : UINT64_MAX;
	for (size_t n = 0; lo && n < BACKWARD_MAX; n++) {
		struct symtab_symbol *s = &t->v[--lo];
		bool is_within = vaddr < s->end;
		uint64_t from = is_within ? s->start : s->end;
		start = from > start ? from : start;
		if (!is_within)
			continue;
		if (is_frame_dummy(t, s))
			return false;
		end = s->end < end ? s->end : end;
		break;
	}
	*ret_start = start;
	*ret_end = end;
	return true;
}

void symtab_done(struct symtab *t)
{
	free(t->v);
	VEC_FREE(&t->code);
	VEC_FREE(&t->aliases);
	free(t->piece.bytes);
	free(t->other.bytes);
	*t = (struct symtab){0};
}
