/*
 * elf_getdata() reads whole sections into fresh memory, which costs memory, copying and page faults
 * in proportion to their size: 12 MB for libLLVM, for a few hundred names.  A mapping would end
 * cprof with SIGBUS if the file were truncated meanwhile.  So small pieces are read.
 *
 * libelf still translates files of another byte order.
 */

#include "symbolize/elf/symread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (32u << 10)
#define STRING_BYTES 1024u              /* read at first for a string */
#define STRING_BYTES_MAX (1u << 20)     /* no name is longer */

/* ---- bytes --------------------------------------------------------------- */

bool symread_init(struct symread *r, Elf *elf, int fd, const GElf_Shdr *sh)
{
	struct symread new = { .elf = elf, .fd = fd, .off = sh->sh_offset, .n_bytes = sh->sh_size };
	size_t n_file_bytes;
	if (sh->sh_type == SHT_NOBITS || !sh->sh_size || (sh->sh_flags & SHF_COMPRESSED) ||
	    sh->sh_size > INT64_MAX || sh->sh_offset > INT64_MAX - sh->sh_size)
		return false;
	if (fd < 0) {
		const char *image = elf_rawfile(elf, &n_file_bytes);
		if (!image || new.off > n_file_bytes || new.n_bytes > n_file_bytes - new.off)
			return false;
		new.memory = (const uint8_t *)image + new.off;
	}
	new.is_64 = gelf_getclass(elf) == ELFCLASS64;
	*r = new;
	return true;
}

bool symread_init_text(struct symread *r, Elf *elf, int fd, size_t index)
{
	GElf_Shdr sh;
	char last;
	Elf_Scn *scn = elf_getscn(elf, index);
	return scn && gelf_getshdr(scn, &sh) && sh.sh_type == SHT_STRTAB &&
	       symread_init(r, elf, fd, &sh) && symread_at(r, r->n_bytes - 1, &last, 1) &&
	       last == '\0';
}

