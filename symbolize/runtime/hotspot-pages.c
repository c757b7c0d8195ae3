#include "symbolize/runtime/hotspot-pages.h"

#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define READS_MAX 4096u

void hotspot_pages_done(struct hotspot_pages *p)
{
	for (size_t i = 0; i < HOTSPOT_PAGES_N; i++)
		free(p->page[i].bytes);
	memset(p->page, 0, sizeof(p->page));
}

/* The page at that address; NULL: it cannot be read. */
static const uint8_t *page_at(struct hotspot_pages *p, uint64_t at)
{
	struct hotspot_page *page = &p->page[at / PAGE_BYTES % HOTSPOT_PAGES_N];
	if (page->at == at && at)
		return page->bytes;
	if (p->n_reads++ >= READS_MAX)
		return NULL;
	uint8_t *bytes = page->bytes ? page->bytes : malloc(PAGE_BYTES);
	bool is_read = bytes && runtime_memory_read(p->memory, at, bytes, PAGE_BYTES);
	if (!is_read) {
		free(bytes);
		bytes = NULL;
	}
	*page = (struct hotspot_page){ .at = at, .bytes = bytes };
	return bytes;
}

bool hotspot_pages_copy(struct hotspot_pages *p, uint64_t at, void *buf, size_t n_bytes)
{
	uint8_t *to = buf;
	if (n_bytes > PAGE_BYTES || at + n_bytes < at)
		return false;
	while (n_bytes) {
		uint64_t in = at % PAGE_BYTES;
		size_t n = PAGE_BYTES - in < n_bytes ? PAGE_BYTES - in : n_bytes;
		const uint8_t *page = page_at(p, at - in);
		if (!page)
			return false;
		memcpy(to, page + in, n);
		to += n;
		at += n;
		n_bytes -= n;
	}
	return true;
}

bool hotspot_pages_text(struct hotspot_pages *p, uint64_t at, char *buf, size_t n_bytes)
{
	for (size_t n = 0; n < n_bytes && at + n >= at;) {
		uint64_t in = (at + n) % PAGE_BYTES;
		size_t more = PAGE_BYTES - in < n_bytes - n ? PAGE_BYTES - in : n_bytes - n;
		const uint8_t *page = page_at(p, at + n - in);
		if (!page)
			return false;
		memcpy(buf + n, page + in, more);
		if (memchr(buf + n, '\0', more))
			return true;
		n += more;
	}
	return false;
}
