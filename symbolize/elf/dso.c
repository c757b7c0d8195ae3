/*
 * An append-only array with an open-addressing index over it.  The inode generation is compared but
 * not hashed, because 0 matches any.
 *
 * The headers are read here by hand and not by libelf: it happens while the target runs, for every
 * mapped file, and takes four short reads.
 */

#include "symbolize/elf/dso.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashindex.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

#define PHDRS_MAX 128             /* real files have about a dozen */
#define SHDRS_MAX 1024
#define NOTE_BYTES_MAX (64 << 10)
/* Type of the note of cprof-labels.h, whose name is "cprof". */
#define NOTE_CPROF_LABELS 1
#define NOTE_CPROF_ALLOCS 2
/* Type of the note of Go's linker, whose name is "Go" and two NULs. */
#define NOTE_GO_BUILD_ID 4
#define GO_BUILD_ID_BYTES 15

/* ---- the table ----------------------------------------------------------- */

static bool keyed_by_path(const struct dso_key *key)
{
	return key->kind == DSO_MODULE || key->kind == DSO_RUNTIME ||
	       key->kind == DSO_PSEUDO ||
	       (key->kind == DSO_ELF && key->ino == 0);
}

static uint64_t hash_key(const struct dso_key *key, const char *path)
{
	uint64_t h = hash_pair(key->kind, (uint64_t)key->maj << 32 | key->min);
	h = hash_pair(h, key->ino);
	h = hash_pair(h, key->pid);
	return keyed_by_path(key) ? hash_pair(h, hash_bytes(path, strlen(path))) : h;
}

static bool is_same(const struct dso *d, const struct dso_key *key, const char *path)
{
	const struct dso_key *k = &d->key;
	return k->kind == key->kind && k->maj == key->maj && k->min == key->min &&
	       k->ino == key->ino && k->pid == key->pid &&
	       (!k->ino_generation || !key->ino_generation ||
		k->ino_generation == key->ino_generation) &&
	       (!keyed_by_path(key) || strcmp(d->path, path) == 0);
}

int dso_table_init(struct dso_table *t, struct budget *budget)
{
	*t = (struct dso_table){ .budget = budget, .index.budget = budget };
	return dsokeep_init(&t->keep);
}

static size_t bytes_of_dso(const struct dso *d)
{
	return sizeof(*d) + strlen(d->path) + 1;
}

static void dso_free(struct dso_table *t, struct dso *d)
{
	if (t->budget)
		budget_release(t->budget, bytes_of_dso(d));
	dso_close_file(d);
	free(d->path);
	free(d->open_path);
	free(d->image);
	free(d);
}

void dso_table_done(struct dso_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->dso[i])
			dso_free(t, t->dso[i]);
	if (t->budget)
		budget_release(t->budget, t->cap * sizeof(*t->dso));
	free(t->dso);
	hashindex_done(&t->index);
	dsokeep_done(&t->keep);
	*t = (struct dso_table){0};
}

struct dso *dso_table_find(const struct dso_table *t, const struct dso_key *key, const char *path)
{
	uint32_t id = HASHINDEX_FIND(&t->index, hash_key(key, path), i,
				     is_same(t->dso[i], key, path));
	return id != HASHINDEX_NONE ? t->dso[id] : NULL;
}

/* Not a VEC: its memory counts against the budget. */
static bool table_grow(struct dso_table *t)
{
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 32;
		struct dso **p = reallocarray(t->dso, cap, sizeof(*p));
		if (!p)
			return false;
		if (t->budget)
			budget_charge_always(t->budget, (cap - t->cap) * sizeof(*p));
		t->dso = p;
		t->cap = cap;
	}
	return true;
}

struct dso *dso_table_add(struct dso_table *t, const struct dso_key *key, const char *path)
{
	while (t->next_free < t->n && t->dso[t->next_free])
		t->next_free++;
	if ((t->next_free == t->n && !table_grow(t)) || !hashindex_reserve(&t->index, true))
		return NULL;
	CLEANUP_FREE struct dso *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->path = strdup(path);
	if (!d->path)
		return NULL;
	d->id = t->next_free;
	d->serial = ++t->n_ever;
	d->key = *key;
	d->fd = -1;
	if (t->budget)
		budget_charge_always(t->budget, bytes_of_dso(d));
	hashindex_put(&t->index, hash_key(key, path), d->id);
	t->dso[d->id] = d;
	t->n += d->id == t->n;
	t->n_known++;
	return TAKE_PTR(d);
}