/* Reads up to n bytes; returns the number read. */
static size_t read_some(const struct symread *r, uint64_t off, void *to, size_t n_bytes)
{
	if (off >= r->n_bytes)
		return 0;
	if (n_bytes > r->n_bytes - off)
		n_bytes = (size_t)(r->n_bytes - off);
	if (r->memory) {
		memcpy(to, r->memory + off, n_bytes);
		return n_bytes;
	}
	size_t done = 0;
	while (done < n_bytes) {
		ssize_t got = pread(r->fd, (char *)to + done, n_bytes - done,
				    (off_t)(r->off + off + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

bool symread_at(const struct symread *r, uint64_t off, void *to, size_t n_bytes)
{
	return read_some(r, off, to, n_bytes) == n_bytes;
}

/* The number of bytes from off on that are in the piece. */
static size_t n_in_piece(const struct symread *r, const struct symread_piece *p, uint64_t off)
{
	if (p->fd != r->fd || p->section_off != r->off || off < p->off || off - p->off >= p->n)
		return 0;
	return p->n - (size_t)(off - p->off);
}

static void fill_piece(const struct symread *r, struct symread_piece *p, uint64_t off, size_t n)
{
	p->fd = r->fd;
	p->section_off = r->off;
	p->off = off;
	p->n = read_some(r, off, p->bytes, n);
}

/* The string at off, if the piece has all of it. */
static const char *in_piece(const struct symread *r, const struct symread_piece *p, uint64_t off)
{
	size_t n = n_in_piece(r, p, off);
	if (!n)
		return NULL;
	const char *s = p->bytes + (off - p->off);
	return memchr(s, '\0', n) ? s : NULL;
}

const char *symread_text(const struct symread *r, uint64_t off, struct symread_piece *piece)
{
	if (off >= r->n_bytes)
		return NULL;
	/* Bytes in memory end with NUL, which symread_init_text() has checked. */
	if (r->memory)
		return (const char *)r->memory + off;
	const char *s = in_piece(r, piece, off);
	for (size_t want = STRING_BYTES; !s && want <= STRING_BYTES_MAX; want *= 4) {
		if (want > piece->cap) {
			char *more = realloc(piece->bytes, want);
			if (!more)
				return NULL;
			piece->bytes = more;
			piece->cap = want;
		}
		fill_piece(r, piece, off, want);
		s = in_piece(r, piece, off);
		if (piece->n < want)
			break;
	}
	return s;
}

bool symread_first(const struct symread *r, uint64_t off, struct symread_piece *piece,
		   char ret[3])
{
	const uint64_t n_left = off < r->n_bytes ? r->n_bytes - off : 0;
	const size_t n = n_left < 3 ? (size_t)n_left : 3;
	memset(ret, 0, 3);
	if (r->memory) {
		memcpy(ret, r->memory + (n ? off : 0), n);
		return n > 0;
	}
	if (n_in_piece(r, piece, off) < n) {
		if (!piece->bytes && !(piece->bytes = malloc(STRING_BYTES)))
			return false;
		piece->cap = piece->cap ? piece->cap : STRING_BYTES;
		fill_piece(r, piece, off, STRING_BYTES);
		if (piece->n < n)
			return false;
	}
	memcpy(ret, piece->bytes + (off - piece->off), n);
	return n > 0;
}

/* ---- rows ---------------------------------------------------------------- */

/* From the file's byte order into the machine's. */
static bool translate(Elf *elf, Elf_Type type, void *rows, size_t n_bytes)
{
	Elf_Data data = { .d_buf = rows, .d_type = type, .d_size = n_bytes,
			  .d_version = EV_CURRENT };
	const char *ident = elf_getident(elf, NULL);
	return ident && gelf_xlatetom(elf, &data, &data, (unsigned char)ident[EI_DATA]);
}

static GElf_Sym symbol_of(const struct symread *r, const void *row)
{
	if (r->is_64)
		return *(const Elf64_Sym *)row;
	const Elf32_Sym *s = row;
	return (GElf_Sym){
		.st_name = s->st_name, .st_info = s->st_info, .st_other = s->st_other,
		.st_shndx = s->st_shndx, .st_value = s->st_value, .st_size = s->st_size,
	};
}

static GElf_Rela relocation_of(const struct symread *from, const void *row)
{
	if (from->is_64)
		return *(const Elf64_Rela *)row;
	const Elf32_Rela *r = row;
	return (GElf_Rela){
		.r_offset = r->r_offset, .r_addend = r->r_addend,
		.r_info = GELF_R_INFO((uint64_t)ELF32_R_SYM(r->r_info), ELF32_R_TYPE(r->r_info)),
	};
}

bool symread_rows_init(struct symread_rows *rows, const struct symread *from, Elf_Type type)
{
	size_t row_bytes = gelf_fsize(from->elf, type, 1, EV_CURRENT);
	uint8_t *piece = row_bytes ? malloc(PIECE_BYTES) : NULL;
	if (!piece)
		return false;
	*rows = (struct symread_rows){
		.from = *from, .type = type, .row_bytes = row_bytes,
		.n = from->n_bytes / row_bytes, .piece = piece,
	};
	return true;
}

void symread_rows_done(struct symread_rows *rows)
{
	free(rows->piece);
	*rows = (struct symread_rows){0};
}

static const void *next_row(struct symread_rows *rows)
{
	if (rows->at == rows->n_piece) {
		uint64_t n = PIECE_BYTES / rows->row_bytes;
		if (n > rows->n - rows->next)
			n = rows->n - rows->next;
		rows->n_piece = read_some(&rows->from, rows->next * rows->row_bytes, rows->piece,
					  (size_t)n * rows->row_bytes) / rows->row_bytes;
		rows->at = 0;
		rows->next += rows->n_piece;
		if (!rows->n_piece || !translate(rows->from.elf, rows->type, rows->piece,
						 rows->n_piece * rows->row_bytes)) {
			rows->n_piece = 0;
			return NULL;
		}
	}
	return rows->piece + rows->at++ * rows->row_bytes;
}

bool symread_next_symbol(struct symread_rows *rows, GElf_Sym *ret)
{
	const void *row = next_row(rows);
	if (row)
		*ret = symbol_of(&rows->from, row);
	return row;
}

bool symread_next_relocation(struct symread_rows *rows, GElf_Rela *ret)
{
	const void *row = next_row(rows);
	if (row)
		*ret = relocation_of(&rows->from, row);
	return row;
}

bool symread_symbol(const struct symread *r, uint64_t index, GElf_Sym *ret)
{
	Elf64_Sym row;         /* the larger type */
	size_t row_bytes = gelf_fsize(r->elf, ELF_T_SYM, 1, EV_CURRENT);
	if (!row_bytes || row_bytes > sizeof(row) || index >= r->n_bytes / row_bytes ||
	    !symread_at(r, index * row_bytes, &row, row_bytes) ||
	    !translate(r->elf, ELF_T_SYM, &row, row_bytes))
		return false;
	*ret = symbol_of(r, &row);
	return true;
}
