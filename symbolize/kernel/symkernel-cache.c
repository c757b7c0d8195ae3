/*
 * The names of the kernel's own code, kept from one recording to the next.  They do not change
 * until the next boot, so the boot id is the key.  The file is the table as it is in memory; it is
 * mapped and not read, so that a look-up touches a few pages.
 */

#include "symbolize/kernel/symkernel-private.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/rights.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_PREFIX "kallsyms-"
#define CACHE_VERSION 4u

struct cache_header {            /* then n_syms struct symkernel_sym, then n_name_bytes */
	char magic[8];
	uint32_t version, n_syms;
	uint64_t n_name_bytes, text_start, text_end, base, shift;
	char boot_id[40];
};

#define CACHE_MAGIC "cprofksy"

/* The boot id without its newline, a UUID of 36 characters. */
static int read_boot_id(const struct host *h, char ret_id[40])
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_file(h, HOST_PROC, &text, NULL, "sys/kernel/random/boot_id");
	if (r < 0)
		return r;
	size_t n = strspn(text, "0123456789abcdef-");
	if (n != 36)
		return -EINVAL;
	memset(ret_id, 0, 40);
	memcpy(ret_id, text, n);
	return 0;
}

/* ---- reading --------------------------------------------------------------------- */

/* Is the header consistent with itself, the file's size and this boot? */
static bool is_valid_header(const struct cache_header *c, size_t n_bytes, const char *boot_id)
{
	uint64_t rest = n_bytes - sizeof(*c), n_sym_bytes;
	n_sym_bytes = (uint64_t)c->n_syms * sizeof(struct symkernel_sym);
	return memcmp(c->magic, CACHE_MAGIC, sizeof(c->magic)) == 0 &&
	       c->version == CACHE_VERSION && memcmp(c->boot_id, boot_id, 40) == 0 &&
	       n_sym_bytes <= rest && c->n_name_bytes == rest - n_sym_bytes &&
	       c->n_name_bytes > 0;
}

int symkernel_cache_open(const struct host *h, const char *dir, struct symkernel **ret_kernel)
{
	char boot_id[40], name[64];
	uint64_t n_file_bytes;
	int r = read_boot_id(h, boot_id);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), CACHE_PREFIX "%s", boot_id);
	CLEANUP_CLOSE int fd = cachefile_open(dir, name, &n_file_bytes);
	if (fd < 0)
		return fd;
	if (n_file_bytes < sizeof(struct cache_header))
		return -EPERM;
	size_t n_bytes = (size_t)n_file_bytes;
	void *p = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	const struct cache_header *c = p;
	const char *names =
		(const char *)(c + 1) + (size_t)c->n_syms * sizeof(struct symkernel_sym);
	struct symkernel *k = NULL;
	/* The last NUL makes every offset within the names a string. */
	bool is_valid = is_valid_header(c, n_bytes, boot_id) &&
			names[c->n_name_bytes - 1] == '\0';
	r = is_valid ? symkernel_new(&k) : -EINVAL;
	if (r < 0) {
		munmap(p, n_bytes);
		return r;
	}
	k->mapped = p;
	k->n_mapped_bytes = n_bytes;
	k->sym.v = (struct symkernel_sym *)((char *)p + sizeof(*c));
	k->sym.n = c->n_syms;
	k->names.v = (char *)p + (names - (const char *)p);
	k->names.n = c->n_name_bytes;
	k->text_start = c->text_start;
	k->text_end = c->text_end;
	k->base = c->base;
	k->shift = c->shift;
	*ret_kernel = k;
	return 0;
}

void symkernel_rest(const struct symkernel *k)
{
	if (k && k->mapped)
		madvise(k->mapped, k->n_mapped_bytes, MADV_DONTNEED);
}

/* ---- writing ----------------------------------------------------------------------- */

/* The kernel's own symbols, with their names only. */
static int copy_core(const struct symkernel *k, struct symkernel *core)
{
	for (size_t i = 0; i < k->sym.n; i++) {
		struct symkernel_sym s = k->sym.v[i];
		if (s.module != 0 || s.address < k->text_start || s.address > k->text_end)
			continue;
		if (s.name != SYMKERNEL_NO_NAME) {
			const char *name = k->names.v + s.name;
			size_t n = strlen(name) + 1;
			s.name = (uint32_t)core->names.n;
			if (!VEC_RESERVE(&core->names, n))
				return -ENOMEM;
			memcpy(core->names.v + core->names.n, name, n);
			core->names.n += n;
		}
		if (!VEC_PUSH(&core->sym, s))
			return -ENOMEM;
	}
	return core->sym.n && core->names.n ? 0 : -ENODATA;
}

static void save_symbols(int dir_fd, const struct symkernel *k, const struct symkernel *core,
		 const char *boot_id)
{
	char name[64];
	struct cache_header c = {
		.magic = CACHE_MAGIC, .version = CACHE_VERSION, .n_syms = (uint32_t)core->sym.n,
		.n_name_bytes = core->names.n, .text_start = k->text_start,
		.text_end = k->text_end, .base = k->base, .shift = k->shift,
	};
	memcpy(c.boot_id, boot_id, sizeof(c.boot_id));
	snprintf(name, sizeof(name), CACHE_PREFIX "%s", boot_id);
	const struct cachefile_part part[] = {
		{ &c, sizeof(c) }, { core->sym.v, core->sym.n * sizeof(*core->sym.v) },
		{ core->names.v, core->names.n },
	};
	/* files of earlier boots will never be used again */
	if (cachefile_write(dir_fd, name, part, sizeof(part) / sizeof(*part)) == 0)
		cachefile_limit(dir_fd, CACHE_PREFIX, name, 0);
}

/* Can we read kallsyms only because of a capability?  Later programs of this user may not have it
 * (kallsyms_show_value() in kernel/ksyms_common.c). */
static bool has_borrowed_rights(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };
	return geteuid() != 0 && (syscall(SYS_capget, &h, d) < 0 ||
				  d[CAP_TO_INDEX(CAP_SYSLOG)].effective & CAP_TO_MASK(CAP_SYSLOG));
}

void symkernel_cache_save(const struct symkernel *k, const struct host *h, const char *dir)
{
	char boot_id[40];
	/* The table was read with rights that the reader of the cache may lack. */
	if (rights_are_kept() || has_borrowed_rights())
		return;
	if (!k->text_start || k->text_end <= k->text_start || read_boot_id(h, boot_id) < 0)
		return;
	CLEANUP_CLOSE int dir_fd = cachefile_open_dir(dir);
	struct symkernel core = { 0 };
	if (dir_fd >= 0 && copy_core(k, &core) == 0)
		save_symbols(dir_fd, k, &core, boot_id);
	VEC_FREE(&core.sym);
	VEC_FREE(&core.names);
}
