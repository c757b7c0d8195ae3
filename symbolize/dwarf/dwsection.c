/*
 * A section is not mapped, because a file that is truncated meanwhile (by a linker, by cp) would
 * end cprof with SIGBUS.  It is read with pread, in pieces.  A unit or a line program is "held"
 * while it is processed; everything else is "seen" through a window of a few pages.  Both buffers
 * are reused, which costs less than a mapping's page faults and bounds the memory.
 *
 * A compressed section is read in the same way, through unpack.c.
 */

#include "symbolize/dwarf/dwsection.h"

#include "symbolize/pack/unpack.h"

#include <gelf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (8u << 10)
#define STRING_BYTES 512u        /* read at first for a string */
#define STRING_BYTES_MAX (1u << 20)
#define PART_BYTES_MAX (512u << 20) /* the largest unit that is read */
#define KEEP_BYTES (48u << 20)   /* a larger compressed section does not stay in memory */

static const char *const section_name[DWSECTION_N] = {
	[DWSECTION_INFO] = "info",
	[DWSECTION_ABBREV] = "abbrev",
	[DWSECTION_ARANGES] = "aranges",
	[DWSECTION_LINE] = "line",
	[DWSECTION_STR] = "str",
	[DWSECTION_LINE_STR] = "line_str",
	[DWSECTION_STR_OFFSETS] = "str_offsets",
	[DWSECTION_ADDR] = "addr",
	[DWSECTION_RANGES] = "ranges",
	[DWSECTION_RNGLISTS] = "rnglists",
	[DWSECTION_CU_INDEX] = "cu_index",
};

void dwsection_init(struct dwsections *s, Elf *elf, int fd)
{
	*s = (struct dwsections){ .elf = elf, .fd = fd };
}

void dwsection_done(struct dwsections *s)
{
	for (unsigned i = 0; i < DWSECTION_N; i++) {
		unpack_close(s->v[i].unpack);
		free(s->v[i].held.bytes);
		free(s->v[i].seen.bytes);
	}
}

/* ---- finding ------------------------------------------------------------- */

/* Is rest, which follows ".debug_", that name? */
static bool is_named(const struct dwsections *s, const char *rest, const char *wanted)
{
	size_t n = strlen(wanted);
	return strncmp(rest, wanted, n) == 0 &&
	       (rest[n] == 0 || (s->is_dwo && strcmp(rest + n, ".dwo") == 0));
}

/* The section ".debug_NAME", or the older compressed ".zdebug_NAME". */
static bool section_find(const struct dwsections *s, const char *wanted, GElf_Shdr *ret_header,
			 bool *ret_gnu)
{
	Elf *elf = s->elf;
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, ret_header) || ret_header->sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, ret_header->sh_name);
		if (!name)
			continue;
		*ret_gnu = strncmp(name, ".zdebug_", 8) == 0;
		if ((*ret_gnu && is_named(s, name + 8, wanted)) ||
		    (strncmp(name, ".debug_", 7) == 0 && is_named(s, name + 7, wanted)))
			return true;
	}
	return false;
}

/* The place of the section's bytes.  False if it is not within the file. */
static bool section_place(const struct dwsections *s, const GElf_Shdr *sh,
			  struct unpack_from *ret_from)
{
	struct unpack_from from = {
		.fd = s->fd, .off = sh->sh_offset, .n_bytes = sh->sh_size,
		.deadline_ns = s->deadline_ns, .cache_dir = s->cache_dir,
	};
	struct stat st;
	size_t n_file_bytes = 0;
	const char *image = NULL;
	if (s->fd < 0)
		image = elf_rawfile(s->elf, &n_file_bytes);
	else if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
		n_file_bytes = (size_t)st.st_size;
	if (from.off > n_file_bytes || from.n_bytes > n_file_bytes - from.off ||
	    (s->fd < 0 && !image))
		return false;
	if (image)
		from.memory = (const uint8_t *)image + from.off;
	*ret_from = from;
	return true;
}

