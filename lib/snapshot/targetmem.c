/*
 * process_vm_readv(2) ends at the first piece that it cannot read, so that pieces are cut to what
 * is likely to be readable first, and one that fails nevertheless costs one more call.
 */

#include "snapshot/targetmem.h"

#include "base/host.h"
#include "base/remotemem.h"
#include "base/search.h"
#include "source/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define BATCH 512u                      /* IOV_MAX is 1024 */
#define PAGES_MAX 64u                   /* looked up at once in pagemap */

/* Documentation/admin-guide/mm/pagemap.rst: present, and swapped out. */
#define PAGEMAP_EXISTS (UINT64_C(3) << 62)

void targetmem_open(struct targetmem *m, const struct host *h, uint32_t pid, uint32_t tid)
{
	*m = (struct targetmem){ .pid = pid, .remote = h->memory };
	m->pagemap_fd = remotemem_is_direct(h->memory, pid)
		? host_open_file(h, HOST_PROC, O_RDONLY, "%u/pagemap", tid) : -1;
}

void targetmem_close(struct targetmem *m)
{
	if (m->pagemap_fd >= 0)
		close(m->pagemap_fd);
	m->pagemap_fd = -1;
	VEC_FREE(&m->anonymous);
}

bool targetmem_add(struct targetmem *m, const struct record *map)
{
	const struct record_mmap *r = &map->mmap;
	struct targetmem_range range = { r->start, r->start + r->len };
	if (r->ino || !(r->prot & PROT_READ))
		return true;
	struct targetmem_range *last =
		m->anonymous.n ? &m->anonymous.v[m->anonymous.n - 1] : NULL;
	if (last && last->end == range.start) {
		last->end = range.end;
		return true;
	}
	return (last && range.start < last->end) || VEC_PUSH(&m->anonymous, range);
}

/* How much of [address, address + n) is in one anonymous mapping. */
static uint32_t in_mapping(const struct targetmem *m, uint64_t address, uint32_t n)
{
	size_t i = SEARCH_COUNT(m->anonymous.n, k, m->anonymous.v[k].end <= address);
	if (i == m->anonymous.n || m->anonymous.v[i].start > address)
		return 0;
	uint64_t rest = m->anonymous.v[i].end - address;
	return rest < n ? (uint32_t)rest : n;
}

/* How much of it is in pages that exist. */
static uint32_t in_pages(const struct targetmem *m, uint64_t address, uint32_t n)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), entry[PAGES_MAX];
	uint64_t first = address / page_bytes, end = (address + n + page_bytes - 1) / page_bytes;
	for (uint64_t at = first; at < end;) {
		size_t want = end - at < PAGES_MAX ? (size_t)(end - at) : PAGES_MAX;
		ssize_t got = pread(m->pagemap_fd, entry, want * 8, (off_t)(at * 8));
		/* A kernel without pagemap, or one that does not show it to this user. */
		if (got < 0)
			return n;
		for (size_t i = 0; i < want; i++, at++) {
			bool exists = (size_t)got >= (i + 1) * 8 && entry[i] & PAGEMAP_EXISTS;
			if (!exists)
				return at == first ? 0 : (uint32_t)(at * page_bytes - address);
		}
	}
	return n;
}

static void cut(const struct targetmem *m, struct targetmem_piece *p)
{
	p->n_read = 0;
	p->n_bytes = in_mapping(m, p->address, p->n_bytes);
	if (p->n_bytes && m->pagemap_fd >= 0)
		p->n_bytes = in_pages(m, p->address, p->n_bytes);
}

/* Reads pieces up to the first one that fails; returns how many were read. */
static size_t read_some(const struct targetmem *m, struct targetmem_piece *piece, size_t n,
			int *ret_code)
{
	struct iovec local[BATCH], remote[BATCH];
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ piece[i].to, piece[i].n_bytes };
		remote[i] = (struct iovec){ (void *)(uintptr_t)piece[i].address,
					    piece[i].n_bytes };
	}
	long got = remotemem_read(m->remote, m->pid, local, n, remote, n);
	*ret_code = got < 0 ? (int)got : 0;
	size_t i = 0;
	for (; got > 0 && i < n; i++) {
		piece[i].n_read = (size_t)got < piece[i].n_bytes ? (uint32_t)got
								 : piece[i].n_bytes;
		got -= piece[i].n_read;
		if (piece[i].n_read < piece[i].n_bytes)
			break;
	}
	while (i < n && !piece[i].n_bytes)
		i++;
	return i;
}

int targetmem_read(struct targetmem *m, struct targetmem_piece *piece, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cut(m, &piece[i]);
	for (size_t at = 0; at < n;) {
		size_t want = n - at < BATCH ? n - at : BATCH;
		int code;
		size_t done = read_some(m, piece + at, want, &code);
		if (code == -ESRCH || code == -EPERM || code == -EACCES ||
		    code == -ETIMEDOUT)
			return code;
		at += done + (done < want);  /* the one that failed keeps what it got */
	}
	return 0;
}
