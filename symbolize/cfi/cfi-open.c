/*
 * Finds the sections without libelf.  A program header gives .eh_frame_hdr, which gives the start
 * of .eh_frame; .eh_frame extends to the end of its segment at most.  Section headers are read only
 * where that fails (static programs without .eh_frame_hdr) and for .debug_frame.  The same code
 * reads files and images in memory (the vDSO), where file offsets are offsets in the image.
 */

#include "symbolize/cfi/cfi.h"

#include "base/cleanup.h"
#include "symbolize/elf/dso.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_PHDRS_MAX 128
#define OPEN_SHDRS_MAX 65536u
#define OPEN_NAMES_BYTES_MAX (4u << 20)

/* The source of bytes. */
struct open_from {
	int fd;                 /* -1: image */
	const struct dso *kept; /* fd is only held now; NULL: it stays open */
	const uint8_t *image;
	size_t n_bytes;         /* of either */
};

/* n_bytes at off; false: not there. */
static bool open_read(const struct open_from *in, uint64_t off, void *buf, size_t n_bytes)
{
	if (off > in->n_bytes || n_bytes > in->n_bytes - off)
		return false;
	if (in->fd >= 0)
		return pread(in->fd, buf, n_bytes, (off_t)off) == (ssize_t)n_bytes;
	memcpy(buf, in->image + off, n_bytes);
	return true;
}

static int open_section(const struct open_from *in, struct cfi_section *s, uint64_t off,
			uint64_t n_bytes, uint64_t vaddr)
{
	if (in->fd >= 0) {
		int r = cfi_section_file(s, in->fd, off, n_bytes, vaddr);
		if (r == 0 && in->kept) {
			s->fd = -1;
			s->kept = in->kept;
		}
		return r;
	}
	if (off > in->n_bytes || n_bytes > in->n_bytes - off)
		return -EFBIG;
	cfi_section_bytes(s, in->image + off, n_bytes, vaddr);
	return 0;
}

/* The file offset of vaddr, and how many bytes of its segment the file holds from there. */
static bool open_where(const struct cfi *c, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_n)
{
	for (unsigned int i = 0; i < c->n_loads; i++) {
		uint64_t in = vaddr - c->load[i].vaddr;
		if (in >= c->load[i].n_file_bytes)
			continue;
		*ret_off = c->load[i].file_off + in;
		*ret_n = c->load[i].n_file_bytes - in;
		return true;
	}
	return false;
}

/* ---- .eh_frame_hdr (LSB 5.0 core, section 10.6.2) ----------------------------- */

/* Reads the start of .eh_frame_hdr, and opens .eh_frame unless that is open already. */
static void open_hdr(struct cfi *c, const struct open_from *in)
{
	const uint8_t *p = cfi_section_get(&c->hdr, 0, 4);
	if (!p || p[0] != 1)
		return;
	uint8_t eh_enc = p[1], count_enc = p[2], table_enc = p[3];
	struct cfi_frames f = { .arch = c->arch, .data_vaddr = c->hdr.vaddr,
		.text_vaddr = c->eh_frames.text_vaddr };
	size_t n = c->hdr.n_bytes < 36 ? c->hdr.n_bytes : 36;
	p = cfi_section_get(&c->hdr, 0, n);
	if (!p)
		return;
	const uint8_t *start = p, *end = p + n;
	uint64_t eh_vaddr, count, off, n_eh;
	p += 4;
	if (!cfi_entry_pointer(&f, eh_enc, 8, c->hdr.vaddr + 4, &p, end, &eh_vaddr))
		return;
	if (!c->eh.n_bytes) {
		if (!open_where(c, eh_vaddr, &off, &n_eh))
			return;
		if (c->hdr.vaddr > eh_vaddr && c->hdr.vaddr - eh_vaddr < n_eh)
			n_eh = c->hdr.vaddr - eh_vaddr;
		if (open_section(in, &c->eh, off, n_eh, eh_vaddr) < 0)
			return;
	}
	if (count_enc == DW_EH_PE_omit || table_enc == DW_EH_PE_omit ||
	    !cfi_entry_pointer(&f, count_enc, 8, c->hdr.vaddr + (uint64_t)(p - start), &p, end,
			     &count))
		return;
	size_t entry_bytes = 2 * cfi_entry_pointer_bytes(table_enc, 8);
	c->table_off = (uint64_t)(p - start);
	uint64_t room = c->hdr.n_bytes - c->table_off;
	if (!entry_bytes || table_enc & DW_EH_PE_indirect)
		return;
	c->table_enc = table_enc;
	c->n_table = count < room / entry_bytes ? count : room / entry_bytes;
	cfi_table_init(&c->table, &c->hdr, c->table_off, c->n_table);
}

/* ---- section headers ------------------------------------------------------------ */