struct dso *dso_table_copy(struct dso_table *t, const struct dso *of)
{
	CLEANUP_FREE char *open_path = of->open_path ? strdup(of->open_path) : NULL;
	CLEANUP_FREE uint8_t *image = of->image ? malloc(of->n_image_bytes) : NULL;
	if ((of->open_path && !open_path) || (of->image && !image))
		return NULL;
	struct dso *d = dso_table_add(t, &of->key, of->path);
	if (!d)
		return NULL;
	struct dso copy = *of;
	copy.id = d->id;
	copy.serial = d->serial;
	copy.path = d->path;
	copy.kept = NULL;
	copy.fd = dsokeep_dup(of);
	if (copy.fd < 0) {
		copy.open_errno = -copy.fd;
		copy.fd = -1;
	}
	if (image)
		memcpy(image, of->image, of->n_image_bytes);
	copy.open_path = TAKE_PTR(open_path);
	copy.image = TAKE_PTR(image);
	*d = copy;
	return d;
}

void dso_table_forget(struct dso_table *t, const bool *used)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct dso *d = t->dso[i];
		if (!d || used[i])
			continue;
		t->n_known--;
		hashindex_remove(&t->index, hash_key(&d->key, d->path), i);
		dso_free(t, d);
		t->dso[i] = NULL;
	}
	t->next_free = 0;
}

/* ---- the headers --------------------------------------------------------- */

/* Reads n bytes at off from the file or the image.  False if there are fewer. */
static bool read_at(const struct dso *d, uint64_t off, void *buf, size_t n)
{
	if (d->image) {
		if (off > d->n_image_bytes || n > d->n_image_bytes - off)
			return false;
		memcpy(buf, d->image + off, n);
		return true;
	}
	if (off > INT64_MAX - n)
		return false;
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(d->fd, (char *)buf + done, n - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static uint64_t align_up(uint64_t x, uint64_t align)
{
	return (x + align - 1) & ~(align - 1);
}

/* The value of a digit in the file name alphabet of RFC 4648 (6 bits), or -1. */
static int base64_digit(uint8_t c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789-_";
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

/*
 * Go before 1.24 writes no GNU build id.  Its own build id is a text of several hashes with slashes
 * between them (cmd/go/internal/work/buildid.go).  The last one covers the whole contents: 15 bytes
 * as 20 characters of base64.
 */
static void read_go_build_id(struct dso *d, const uint8_t *desc, size_t n)
{
	uint8_t id[GO_BUILD_ID_BYTES];
	const size_t n_text = GO_BUILD_ID_BYTES / 3 * 4;
	if (n <= n_text || desc[n - n_text - 1] != '/')
		return;
	const uint8_t *p = desc + n - n_text;
	for (size_t i = 0; i < GO_BUILD_ID_BYTES; i += 3, p += 4) {
		uint32_t bits = 0;
		for (int k = 0; k < 4; k++) {
			int digit = base64_digit(p[k]);
			if (digit < 0)
				return;
			bits = bits << 6 | (uint32_t)digit;
		}
		id[i] = (uint8_t)(bits >> 16);
		id[i + 1] = (uint8_t)(bits >> 8);
		id[i + 2] = (uint8_t)bits;
	}
	d->is_go_build_id = true;
	d->n_build_id = GO_BUILD_ID_BYTES;
	memcpy(d->build_id, id, sizeof(id));
}

/* One note: a build id, or the address of a registry of cprof-labels.h or libcprof-alloc.so,
 * relative to that word.  vaddr is that of desc. */
static void read_note(struct dso *d, const Elf64_Nhdr *h, const uint8_t *name, const uint8_t *desc,
		      uint64_t vaddr)
{
	int32_t offset;
	if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
	    h->n_descsz > 0 && h->n_descsz <= DSO_BUILD_ID_MAX &&
	    (!d->n_build_id || d->is_go_build_id)) {
		d->is_go_build_id = false;
		d->n_build_id = (uint8_t)h->n_descsz;
		memcpy(d->build_id, desc, h->n_descsz);
	} else if (h->n_namesz == 6 && memcmp(name, "cprof", 6) == 0 &&
		   h->n_descsz == sizeof(offset)) {
		memcpy(&offset, desc, sizeof(offset));
		uint64_t registry = vaddr + (uint64_t)(int64_t)offset;
		if (h->n_type == NOTE_CPROF_LABELS)
			d->labels_vaddr = registry;
		else if (h->n_type == NOTE_CPROF_ALLOCS)
			d->allocs_vaddr = registry;
	} else if (h->n_type == NOTE_GO_BUILD_ID && h->n_namesz == 4 &&
		   memcmp(name, "Go\0", 4) == 0) {
		d->is_go = true;
		if (!d->n_build_id)
			read_go_build_id(d, desc, h->n_descsz);
	}
}

/* The notes at off in the file, which have address vaddr in memory (gABI, "Note Section"). */
static void read_notes(struct dso *d, uint64_t off, uint64_t n_bytes, uint64_t align,
		       uint64_t vaddr)
{
	if (n_bytes < sizeof(Elf64_Nhdr))
		return;
	size_t n = n_bytes < NOTE_BYTES_MAX ? n_bytes : NOTE_BYTES_MAX;
	CLEANUP_FREE uint8_t *buf = malloc(n);
	if (!buf || !read_at(d, off, buf, n))
		return;
	align = align == 8 ? 8 : 4;
	for (size_t at = 0; n - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr h;
		memcpy(&h, buf + at, sizeof(h));
		uint64_t name = at + sizeof(h);
		uint64_t desc = align_up(name + h.n_namesz, align);
		uint64_t next = align_up(desc + h.n_descsz, align);
		if (desc + h.n_descsz > n)
			return;
		read_note(d, &h, buf + name, buf + desc, vaddr + desc);
		if (next > n)
			return;
		at = next;
	}
}

static void add_segment(struct dso *d, const Elf64_Phdr *p)
{
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || d->n_segments == DSO_SEGMENTS_MAX)
		return;
	d->segment[d->n_segments++] = (struct dso_segment){
		.vaddr = p->p_vaddr,
		.file_off = p->p_offset,
		.n_file_bytes = p->p_filesz,
		.n_mem_bytes = p->p_memsz,
	};
}

/* Variables are in these. */
static void add_data(struct dso *d, const Elf64_Phdr *p)
{
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || !p->p_memsz ||
	    p->p_memsz > UINT64_MAX - p->p_vaddr)
		return;
	bool is_first = d->data_start == d->data_end;
	if (is_first || p->p_vaddr < d->data_start)
		d->data_start = p->p_vaddr;
	if (is_first || p->p_vaddr + p->p_memsz > d->data_end)
		d->data_end = p->p_vaddr + p->p_memsz;
}