static bool read_at(const struct unpack_from *from, void *to, size_t n_bytes)
{
	if (from->n_bytes < n_bytes)
		return false;
	if (!from->memory)
		return pread(from->fd, to, n_bytes, (off_t)from->off) == (ssize_t)n_bytes;
	memcpy(to, from->memory, n_bytes);
	return true;
}

/* Removes the header of the compressed bytes, and returns its compression kind and size. */
static bool packed_head(Elf *elf, bool is_gnu, struct unpack_from *from, unsigned *ret_kind,
			uint64_t *ret_n_bytes)
{
	struct {
		char magic[4];       /* "ZLIB" */
		uint8_t n_bytes[8];  /* big endian */
	} gnu;
	Elf32_Chdr small;
	Elf64_Chdr large;
	size_t n_head = is_gnu ? sizeof(gnu) : gelf_getclass(elf) == ELFCLASS32 ? sizeof(small)
										: sizeof(large);
	if (is_gnu) {
		if (!read_at(from, &gnu, n_head) || memcmp(gnu.magic, "ZLIB", 4) != 0)
			return false;
		*ret_kind = UNPACK_ZLIB;
		*ret_n_bytes = 0;
		for (unsigned i = 0; i < 8; i++)
			*ret_n_bytes = *ret_n_bytes << 8 | gnu.n_bytes[i];
	} else if (n_head == sizeof(small)) {
		if (!read_at(from, &small, n_head))
			return false;
		*ret_kind = small.ch_type;
		*ret_n_bytes = small.ch_size;
	} else {
		if (!read_at(from, &large, n_head))
			return false;
		*ret_kind = large.ch_type;
		*ret_n_bytes = large.ch_size;
	}
	from->off += n_head;
	from->n_bytes -= n_head;
	if (from->memory)
		from->memory += n_head;
	return true;
}

static void section_open(struct dwsections *s, enum dwsection_id id)
{
	struct dwsection *d = &s->v[id];
	struct unpack_from from;
	GElf_Shdr sh;
	bool is_gnu;
	unsigned kind;
	uint64_t n_bytes;
	d->tried = true;
	if (!s->elf || !section_find(s, section_name[id], &sh, &is_gnu) ||
	    !section_place(s, &sh, &from))
		return;
	if (is_gnu || sh.sh_flags & SHF_COMPRESSED) {
		if (packed_head(s->elf, is_gnu, &from, &kind, &n_bytes) &&
		    unpack_open(kind, &from, n_bytes, KEEP_BYTES, &d->unpack) == 0)
			d->n_bytes = n_bytes;
		return;
	}
	d->base = from.memory;
	d->file_off = from.off;
	d->n_bytes = from.n_bytes;
}

static struct dwsection *section(struct dwsections *s, enum dwsection_id id)
{
	if (!s->v[id].tried)
		section_open(s, id);
	return &s->v[id];
}

uint64_t dwsection_bytes(struct dwsections *s, enum dwsection_id id)
{
	return section(s, id)->n_bytes;
}

bool dwsection_is_packed(struct dwsections *s, enum dwsection_id id)
{
	return section(s, id)->unpack != NULL;
}

/* ---- reading ------------------------------------------------------------- */

static size_t copy_from_file(int fd, uint64_t off, uint8_t *to, size_t n_bytes)
{
	size_t n_done = 0;
	while (n_done < n_bytes) {
		ssize_t n = pread(fd, to + n_done, n_bytes - n_done, (off_t)(off + n_done));
		if (n <= 0)
			break;
		n_done += (size_t)n;
	}
	return n_done;
}

/* Fills the part anew with n bytes at off. */
static bool part_fill(struct dwsections *s, struct dwsection *d, struct dwsection_part *p,
		      uint64_t off, size_t n_bytes)
{
	p->n_bytes = 0;
	if (n_bytes > PART_BYTES_MAX)
		return false;
	if (n_bytes > p->cap) {
		free(p->bytes);
		p->bytes = malloc(n_bytes);
		p->cap = p->bytes ? n_bytes : 0;
		if (!p->bytes)
			return false;
	}
	p->off = off;
	p->n_bytes = d->unpack ? unpack_copy(d->unpack, off, p->bytes, n_bytes)
			       : copy_from_file(s->fd, d->file_off + off, p->bytes, n_bytes);
	return true;
}

