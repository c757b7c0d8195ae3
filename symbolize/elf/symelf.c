/*
 * A .symtab has everything that .dynsym has.  So .dynsym (with the symbols of .gnu_debugdata, which
 * lack the dynamic ones) is read only if neither the file nor its debug file has a .symtab.
 *
 * The files are read, not mapped: if one is truncated meanwhile, a mapping would end cprof with
 * SIGBUS.
 */

#include "symbolize/elf/symelf.h"

#include "symbolize/elf/dso.h"
#include "symbolize/elf/symxz.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_program(Elf *elf)
{
	GElf_Ehdr eh;
	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	       (eh.e_type == ET_EXEC || eh.e_type == ET_DYN);
}

int symelf_open(struct symelf *s, const struct dso *d, const struct symdebug_place *where)
{
	*s = (struct symelf){ .d = d, .where = where, .fd = -1, .debug_fd = -1 };
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	if (d->image) {
		s->elf = elf_memory((char *)d->image, d->n_image_bytes);
	} else if (dsokeep_has_file(d)) {
		int fd = dsokeep_dup(d);
		if (fd < 0)
			return fd;
		s->fd = fd;
		s->elf = elf_begin(s->fd, ELF_C_READ, NULL);
	}
	if (!is_program(s->elf)) {
		symelf_close(s);
		return -EINVAL;
	}
	return 0;
}

void symelf_close(struct symelf *s)
{
	symtab_done(&s->symbols);
	symtab_done(&s->data);
	symplt_done(&s->plt);
	elf_end(s->elf);
	elf_end(s->debug);
	elf_end(s->mini);
	free(s->mini_bytes);
	free(s->debug_path);
	free(s->misfit.path);
	if (s->fd >= 0)
		close(s->fd);
	if (s->debug_fd >= 0)
		close(s->debug_fd);
	*s = (struct symelf){ .fd = -1, .debug_fd = -1 };
}

/* ---- sections ------------------------------------------------------------ */

static Elf_Scn *section_by_name(Elf *elf, const char *wanted)
{
	size_t shstrndx;
	if (!elf || elf_getshdrstrndx(elf, &shstrndx))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, shstrndx, sh.sh_name);
		if (name && strcmp(name, wanted) == 0)
			return scn;
	}
	return NULL;
}

static bool has_dwarf(Elf *elf)
{
	return section_by_name(elf, ".debug_info") || section_by_name(elf, ".zdebug_info");
}

static bool has_symtab(Elf *elf)
{
	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/* ---- the debug file ------------------------------------------------------ */

static Elf *debug_file(struct symelf *s)
{
	if (s->debug_tried)
		return s->debug;
	s->debug_tried = true;
	int fd = symdebug_open(s->where, s->d, s->elf, &s->debug_path, &s->misfit);
	if (fd < 0)
		return NULL;
	s->debug_fd = fd;
	s->debug = elf_begin(fd, ELF_C_READ, NULL);
	if (!is_program(s->debug)) {
		elf_end(s->debug);
		s->debug = NULL;
	}
	return s->debug;
}

Elf *symelf_dwarf(struct symelf *s)
{
	if (has_dwarf(s->elf))
		return s->elf;
	return has_dwarf(debug_file(s)) ? s->debug : NULL;
}

static Elf *mini_debug_info(struct symelf *s)
{
	Elf_Scn *scn = section_by_name(s->elf, ".gnu_debugdata");
	Elf_Data *xz = scn ? elf_rawdata(scn, NULL) : NULL;
	size_t n;
	if (!xz || !xz->d_buf || symxz_unpack(xz->d_buf, xz->d_size, &s->mini_bytes, &n))
		return NULL;
	s->mini = elf_memory((char *)s->mini_bytes, n);
	return is_program(s->mini) ? s->mini : NULL;
}

/* ---- symbols ------------------------------------------------------------- */

/* The whole table of the file or its debug file; false: there is none. */
static bool add_full_table(struct symelf *s, struct symtab *to)
{
	Elf *full = has_symtab(s->elf) ? s->elf : has_symtab(debug_file(s)) ? s->debug : NULL;
	int fd = full == s->elf ? s->fd : s->debug_fd;
	return full && symtab_add(to, full, fd, SHT_SYMTAB) > 0;
}

static void read_symbols(struct symelf *s)
{
	if (s->symbols_read)
		return;
	s->symbols_read = true;
	if (!symtab_add_code(&s->symbols, s->elf))
		return;
	if (!add_full_table(s, &s->symbols)) {
		symtab_add(&s->symbols, s->elf, s->fd, SHT_DYNSYM);
		Elf *mini = mini_debug_info(s);
		if (mini)
			symtab_add(&s->symbols, mini, -1, SHT_SYMTAB);
	}
	symtab_finish(&s->symbols);
}

/* .gnu_debugdata has functions only. */
static void read_data(struct symelf *s)
{
	if (s->data_read)
		return;
	s->data_read = true;
	if (!symtab_add_data(&s->data, s->elf))
		return;
	if (!add_full_table(s, &s->data))
		symtab_add(&s->data, s->elf, s->fd, SHT_DYNSYM);
	symtab_finish(&s->data);
}

const struct symtab_symbol *symelf_find(struct symelf *s, uint64_t vaddr, const char **ret_name)
{
	read_symbols(s);
	return symtab_find(&s->symbols, vaddr, ret_name);
}

const struct symtab_symbol *symelf_find_data(struct symelf *s, uint64_t vaddr,
					     const char **ret_name)
{
	read_data(s);
	return symtab_find(&s->data, vaddr, ret_name);
}

static void read_plt(struct symelf *s)
{
	if (!s->plt_read)
		symplt_init(&s->plt, s->elf, s->fd);
	s->plt_read = true;
}

bool symelf_same(struct symelf *s, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	read_symbols(s);
	read_plt(s);
	if (symplt_covers(&s->plt, vaddr) ||
	    !symtab_same(&s->symbols, vaddr, ret_start, ret_end))
		return false;
	symplt_cut(&s->plt, vaddr, ret_start, ret_end);
	return true;
}

const char *symelf_find_plt(struct symelf *s, uint64_t vaddr)
{
	read_plt(s);
	if (!symplt_covers(&s->plt, vaddr))
		return NULL;
	read_symbols(s);
	return symplt_find(&s->plt, &s->symbols, vaddr);
}
