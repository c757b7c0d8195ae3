/*
 * Debug and unwinding records precede the code that they belong to, and are held until it arrives.
 * The bytes of the code are skipped.
 *
 * V8 is recognised by 0xdeadbeef in the padding of the header.  It adds the 64 bytes of an ELF
 * header to the addresses of its line entries.  Up to version 11 it writes freed memory as their
 * file names.  A name that is not text is treated as missing, and the file is taken from the
 * function's name instead (symbolizer.c).  A zero byte in that memory seems to end a name early and
 * shifts all entries after it, which then do not end where the record does.  Usually all entries
 * belong to one script and have the same length, which shows where the others begin.
 */

#include "symbolize/jit/jitdump.h"

#include "base/bytes.h"
#include "symbolize/jit/jitcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x4A695444u
#define HEADER_BYTES_MIN 40u
#define HEADER_BYTES_MAX 4096u
#define FLAG_ARCH_TIMESTAMP 1u
#define V8_PADDING 0xdeadbeefu
#define V8_SHIFT 64u
#define PREFIX_BYTES 16u
#define ENTRY_BYTES_MIN 17u   /* of a line entry: address, line, discriminator, NUL of the name */
#define PADDING_BYTES_MAX 7u  /* V8 pads records to multiples of 8 */
#define MOVE_BACK_MAX 4096u   /* unsorted loads that are searched for the code of a move */

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct jitdump_line {
	uint64_t address;
	uint32_t line;
	const char *file;   /* kept by the jitcode */
};

void jitdump_init(struct jitdump *d)
{
	*d = (struct jitdump){ 0 };
}

static void drop_lines(struct jitdump *d)
{
	free(d->line);
	d->line = NULL;
	d->n_lines = 0;
}

void jitdump_done(struct jitdump *d)
{
	drop_lines(d);
	*d = (struct jitdump){ 0 };
}

static long take_header(struct jitdump *d, const void *bytes, size_t n, size_t *ret_want)
{
	struct bytes b = bytes_of(bytes, n);
	uint32_t magic = bytes_u32(&b), version = bytes_u32(&b), size = bytes_u32(&b);
	bytes_u32(&b);
	uint32_t padding = bytes_u32(&b);
	bytes_u32(&b);
	bytes_u64(&b);
	uint64_t flags = bytes_u64(&b);
	*ret_want = HEADER_BYTES_MIN;
	if (n >= 4 && magic != MAGIC)
		return -EBADMSG;
	if (b.bad)
		return 0;
	if (version == 0 || size < HEADER_BYTES_MIN || size > HEADER_BYTES_MAX)
		return -EBADMSG;
	if (n < size) {
		*ret_want = size;
		return 0;
	}
	d->has_header = true;
	d->is_foreign_time = flags & FLAG_ARCH_TIMESTAMP;
	d->is_v8 = padding == V8_PADDING;
	return (long)size;
}