/* Does the part have all these bytes? */
static inline bool part_has(const struct dwsection_part *p, uint64_t off, size_t n_bytes)
{
	return off >= p->off && n_bytes <= p->n_bytes && off - p->off <= p->n_bytes - n_bytes;
}

static inline struct bytes part_bytes(const struct dwsection_part *p, uint64_t off, size_t n_bytes)
{
	/* An empty part may have no buffer. */
	return bytes_of(p->bytes ? p->bytes + (off - p->off) : NULL, n_bytes);
}

/* Bytes that need not be copied.  False if a part is needed. */
static bool whole(const struct dwsection *d, uint64_t off, size_t n_bytes, struct bytes *ret)
{
	if (d->base) {
		*ret = bytes_of(d->base + off, n_bytes);
		return true;
	}
	size_t n_kept = n_bytes;
	const uint8_t *kept = d->unpack ? unpack_kept(d->unpack, off, &n_kept) : NULL;
	if (!kept)
		return false;
	*ret = bytes_of(kept, n_kept);
	ret->bad = n_kept < n_bytes;
	return true;
}

static struct bytes part_get(struct dwsections *s, struct dwsection *d, struct dwsection_part *p,
			     uint64_t off, uint64_t n_wanted, size_t n_at_least)
{
	const struct bytes none = { .bad = true };
	struct bytes b;
	if (off > d->n_bytes)
		return none;
	size_t n_bytes = n_wanted < d->n_bytes - off ? (size_t)n_wanted
						     : (size_t)(d->n_bytes - off);
	if (n_bytes == 0)
		return bytes_of("", 0);     /* the buffer to point into may not exist yet */
	if (whole(d, off, n_bytes, &b))
		return b;
	if (part_has(&d->held, off, n_bytes))
		return part_bytes(&d->held, off, n_bytes);
	if (part_has(p, off, n_bytes))
		return part_bytes(p, off, n_bytes);
	size_t n_read = n_bytes > n_at_least ? n_bytes : n_at_least;
	if (n_read > d->n_bytes - off)
		n_read = (size_t)(d->n_bytes - off);
	if (!part_fill(s, d, p, off, n_read) || p->n_bytes < n_bytes)
		return none;
	return part_bytes(p, off, n_bytes);
}

struct bytes dwsection_hold(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes)
{
	struct dwsection *d = section(s, id);
	return part_get(s, d, &d->held, off, n_bytes, 0);
}

struct bytes dwsection_look(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes)
{
	struct dwsection *d = section(s, id);
	return part_get(s, d, &d->seen, off, n_bytes, WINDOW_BYTES);
}

uint64_t dwsection_entry_bytes(struct dwsections *s, enum dwsection_id id, uint64_t off)
{
	struct bytes b = dwsection_look(s, id, off, 12);
	uint64_t n_head = 4, n_bytes = bytes_u32(&b);
	if (n_bytes == 0xffffffff) {
		n_head = 12;
		n_bytes = bytes_u64(&b);
	}
	if (b.bad || n_bytes > dwsection_bytes(s, id) - off - n_head)
		return 0;
	return n_head + n_bytes;
}

const char *dwsection_string(struct dwsections *s, enum dwsection_id id, uint64_t off)
{
	for (uint64_t n = STRING_BYTES; n <= STRING_BYTES_MAX; n *= 8) {
		struct bytes b = dwsection_look(s, id, off, n);
		if (b.bad)
			return NULL;
		bool is_all = bytes_left(&b) < n;
		const char *text = bytes_cstr(&b);
		if (!b.bad)
			return text;
		if (is_all)
			return NULL;
	}
	return NULL;
}