static Elf64_Phdr widen_phdr(const Elf32_Phdr *p)
{
	return (Elf64_Phdr){
		.p_type = p->p_type, .p_flags = p->p_flags, .p_offset = p->p_offset,
		.p_vaddr = p->p_vaddr, .p_paddr = p->p_paddr, .p_filesz = p->p_filesz,
		.p_memsz = p->p_memsz, .p_align = p->p_align,
	};
}

static void read_phdrs(struct dso *d, bool is_64, uint64_t phoff, unsigned n)
{
	for (unsigned i = 0; i < n && i < PHDRS_MAX; i++) {
		Elf64_Phdr p;
		if (is_64) {
			if (!read_at(d, phoff + i * sizeof(p), &p, sizeof(p)))
				return;
		} else {
			Elf32_Phdr p32;
			if (!read_at(d, phoff + i * sizeof(p32), &p32, sizeof(p32)))
				return;
			p = widen_phdr(&p32);
		}
		add_segment(d, &p);
		add_data(d, &p);
		if (p.p_type == PT_NOTE)
			read_notes(d, p.p_offset, p.p_filesz, p.p_align, p.p_vaddr);
	}
}

/* Relocatable files (kernel modules) have no program headers; their notes are found by section. */
static void read_note_sections(struct dso *d, bool is_64, uint64_t shoff, unsigned n)
{
	for (unsigned i = 0; i < n && i < SHDRS_MAX && !d->n_build_id; i++) {
		if (is_64) {
			Elf64_Shdr s;
			if (!read_at(d, shoff + i * sizeof(s), &s, sizeof(s)))
				return;
			if (s.sh_type == SHT_NOTE)
				read_notes(d, s.sh_offset, s.sh_size, s.sh_addralign, s.sh_addr);
		} else {
			Elf32_Shdr s;
			if (!read_at(d, shoff + i * sizeof(s), &s, sizeof(s)))
				return;
			if (s.sh_type == SHT_NOTE)
				read_notes(d, s.sh_offset, s.sh_size, s.sh_addralign, s.sh_addr);
		}
	}
}