/* A file name without control characters. */
static bool is_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int compare_line(const void *a, const void *b)
{
	const struct jitdump_line *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

/* All entries in sequence; false: they do not fill the record. */
static bool read_entries(struct jitdump *d, struct jitcode *j, struct bytes b, uint64_t n)
{
	const char *file = NULL, *raw_file = NULL;
	for (uint64_t i = 0; i < n && !b.bad; i++) {
		struct jitdump_line *l = &d->line[i];
		l->address = bytes_u64(&b);
		l->line = bytes_u32(&b);
		bytes_u32(&b);  /* discriminator */
		const char *name = bytes_cstr(&b);
		/* "\xff": the same file as in the entry before */
		if (strcmp(name, "\xff") != 0 && (!raw_file || strcmp(name, raw_file) != 0)) {
			raw_file = name;
			file = *name && is_text(name) ? jitcode_keep_name(j, name, strlen(name))
						      : NULL;
		}
		l->file = file;
	}
	return !b.bad && bytes_left(&b) <= PADDING_BYTES_MAX;
}

/* Entries of n_each bytes, without their names; false: their addresses show that these are not
 * entries. */
static bool read_even_entries(struct jitdump *d, struct bytes b, uint64_t n, uint64_t n_each)
{
	for (uint64_t i = 0; i < n; i++) {
		struct jitdump_line *l = &d->line[i];
		struct bytes entry = bytes_of(b.p + i * n_each, n_each);
		l->address = bytes_u64(&entry);
		l->line = bytes_u32(&entry);
		l->file = NULL;
		if (l->address - d->line_start >= JITCODE_CODE_BYTES_MAX || entry.end[-1] != '\0')
			return false;
	}
	return true;
}

/* V8's entries whose names do not show where they end: tries equal lengths. */
static bool read_damaged_entries(struct jitdump *d, struct bytes b, uint64_t n)
{
	uint64_t longest = n ? bytes_left(&b) / n : 0;
	for (uint64_t each = longest; each >= ENTRY_BYTES_MIN; each--) {
		if (bytes_left(&b) - n * each > PADDING_BYTES_MAX)
			return false;
		if (read_even_entries(d, b, n, each))
			return true;
	}
	return false;
}

static bool take_lines(struct jitdump *d, struct jitcode *j, struct bytes *b)
{
	uint64_t start = bytes_u64(b), n = bytes_u64(b);
	drop_lines(d);
	if (b->bad || n > bytes_left(b) / ENTRY_BYTES_MIN)
		return false;
	d->line = calloc(n ? n : 1, sizeof(*d->line));
	if (!d->line)
		return false;
	d->line_start = start;
	if (!read_entries(d, j, *b, n) && !(d->is_v8 && read_damaged_entries(d, *b, n))) {
		drop_lines(d);
		return false;
	}
	d->n_lines = (uint32_t)n;
	qsort(d->line, n, sizeof(*d->line), compare_line);
	return true;
}

static bool take_unwind(struct jitdump *d, struct jitcode *j, struct bytes *b)
{
	uint64_t n = bytes_u64(b), n_hdr = bytes_u64(b);
	bytes_u64(b);  /* bytes of it that the process has mapped */
	const void *p = b->bad || n > bytes_left(b) ? NULL : bytes_take(b, n);
	d->unwind = NULL;
	if (!p || n_hdr > n)
		return false;
	d->unwind = jitcode_keep(j, p, n);
	d->n_unwind_bytes = (uint32_t)n;
	d->n_unwind_hdr_bytes = (uint32_t)n_hdr;
	return d->unwind != NULL;
}

static void give_lines(struct jitdump *d, struct jitcode *j, struct jitcode_entry *e)
{
	if (!d->n_lines || d->line_start != e->start)
		return;
	uint64_t shift = d->is_v8 && d->line[0].address - e->start >= V8_SHIFT ? V8_SHIFT : 0;
	struct jitcode_line *line = calloc(d->n_lines, sizeof(*line));
	uint32_t n = 0;
	for (uint32_t i = 0; line && i < d->n_lines; i++) {
		uint64_t off = d->line[i].address - shift - e->start;
		if (off >= e->n_bytes)
			continue;
		n -= n && line[n - 1].off == off;  /* the later of two at one place counts */
		line[n++] = (struct jitcode_line){ (uint32_t)off, d->line[i].line,
						   d->line[i].file };
	}
	e->line = n ? jitcode_keep(j, line, n * sizeof(*line)) : NULL;
	e->n_lines = e->line ? n : 0;
	free(line);
}

static bool take_load(struct jitdump *d, struct jitcode *j, struct bytes *b, uint64_t time_ns)
{
	bytes_u32(b);
	bytes_u32(b);
	bytes_u64(b);  /* where the code is in memory: the same as where it runs */
	struct jitcode_entry e = { .from_ns = time_ns };
	e.start = bytes_u64(b);
	e.n_bytes = bytes_u64(b);
	e.index = bytes_u64(b);
	const char *name = bytes_cstr(b);
	bool ok = !b->bad;
	if (ok) {
		e.name = jitcode_keep_name(j, *name ? name : "?", *name ? strlen(name) : 1);
		give_lines(d, j, &e);
		e.unwind = (struct jitcode_unwind){ d->unwind, d->n_unwind_bytes,
						    d->n_unwind_hdr_bytes };
		ok = e.name && jitcode_add(j, &e);
	}
	drop_lines(d);
	d->unwind = NULL;
	return ok;
}

static bool take_move(struct jitcode *j, struct bytes *b, uint64_t time_ns)
{
	bytes_u32(b);
	bytes_u32(b);
	bytes_u64(b);
	uint64_t from = bytes_u64(b), to = bytes_u64(b), n = bytes_u64(b), index = bytes_u64(b);
	if (b->bad)
		return false;
	/* Code loaded since the last jitcode_settle is not sorted yet. */
	const struct jitcode_entry *old = NULL;
	for (uint32_t i = j->n; i-- > j->n_ordered && !old && j->n - i <= MOVE_BACK_MAX;)
		if (j->entry[i].start == from && j->entry[i].index == index)
			old = &j->entry[i];
	if (!old)
		old = jitcode_find(j, from, time_ns);
	if (!old || old->start != from)
		return false;
	struct jitcode_entry e = *old;
	e.start = to;
	e.n_bytes = n;
	e.index = index;
	e.from_ns = time_ns;
	return jitcode_add(j, &e);
}

/* b is one record without its prefix; false: it is inconsistent. */
static bool take_record(struct jitdump *d, struct jitcode *j, uint32_t id, struct bytes *b,
			uint64_t time_ns)
{
	switch (id) {
	case CODE_LOAD: return take_load(d, j, b, time_ns);
	case CODE_MOVE: return take_move(j, b, time_ns);
	case CODE_DEBUG_INFO: return take_lines(d, j, b);
	case CODE_UNWINDING_INFO: return take_unwind(d, j, b);
	case CODE_CLOSE: d->is_closed = true; return true;
	default: return true;  /* of a newer version */
	}
}

long jitdump_take(struct jitdump *d, struct jitcode *j, const void *bytes, size_t n,
		  uint64_t now_ns, size_t *ret_want)
{
	size_t done = 0;
	*ret_want = PREFIX_BYTES;
	if (!d->has_header) {
		long r = take_header(d, bytes, n, ret_want);
		if (r <= 0)
			return r;
		done = (size_t)r;
		*ret_want = PREFIX_BYTES;
	}
	while (!d->is_closed && !j->is_full) {
		struct bytes b = bytes_of((const uint8_t *)bytes + done, n - done);
		uint32_t id = bytes_u32(&b), size = bytes_u32(&b);
		uint64_t time_ns = bytes_u64(&b);
		if (b.bad)
			break;
		if (size < PREFIX_BYTES || size > JITDUMP_RECORD_BYTES_MAX)
			return done ? (long)done : -EBADMSG;
		if (size > n - done) {
			*ret_want = size;
			break;
		}
		b = bytes_of(b.p, size - PREFIX_BYTES);
		if (d->is_foreign_time || time_ns > now_ns)
			time_ns = now_ns;
		else
			d->last_ns = time_ns;
		d->n_bad += !take_record(d, j, id, &b, time_ns);
		done += size;
	}
	return (long)done;
}
