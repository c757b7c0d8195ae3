#include "symbolize/runtime/runtime-pages.h"

#include "base/hash.h"
#include "symbolize/runtime/runtime-memory.h"

#include <string.h>

/* Addresses above are the kernel's, or none. */
#define ADDRESS_MAX (UINT64_C(1) << 56)

/* Kept at once. */
#define PAGES_MAX 4096u

/* Read again at once, and how often that is done with a page that is not used. */
#define AGAIN_MAX 32u
#define UNUSED_MAX 4u

/* Buffers that are kept for the next pages. */
#define SPARE_MAX 16u

void runtime_pages_init(struct runtime_pages *p, const struct runtime_memory *m, uint64_t n_left)
{
	*p = (struct runtime_pages){ .memory = m, .n_left = n_left };
}

static uint8_t *new_buffer(struct runtime_pages *p)
{
	return p->spare.n ? p->spare.v[--p->spare.n] : malloc(RUNTIME_PAGE_BYTES);
}

static void give_back(struct runtime_pages *p, uint8_t *bytes)
{
	if (bytes && (p->spare.n == SPARE_MAX || !VEC_PUSH(&p->spare, bytes)))
		free(bytes);
}

static void forget_page(struct runtime_pages *p, struct runtime_page *page)
{
	give_back(p, page->bytes);
	give_back(p, page->second);
}

void runtime_pages_forget(struct runtime_pages *p)
{
	for (size_t i = 0; i < p->pages.n; i++)
		forget_page(p, &p->pages.v[i]);
	p->pages.n = 0;
	p->uses_second = false;
	p->copy = NULL;
	hashindex_done(&p->by_address);
}

void runtime_pages_done(struct runtime_pages *p)
{
	runtime_pages_forget(p);
	VEC_FREE(&p->pages);
	for (size_t i = 0; i < p->spare.n; i++)
		free(p->spare.v[i]);
	VEC_FREE(&p->spare);
}

static struct runtime_page *find(struct runtime_pages *p, uint64_t at)
{
	uint64_t hash = hash_u64(at);
	uint32_t i = HASHINDEX_FIND(&p->by_address, hash, k, p->pages.v[k].at == at);
	return i == HASHINDEX_NONE ? NULL : &p->pages.v[i];
}

/* A page that is not read yet; NULL: no memory, or no more may be read. */
static struct runtime_page *add(struct runtime_pages *p, uint64_t at)
{
	if (p->pages.n == PAGES_MAX)
		runtime_pages_forget(p);
	uint8_t *bytes = p->n_left && at < ADDRESS_MAX ? new_buffer(p) : NULL;
	if (!bytes || !hashindex_reserve(&p->by_address, false) ||
	    !VEC_PUSH(&p->pages, ((struct runtime_page){ .at = at, .bytes = bytes }))) {
		give_back(p, bytes);
		return NULL;
	}
	p->n_left--;
	hashindex_put(&p->by_address, hash_u64(at), (uint32_t)p->pages.n - 1);
	return &p->pages.v[p->pages.n - 1];
}

/* Keeps the first n pages, which may be in another order than before. */
static void keep_first(struct runtime_pages *p, size_t n)
{
	if (n == p->pages.n)
		return;
	for (size_t i = n; i < p->pages.n; i++)
		forget_page(p, &p->pages.v[i]);
	p->pages.n = n;
	hashindex_done(&p->by_address);
	for (size_t i = 0; i < p->pages.n; i++)
		if (!hashindex_add(&p->by_address, hash_u64(p->pages.v[i].at), (uint32_t)i))
			runtime_pages_forget(p);
}

/* Puts the pages that are read again before the others.  Returns how many there are. */
static size_t choose_again(struct runtime_pages *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->pages.n && n < AGAIN_MAX && 2 * n + 1 < p->n_left; i++) {
		struct runtime_page page = p->pages.v[i];
		if (!page.is_read || page.n_unused++ >= UNUSED_MAX ||
		    (!page.second && !(page.second = new_buffer(p))))
			continue;
		page.used = 0;
		p->pages.v[i] = p->pages.v[n];
		p->pages.v[n++] = page;
	}
	return n;
}

void runtime_pages_again(struct runtime_pages *p)
{
	struct iovec local[2 * AGAIN_MAX], remote[2 * AGAIN_MAX];
	p->uses_second = false;
	p->copy = NULL;
	keep_first(p, choose_again(p));
	size_t n = p->pages.n;
	for (size_t i = 0; i < n; i++) {
		void *at = (void *)(uintptr_t)p->pages.v[i].at;
		local[i] = (struct iovec){ p->pages.v[i].bytes, RUNTIME_PAGE_BYTES };
		local[n + i] = (struct iovec){ p->pages.v[i].second, RUNTIME_PAGE_BYTES };
		remote[i] = remote[n + i] = (struct iovec){ at, RUNTIME_PAGE_BYTES };
	}
	p->n_left -= 2 * n;
	size_t n_bytes = 2 * n * RUNTIME_PAGE_BYTES;
	if (n && p->memory->read(p->memory->ctx, local, 2 * n, remote, 2 * n) != (long)n_bytes)
		keep_first(p, 0);
}

void runtime_pages_use_second(struct runtime_pages *p)
{
	p->uses_second = true;
}

void runtime_pages_use_copy(struct runtime_pages *p, const struct runtime_copy *copy)
{
	p->copy = copy;
}