static void read_headers(struct dso *d)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} u = {0};

	d->is_elf = d->is_exec_type = false;
	d->machine = d->n_segments = d->n_build_id = 0;
	d->data_start = d->data_end = 0;
	d->is_go_build_id = false;
	if (!read_at(d, 0, &u.e32, sizeof(u.e32)) || memcmp(u.ident, ELFMAG, SELFMAG) != 0 ||
	    u.ident[EI_DATA] != OWN_DATA)
		return;
	if (u.ident[EI_CLASS] == ELFCLASS64 && read_at(d, 0, &u.e64, sizeof(u.e64))) {
		d->is_elf = true;
		d->is_exec_type = u.e64.e_type == ET_EXEC;
		d->machine = u.e64.e_machine;
		if (u.e64.e_phentsize == sizeof(Elf64_Phdr))
			read_phdrs(d, true, u.e64.e_phoff, u.e64.e_phnum);
		if (!d->n_build_id && u.e64.e_shentsize == sizeof(Elf64_Shdr))
			read_note_sections(d, true, u.e64.e_shoff, u.e64.e_shnum);
	} else if (u.ident[EI_CLASS] == ELFCLASS32) {
		d->is_elf = true;
		d->is_exec_type = u.e32.e_type == ET_EXEC;
		d->machine = u.e32.e_machine;
		if (u.e32.e_phentsize == sizeof(Elf32_Phdr))
			read_phdrs(d, false, u.e32.e_phoff, u.e32.e_phnum);
		if (!d->n_build_id && u.e32.e_shentsize == sizeof(Elf32_Shdr))
			read_note_sections(d, false, u.e32.e_shoff, u.e32.e_shnum);
	}
}

void dso_close_file(struct dso *d)
{
	dsokeep_remove(d);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

static void drop_file(struct dso *d)
{
	dso_close_file(d);
	free(d->image);
	d->image = NULL;
	d->n_image_bytes = 0;
}

void dso_set_file(struct dso *d, int fd, const char *open_path)
{
	char *copy = open_path ? strdup(open_path) : NULL;
	drop_file(d);
	free(d->open_path);
	d->open_path = copy;
	d->fd = fd;
	d->open_errno = 0;
	read_headers(d);
}

int dso_set_image(struct dso *d, const void *bytes, size_t n_bytes)
{
	uint8_t *copy = malloc(n_bytes ? n_bytes : 1);
	if (!copy)
		return -ENOMEM;
	if (n_bytes)
		memcpy(copy, bytes, n_bytes);
	drop_file(d);
	d->image = copy;
	d->n_image_bytes = n_bytes;
	read_headers(d);
	return 0;
}

/* ---- addresses ----------------------------------------------------------- */

bool dso_vaddr(const struct dso *d, uint64_t file_off, uint64_t *ret_vaddr)
{
	for (unsigned i = 0; i < d->n_segments; i++) {
		const struct dso_segment *s = &d->segment[i];
		if (file_off >= s->file_off && file_off - s->file_off < s->n_file_bytes) {
			*ret_vaddr = file_off - s->file_off + s->vaddr;
			return true;
		}
	}
	/* The kernel maps whole pages, so bytes around a segment are mapped, too. */
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < d->n_segments; i++) {
		const struct dso_segment *s = &d->segment[i];
		uint64_t start = s->file_off & ~(page - 1);
		uint64_t n = align_up(s->file_off - start + s->n_file_bytes, page);
		if (file_off >= start && file_off - start < n) {
			*ret_vaddr = file_off - s->file_off + s->vaddr;
			return true;
		}
	}
	*ret_vaddr = file_off;
	return false;
}

const char *dso_build_id_text(const struct dso *d, char buf[DSO_BUILD_ID_TEXT_MAX])
{
	static const char digit[] = "0123456789abcdef";
	char *p = buf;
	for (unsigned i = 0; i < d->n_build_id; i++) {
		*p++ = digit[d->build_id[i] >> 4];
		*p++ = digit[d->build_id[i] & 15];
	}
	*p = '\0';
	return buf;
}
