/*
 * Notes survive strip(1) of GNU, because they are in no symbol table.  If a tool (prelink) has
 * moved the file's addresses, the section .stapsdt.base has moved with the code, and the notes have
 * not: the difference between its address and the one in the note corrects them.
 */
#include "event/evsdt.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evelf.h"
#include "event/evnames.h"
#include "event/evnote.h"
#include "symbolize/arch/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NOTES_BYTES_MAX (16u << 20)
#define LOCATIONS_MAX 65536u
#define NEAREST 3

static bool is_named(Elf *elf, size_t names, const GElf_Shdr *header, const char *name)
{
	const char *is = elf_strptr(elf, names, header->sh_name);
	return is && strcmp(is, name) == 0;
}

/* The address of .stapsdt.base; 0: there is none. */
static uint64_t find_base(Elf *elf, size_t names)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) && is_named(elf, names, &header, ".stapsdt.base"))
			return header.sh_addr;
	}
	return 0;
}

/* lib/preload/alloc-ringmap.c */
static bool is_alloc_library(Elf *elf, size_t names)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) && is_named(elf, names, &header, ".note.cprof.alloc"))
			return true;
	}
	return false;
}

/* False: no memory. */
static bool add_note(Elf *elf, uint64_t base, const struct evnote *note, struct evsdt *to)
{
	uint64_t moved = base && note->base ? base - note->base : 0;
	struct evsdt_location l = {
		.provider = note->provider, .name = note->name, .args = note->args,
	};
	if (!evelf_file_off(elf, note->pc + moved, PF_X, &l.file_off) ||
	    (note->semaphore && !evelf_file_off(elf, note->semaphore + moved, PF_W,
						&l.semaphore_off))) {
		to->n_unusable++;
		return true;
	}
	return VEC_PUSH(&to->locations, l);
}

static int add_notes(Elf *elf, uint64_t base, size_t n_bytes, struct evsdt *to)
{
	struct bytes notes = bytes_of(n_bytes ? (const void *)to->notes : "", n_bytes);
	struct evnote note;
	while (evnote_next(&notes, &note)) {
		if (to->locations.n == LOCATIONS_MAX) {
			to->is_cut = true;
			return 0;
		}
		if (!add_note(elf, base, &note, to))
			return -ENOMEM;
	}
	to->is_cut |= bytes_left(&notes) != 0;
	return 0;
}

/* Appends the bytes of all sections with notes to to->notes. */
static int collect_notes(Elf *elf, size_t names, struct evsdt *to, size_t *ret_n_bytes)
{
	size_t n = 0;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (!gelf_getshdr(s, &header) || header.sh_type != SHT_NOTE ||
		    !is_named(elf, names, &header, ".note.stapsdt"))
			continue;
		if (header.sh_size > NOTES_BYTES_MAX - n) {
			to->is_cut = true;
			break;
		}
		const Elf_Data *data = elf_rawdata(s, NULL);
		if (!data || !data->d_buf || !data->d_size)
			continue;
		/* The next section's first note begins at a multiple of 4, too. */
		size_t n_padding = -data->d_size & 3;
		char *more = realloc(to->notes, n + data->d_size + n_padding);
		if (!more)
			return -ENOMEM;
		to->notes = more;
		memcpy(more + n, data->d_buf, data->d_size);
		memset(more + n + data->d_size, 0, n_padding);
		n += data->d_size + n_padding;
	}
	*ret_n_bytes = n;
	return 0;
}

static int compare_names(const struct evsdt_location *a, const char *provider, const char *name)
{
	int r = strcmp(a->provider, provider);
	return r ? r : strcmp(a->name, name);
}

static int compare_locations(const void *a, const void *b)
{
	const struct evsdt_location *x = a, *y = b;
	int r = compare_names(x, y->provider, y->name);
	return r ? r : (x->file_off > y->file_off) - (x->file_off < y->file_off);
}

/* One instruction can have several notes, of inlined copies that were merged: once is enough. */
static void sort_locations(struct evsdt *s)
{
	size_t n = 0;
	struct evsdt_location *v = s->locations.v;
	if (s->locations.n)
		qsort(v, s->locations.n, sizeof(*v), compare_locations);
	for (size_t i = 0; i < s->locations.n; i++)
		if (!n || compare_locations(&v[i], &v[n - 1]) != 0)
			v[n++] = v[i];
	s->locations.n = n;
}

static int read_elf(Elf *elf, struct evsdt *to)
{
	GElf_Ehdr header;
	size_t names, n_bytes = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	const struct arch *arch = arch_of_machine(header.e_machine);
	to->arch = arch ? arch->probe : NULL;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	to->is_alloc_library = is_alloc_library(elf, names);
	int r = collect_notes(elf, names, to, &n_bytes);
	if (r == 0)
		r = add_notes(elf, find_base(elf, names), n_bytes, to);
	sort_locations(to);
	return r;
}

int evsdt_read(int fd, const char *path, struct evsdt *ret, struct err *e)
{
	struct evsdt s = { 0 };
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int r = read_elf(elf, &s);
	elf_end(elf);
	if (r < 0) {
		evsdt_done(&s);
		return r == -ENOEXEC ? err_set(e, ENOEXEC, "'%s' is not a 64-bit ELF file", path)
				     : err_errno(e, -r, "cannot read the probes of '%s'", path);
	}
	*ret = s;
	return 0;
}

int evsdt_read_path(const char *path, struct evsdt *ret, struct err *e)
{
	struct stat st;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ENOEXEC, "'%s' is not a file", path);
	return evsdt_read(fd, path, ret, e);
}

void evsdt_done(struct evsdt *s)
{
	VEC_FREE(&s->locations);
	free(s->notes);
	*s = (struct evsdt){ 0 };
}

size_t evsdt_find(const struct evsdt *s, const char *provider, const char *name, size_t *ret_first)
{
	size_t n = 0;
	for (size_t i = 0; i < s->locations.n; i++) {
		if (compare_names(&s->locations.v[i], provider, name) != 0)
			continue;
		if (!n++)
			*ret_first = i;
	}
	return n;
}

/* A probe's distance from the wanted one: edits of both names. */
static unsigned distance(const struct evsdt_location *l, const char *provider, const char *name)
{
	return evnames_distance(name, strlen(name), l->name, strlen(l->name)) +
	       evnames_distance(provider, strlen(provider), l->provider, strlen(l->provider));
}

void evsdt_nearest(const struct evsdt *s, const char *provider, const char *name, char *ret,
		   size_t n_bytes)
{
	const struct evsdt_location *best[NEAREST] = { NULL }, *before = NULL;
	unsigned of[NEAREST], n = 0;
	for (size_t i = 0; i < s->locations.n; before = &s->locations.v[i++]) {
		const struct evsdt_location *l = &s->locations.v[i];
		if (before && compare_names(l, before->provider, before->name) == 0)
			continue;
		unsigned d = distance(l, provider, name), at = n;
		while (at && d < of[at - 1])
			at--;
		if (at == NEAREST)
			continue;
		n += n < NEAREST;
		memmove(best + at + 1, best + at, (n - at - 1) * sizeof(*best));
		memmove(of + at + 1, of + at, (n - at - 1) * sizeof(*of));
		best[at] = l;
		of[at] = d;
	}
	size_t used = 0;
	*ret = '\0';
	for (unsigned i = 0; i < n && used < n_bytes; i++)
		used += (size_t)snprintf(ret + used, n_bytes - used, "%s%.60s:%.60s", i ? ", " : "",
					 best[i]->provider, best[i]->name);
}