size_t runtime_pages_used(const struct runtime_pages *p, uint64_t *ret_at, size_t n)
{
	size_t n_used = 0;
	for (size_t i = 0; i < p->pages.n; i++)
		for (size_t k = 0; k < RUNTIME_PAGE_BYTES / RUNTIME_PART_BYTES && n_used < n; k++)
			if (p->pages.v[i].used >> k & 1)
				ret_at[n_used++] = p->pages.v[i].at + k * RUNTIME_PART_BYTES;
	return n_used;
}

static struct runtime_page *page_at(struct runtime_pages *p, uint64_t at)
{
	struct runtime_page *page = find(p, at);
	if (page)
		page->n_unused = 0;
	if (page || p->uses_second || !(page = add(p, at)))
		return page;
	page->is_read = runtime_memory_read(p->memory, at, page->bytes, RUNTIME_PAGE_BYTES);
	return page;
}

static bool read_copied_stack(const struct runtime_copy *c, uint64_t at, uint8_t *buf,
			      size_t n_bytes)
{
	uint64_t off = at - c->stack_at;
	if (off >= c->n_stack_bytes || n_bytes > c->n_stack_bytes - off)
		return false;
	memcpy(buf, c->stack + off, n_bytes);
	return true;
}

static bool read_copy(const struct runtime_copy *c, uint64_t at, uint8_t *buf, size_t n_bytes)
{
	if (read_copied_stack(c, at, buf, n_bytes))
		return true;
	for (size_t done = 0, n; done < n_bytes; done += n) {
		size_t off = (at + done) % RUNTIME_PART_BYTES;
		uint32_t i = 0;
		while (i < c->n && c->at[i] != at + done - off)
			i++;
		if (i == c->n)
			return false;
		n = RUNTIME_PART_BYTES - off;
		n = n < n_bytes - done ? n : n_bytes - done;
		memcpy(buf + done, c->bytes[i] + off, n);
	}
	return true;
}

/* The bits of the parts that n bytes at an offset are in. */
static uint8_t parts(size_t off, size_t n)
{
	size_t first = off / RUNTIME_PART_BYTES, last = (off + n - 1) / RUNTIME_PART_BYTES;
	return (uint8_t)((2u << last) - (1u << first));
}

bool runtime_pages_read(struct runtime_pages *p, uint64_t at, void *buf, size_t n_bytes)
{
	if (at >= ADDRESS_MAX || n_bytes > ADDRESS_MAX)
		return false;
	if (p->copy)
		return read_copy(p->copy, at, buf, n_bytes);
	for (size_t done = 0, n; done < n_bytes; done += n) {
		size_t off = (at + done) % RUNTIME_PAGE_BYTES;
		n = RUNTIME_PAGE_BYTES - off;
		n = n < n_bytes - done ? n : n_bytes - done;
		struct runtime_page *page = page_at(p, at + done - off);
		if (!page || !page->is_read)
			return false;
		const uint8_t *bytes = p->uses_second ? page->second : page->bytes;
		if (!bytes)
			return false;
		page->used |= parts(off, n);
		memcpy((char *)buf + done, bytes + off, n);
	}
	return true;
}

void runtime_pages_fetch(struct runtime_pages *p, const uint64_t *at, size_t n)
{
	struct iovec local[RUNTIME_PAGES_FETCH], remote[RUNTIME_PAGES_FETCH];
	size_t n_added = 0;
	if (p->uses_second || p->copy)
		return;
	if (p->pages.n + RUNTIME_PAGES_FETCH > PAGES_MAX)
		runtime_pages_forget(p);
	size_t first = p->pages.n;
	for (size_t i = 0; i < n && i < RUNTIME_PAGES_FETCH; i++) {
		uint64_t page = at[i] - at[i] % RUNTIME_PAGE_BYTES;
		const struct runtime_page *added = find(p, page) ? NULL : add(p, page);
		if (!added)
			continue;
		local[n_added] = (struct iovec){ added->bytes, RUNTIME_PAGE_BYTES };
		remote[n_added++] = (struct iovec){ (void *)(uintptr_t)page, RUNTIME_PAGE_BYTES };
	}
	if (!n_added)
		return;
	long n_bytes = p->memory->read(p->memory->ctx, local, n_added, remote, n_added);
	size_t n_read = n_bytes > 0 ? (size_t)n_bytes / RUNTIME_PAGE_BYTES : 0;
	for (size_t i = 0; i < n_read; i++)
		p->pages.v[first + i].is_read = true;
	if (n_read + 1 < n_added)
		keep_first(p, first + n_read + 1);
}

void runtime_pages_before(struct runtime_pages *p, uint64_t at, size_t n_pages)
{
	uint64_t page[RUNTIME_PAGES_FETCH];
	size_t n = 0;
	at -= at % RUNTIME_PAGE_BYTES;
	for (; at && n < n_pages && n < RUNTIME_PAGES_FETCH; at -= RUNTIME_PAGE_BYTES)
		page[n++] = at;
	runtime_pages_fetch(p, page, n);
}

bool runtime_pages_text(struct runtime_pages *p, uint64_t at, char *buf, size_t n_bytes)
{
	for (size_t done = 0, n; done < n_bytes; done += n) {
		n = RUNTIME_PAGE_BYTES - (at + done) % RUNTIME_PAGE_BYTES;
		n = n < n_bytes - done ? n : n_bytes - done;
		if (!runtime_pages_read(p, at + done, buf + done, n))
			return false;
		if (memchr(buf + done, '\0', n))
			return true;
	}
	return false;
}