/* The section of that name; SHT_NULL: not found, or it cannot be read. */
static Elf64_Shdr open_find_section(const struct open_from *in, const char *name)
{
	const Elf64_Shdr none = { 0 };
	Elf64_Ehdr h;
	if (!open_read(in, 0, &h, sizeof(h)) || !h.e_shoff || h.e_shentsize != sizeof(none))
		return none;
	Elf64_Shdr first;
	if (!open_read(in, h.e_shoff, &first, sizeof(first)))
		return none;
	uint64_t n = h.e_shnum ? h.e_shnum : first.sh_size;
	uint64_t i_str = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
	if (!n || n > OPEN_SHDRS_MAX || i_str >= n)
		return none;
	CLEANUP_FREE Elf64_Shdr *sh = malloc(n * sizeof(*sh));
	if (!sh || !open_read(in, h.e_shoff, sh, n * sizeof(*sh)))
		return none;
	uint64_t n_names = sh[i_str].sh_size;
	if (n_names > OPEN_NAMES_BYTES_MAX)
		n_names = OPEN_NAMES_BYTES_MAX;
	CLEANUP_FREE char *names = malloc(n_names + 1);
	if (!names || !open_read(in, sh[i_str].sh_offset, names, n_names))
		return none;
	size_t n_name = strlen(name) + 1;
	for (uint64_t i = 1; i < n; i++) {
		if (sh[i].sh_type == SHT_NOBITS || sh[i].sh_type == SHT_NULL)
			continue;
		if (sh[i].sh_name < n_names && n_names - sh[i].sh_name >= n_name &&
		    !memcmp(names + sh[i].sh_name, name, n_name))
			return sh[i];
	}
	return none;
}

static int open_debug_frame(struct cfi *c, const struct open_from *in)
{
	Elf64_Shdr sh = open_find_section(in, ".debug_frame");
	if (sh.sh_type == SHT_NULL)
		return -ENOENT;
	bool compressed = sh.sh_flags & SHF_COMPRESSED;
	if (in->fd >= 0)
		return cfi_section_load(&c->debug, in->fd, sh.sh_offset, sh.sh_size, 0, compressed);
	return compressed ? -ENOTSUP :
		open_section(in, &c->debug, sh.sh_offset, sh.sh_size, 0);
}

/* ---- opening ---------------------------------------------------------------------- */

static struct cfi *open_new(const struct arch *arch, const struct open_from *in)
{
	struct cfi *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->arch = arch;
	c->fd = in->kept ? -1 : in->fd;
	c->kept = in->kept;
	c->hdr.fd = c->eh.fd = c->debug.fd = -1;
	c->eh_frames = (struct cfi_frames){ .section = &c->eh, .arch = arch, .is_eh = true,
		.cached = c->cached, .cached_row = c->cached_row };
	c->debug_frames = (struct cfi_frames){ .section = &c->debug, .arch = arch };
	return c;
}

static int open_headers(struct cfi *c, const struct open_from *in, const Elf64_Ehdr *h)
{
	Elf64_Phdr ph[OPEN_PHDRS_MAX], eh_hdr = { 0 };
	unsigned int n = h->e_phnum < OPEN_PHDRS_MAX ? h->e_phnum : OPEN_PHDRS_MAX;
	if (h->e_phentsize != sizeof(*ph))
		n = 0;
	if (n && !open_read(in, h->e_phoff, ph, n * sizeof(*ph)))
		return -EIO;
	for (unsigned int i = 0; i < n; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			eh_hdr = ph[i];
		if (ph[i].p_type != PT_LOAD || c->n_loads == CFI_LOADS_MAX)
			continue;
		if (ph[i].p_flags & PF_X && !c->eh_frames.text_vaddr)
			c->eh_frames.text_vaddr = ph[i].p_vaddr;
		c->load[c->n_loads++] = (struct cfi_load){ .vaddr = ph[i].p_vaddr,
			.file_off = ph[i].p_offset, .n_file_bytes = ph[i].p_filesz };
	}
	if (eh_hdr.p_filesz >= 8 && open_section(in, &c->hdr, eh_hdr.p_offset, eh_hdr.p_filesz,
						 eh_hdr.p_vaddr) == 0)
		open_hdr(c, in);
	if (!c->eh.n_bytes) {
		Elf64_Shdr sh = open_find_section(in, ".eh_frame");
		/* in a separate debug file the section has no bytes */
		if (sh.sh_type != SHT_NULL)
			open_section(in, &c->eh, sh.sh_offset, sh.sh_size, sh.sh_addr);
	}
	return 0;
}

CLEANUP_DEFINE(struct cfi, cfi_close)

