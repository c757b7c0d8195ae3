/* A note is a header, the name and the description, both padded to 4 bytes (elf(5), Nhdr). */

#include "event/evnote.h"

#define NOTE_TYPE 3u            /* NT_STAPSDT */
static const char note_name[] = "stapsdt";

static size_t padded(uint32_t n)
{
	return ((size_t)n + 3) & ~(size_t)3;
}

static bool read_description(struct bytes *b, struct evnote *ret)
{
	ret->pc = bytes_u64(b);
	ret->base = bytes_u64(b);
	ret->semaphore = bytes_u64(b);
	ret->provider = bytes_cstr(b);
	ret->name = bytes_cstr(b);
	ret->args = bytes_cstr(b);
	return !b->bad && *ret->provider && *ret->name;
}

bool evnote_next(struct bytes *notes, struct evnote *ret)
{
	while (bytes_left(notes) && !notes->bad) {
		uint32_t n_name = bytes_u32(notes), n_description = bytes_u32(notes);
		uint32_t type = bytes_u32(notes);
		const char *name = bytes_take(notes, padded(n_name));
		const void *description = bytes_take(notes, n_description);
		if (notes->bad)
			return false;
		/* The padding of the last note may be missing. */
		size_t n_padding = padded(n_description) - n_description;
		bytes_take(notes, n_padding < bytes_left(notes) ? n_padding : bytes_left(notes));
		if (type != NOTE_TYPE || n_name != sizeof(note_name) ||
		    memcmp(name, note_name, sizeof(note_name)) != 0)
			continue;
		struct bytes b = bytes_of(description, n_description);
		if (read_description(&b, ret))
			return true;
	}
	return false;
}