static int open_elf(const struct open_from *in, struct cfi **ret)
{
	Elf64_Ehdr h;
	if (!open_read(in, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	const struct arch *arch = arch_of_machine(h.e_machine);
	if (!arch)
		return -ENOEXEC;
	CLEANUP(cfi_closep) struct cfi *c = open_new(arch, in);
	if (!c)
		return -ENOMEM;
	int r = open_headers(c, in, &h);
	if (r < 0)
		return r;
	if (in->fd < 0) {
		/* an image is small, and not available after this call */
		c->is_debug_searched = true;
		open_debug_frame(c, in);
	}
	*ret = TAKE_PTR(c);
	return 0;
}

static int open_descriptor(int fd, const struct dso *kept, struct cfi **ret)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	struct open_from in = { .fd = fd, .kept = kept, .n_bytes = (size_t)st.st_size };
	return open_elf(&in, ret);
}

int cfi_open_file(int fd, struct cfi **ret)
{
	return open_descriptor(fd, NULL, ret);
}

int cfi_open_dso(const struct dso *d, struct cfi **ret)
{
	int fd = dsokeep_hold(d);
	if (fd < 0)
		return fd;
	int r = open_descriptor(fd, d, ret);
	dsokeep_release(d);
	return r;
}

/* The file or the image; it must be closed with source_close. */
static struct open_from source_open(const struct cfi *c)
{
	struct open_from in = { .fd = c->fd, .image = c->image, .n_bytes = c->n_image_bytes };
	if (c->kept) {
		int fd = dsokeep_hold(c->kept);
		in.fd = fd < 0 ? -1 : fd;
		in.kept = fd < 0 ? NULL : c->kept;
	}
	return in;
}

static void source_measure(struct open_from *in)
{
	struct stat st;
	if (in->fd >= 0)
		in->n_bytes = fstat(in->fd, &st) == 0 ? (size_t)st.st_size : 0;
}

static void source_close(const struct open_from *in)
{
	if (in->kept)
		dsokeep_release(in->kept);
}

int cfi_open_image(const void *image, size_t n_bytes, struct cfi **ret)
{
	struct open_from in = { .fd = -1, .image = image, .n_bytes = n_bytes };
	int r = open_elf(&in, ret);
	if (r < 0)
		return r;
	(*ret)->image = image;
	(*ret)->n_image_bytes = n_bytes;
	return 0;
}

int cfi_open_sections(const struct arch *arch, struct cfi_bytes hdr, struct cfi_bytes eh_frame,
		      struct cfi_bytes debug_frame, struct cfi **ret)
{
	struct open_from in = { .fd = -1 };
	struct cfi *c = open_new(arch, &in);
	if (!c)
		return -ENOMEM;
	cfi_section_bytes(&c->eh, eh_frame.p, eh_frame.n_bytes, eh_frame.vaddr);
	cfi_section_bytes(&c->debug, debug_frame.p, debug_frame.n_bytes, 0);
	cfi_section_bytes(&c->hdr, hdr.p, hdr.n_bytes, hdr.vaddr);
	c->is_debug_searched = true;
	if (c->eh.n_bytes)
		open_hdr(c, &in);
	*ret = c;
	return 0;
}

int cfi_add_debug_file(struct cfi *c, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (c->debug.n_bytes)
		return 0;
	struct open_from in = { .fd = fd, .n_bytes = (size_t)st.st_size };
	return open_debug_frame(c, &in);
}

void cfi_seek_debug(struct cfi *c)
{
	if (c->is_debug_searched)
		return;
	c->is_debug_searched = true;
	if (c->debug.n_bytes)
		return;
	struct open_from in = source_open(c);
	source_measure(&in);
	if (in.fd >= 0 && open_debug_frame(c, &in) < 0)
		cfi_seek_debug_file(c, in.fd);
	source_close(&in);
}

bool cfi_find_section(const struct cfi *c, const char *name, struct cfi_place *ret)
{
	struct open_from in = source_open(c);
	source_measure(&in);
	Elf64_Shdr sh = open_find_section(&in, name);
	source_close(&in);
	*ret = (struct cfi_place){ .vaddr = sh.sh_addr, .off = sh.sh_offset,
		.n_bytes = sh.sh_size, .type = sh.sh_type };
	return sh.sh_type != SHT_NULL;
}

int cfi_open_place(const struct cfi *c, const struct cfi_place *place, struct cfi_section *ret)
{
	struct open_from in = source_open(c);
	int r = in.fd < 0 ? -ENOENT
		: open_section(&in, ret, place->off, place->n_bytes, place->vaddr);
	source_close(&in);
	return r;
}

void cfi_close(struct cfi *c)
{
	if (!c)
		return;
	cfi_section_done(&c->hdr);
	cfi_section_done(&c->eh);
	cfi_section_done(&c->debug);
	cfi_table_done(&c->table);
	free(c->last);
	VEC_FREE(&c->eh_index.entry);
	VEC_FREE(&c->debug_index.entry);
	free(c);
}

size_t cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes)
{
	uint64_t off, n;
	if (!open_where(c, vaddr, &off, &n))
		return 0;
	if (n < n_bytes)
		n_bytes = n;
	struct open_from in = source_open(c);
	if (in.fd >= 0)
		in.n_bytes = SIZE_MAX; /* pread fails beyond the end */
	bool is_read = open_read(&in, off, buf, n_bytes);
	source_close(&in);
	return is_read ? n_bytes : 0;
}
