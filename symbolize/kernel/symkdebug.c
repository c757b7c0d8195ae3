/*
 * vmlinux is a linked program that was moved as a whole: the address of _stext in the file and in
 * kallsyms differ by the offset of KASLR, and those of _etext must differ by the same.
 *
 * A module is a relocatable file, and the kernel has put each of its sections where it found room.
 * For root, /sys/module/NAME/sections has their addresses; otherwise kallsyms does, by the
 * functions in these sections.
 */

#include "symbolize/kernel/symkdebug.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/kernel/symkernel.h"
#include "symbolize/kernel/symrel.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MAX_BYTES 64    /* MODULE_NAME_LEN */

static const char *const default_dirs[] = { "/usr/lib/debug", NULL };

/* One search. */
struct search {
	const struct symkdebug_kernel *kernel;
	const struct symdebug_place *where;
	const char *module;
	uint8_t build_id[DSO_BUILD_ID_MAX];
	size_t n_build_id;
	char path[PATH_MAX];     /* of the file that was found */
	char *why;
	size_t n_why_bytes;
	bool has_misfit;         /* `why` is about an existing file */
};

/* ---- proof ----------------------------------------------------------------- */

static bool has_section(Elf *elf, const char *wanted)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS
				   ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

static bool has_debug_information(int fd)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return false;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool has = elf && (has_section(elf, ".debug_info") || has_section(elf, ".zdebug_info"));
	elf_end(elf);
	return has;
}

/* NULL: it is the wanted file. */
static const char *why_not(const struct search *s, int fd)
{
	struct dso file = { .fd = -1 };
	dso_set_file(&file, fd, NULL);
	if (!file.is_elf)
		return "it is not an ELF file";
	if (!file.n_build_id)
		return "it has no build id";
	if (file.n_build_id != s->n_build_id ||
	    memcmp(file.build_id, s->build_id, s->n_build_id) != 0)
		return "its build id differs";
	return has_debug_information(fd) ? NULL : "it has no debug information";
}

/* The same, or -ENOENT.  Takes ownership of fd. */
static int prove_file(struct search *s, int fd)
{
	const char *why = fd >= 0 ? why_not(s, fd) : NULL;
	if (!why)
		return fd;
	close(fd);
	if (!s->has_misfit)
		snprintf(s->why, s->n_why_bytes, "'%s' was not used: %s", s->path, why);
	s->has_misfit = true;
	return -ENOENT;
}

static int __attribute__((format(printf, 2, 3))) try_path(struct search *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(s->path, sizeof(s->path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(s->path))
		return -ENOENT;
	return prove_file(s, symdebug_open_file(s->where, s->path));
}

/* ---- search ---------------------------------------------------------------- */

static const char *const *dirs_of(const struct search *s)
{
	return s->where->dirs ? s->where->dirs : default_dirs;
}

static int by_build_id(struct search *s)
{
	char hex[DSO_BUILD_ID_TEXT_MAX];
	struct dso named = { .n_build_id = (uint8_t)s->n_build_id };
	memcpy(named.build_id, s->build_id, s->n_build_id);
	dso_build_id_text(&named, hex);
	int fd = -ENOENT;
	for (const char *const *dir = dirs_of(s); fd < 0 && *dir; dir++)
		fd = try_path(s, "%s/.build-id/%.2s/%s.debug", *dir, hex, hex + 2);
	return fd;
}

/* A file that the user names is not below the host's root. */
static int __attribute__((format(printf, 2, 3))) try_own(struct search *s, const char *fmt, ...)
{
	struct stat st;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(s->path, sizeof(s->path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(s->path))
		return -ENOENT;
	CLEANUP_CLOSE int fd = open(s->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return prove_file(s, TAKE_FD(fd));
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int find_vmlinux(struct search *s)
{
	const char *release = s->kernel->release;
	if (s->kernel->file && is_folder(s->kernel->file))
		return try_own(s, "%s/vmlinux", s->kernel->file);
	if (s->kernel->file)
		return try_own(s, "%s", s->kernel->file);
	int fd = by_build_id(s);
	for (const char *const *dir = dirs_of(s); fd < 0 && *dir; dir++) {
		fd = try_path(s, "%s/boot/vmlinux-%s", *dir, release);
		if (fd < 0)
			fd = try_path(s, "%s/lib/modules/%s/vmlinux", *dir, release);
	}
	if (fd < 0)
		fd = try_path(s, "/boot/vmlinux-%s", release);
	if (fd < 0)
		fd = try_path(s, "/lib/modules/%s/build/vmlinux", release);
	return fd;
}

/* Is the file at path (n bytes) that of module?  "kernel/net/nf-nat.ko.xz" is that of nf_nat. */
static bool is_file_of(const char *path, size_t n, const char *module)
{
	const char *slash = memrchr(path, '/', n);
	const char *p = slash ? slash + 1 : path, *end = path + n;
	for (; *module && p < end; module++, p++)
		if (*p != *module && !(*module == '_' && *p == '-'))
			return false;
	return !*module && end - p >= 3 && strncmp(p, ".ko", 3) == 0;
}

/* The path of module's file below /lib/modules/RELEASE, without the suffix for its compression. */
static bool module_path(const struct search *s, char *path, size_t n_bytes)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(s->where->host, HOST_ROOT, &text, NULL, "lib/modules/%s/modules.dep",
			   s->kernel->release) < 0)
		return false;
	for (const char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		const char *colon = memchr(line, ':', (size_t)(end - line));
		size_t n = colon ? (size_t)(colon - line) : 0;
		if (n && is_file_of(line, n, s->module)) {
			const char *dot = memmem(line, n, ".ko", 3);
			int len = snprintf(path, n_bytes, "%.*s.ko", (int)(dot - line), line);
			return len > 0 && (size_t)len < n_bytes;
		}
		end += *end == '\n';
	}
	return false;
}

static int find_module(struct search *s)
{
	char path[PATH_MAX];
	if (s->kernel->file && is_folder(s->kernel->file)) {
		int fd = try_own(s, "%s/%s.ko", s->kernel->file, s->module);
		if (fd < 0)
			fd = try_own(s, "%s/%s.ko.debug", s->kernel->file, s->module);
		if (fd >= 0)
			return fd;
	}
	int fd = by_build_id(s);
	if (fd >= 0 || !module_path(s, path, sizeof(path)))
		return fd;
	for (const char *const *dir = dirs_of(s); fd < 0 && *dir; dir++) {
		fd = try_path(s, "%s/lib/modules/%s/%s", *dir, s->kernel->release, path);
		if (fd < 0)
			fd = try_path(s, "%s/lib/modules/%s/%s.debug", *dir, s->kernel->release,
				      path);
	}
	return fd >= 0 ? fd : try_path(s, "/lib/modules/%s/%s", s->kernel->release, path);
}

/* ---- the kernel proper ------------------------------------------------------- */

static bool symbol_address(Elf *elf, const char *wanted, uint64_t *ret)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Sym sym;
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = sym.st_shndx != SHN_UNDEF
					   ? elf_strptr(elf, sh.sh_link, sym.st_name) : NULL;
			if (name && strcmp(name, wanted) == 0) {
				*ret = sym.st_value;
				return true;
			}
		}
	}
	return false;
}

static const char *find_shift(const struct symkdebug_kernel *k, Elf *elf, uint64_t *ret_shift)
{
	if (!k->n_anchors)
		return "the addresses of this kernel are not known";
	for (size_t i = 0; i < k->n_anchors; i++) {
		uint64_t vaddr;
		if (!symbol_address(elf, k->anchor[i].symbol, &vaddr))
			return "its symbol table does not tell where the kernel's text begins";
		uint64_t shift = k->anchor[i].address - vaddr;
		if (i && shift != *ret_shift)
			return "its text is not as long as that of the kernel that ran";
		*ret_shift = shift;
	}
	return NULL;
}

static int open_vmlinux(struct search *s, int fd, struct symkdebug *ret)
{
	*ret = (struct symkdebug){ .fd = fd, .path = strdup(s->path) };
	ret->elf = elf_begin(fd, ELF_C_READ, NULL);
	const char *why = ret->elf ? find_shift(s->kernel, ret->elf, &ret->shift)
				   : "it cannot be read";
	if (ret->path && !why)
		return 0;
	int r = ret->path ? -ENOENT : -ENOMEM;
	symkdebug_close(ret);
	if (why)
		snprintf(s->why, s->n_why_bytes, "'%s' was not used: %s", s->path, why);
	return r;
}

/* ---- modules ------------------------------------------------------------------ */

struct placing {
	const struct search *search;
	Elf *elf;                /* the module's file, with all its symbols */
	size_t n_found;          /* executable sections with a known address */
};

static bool place_by_sys(const struct search *s, const char *section, uint64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(s->where->host, HOST_SYS, &text, NULL, "module/%s/sections/%s",
			   s->module, section) < 0)
		return false;
	*ret = strtoull(text, NULL, 16);
	return *ret != 0;
}

/* By a function in that section whose name is unique in the module. */
static bool place_by_symbols(const struct placing *p, size_t section, uint64_t *ret)
{
	const struct search *s = p->search;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(p->elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Sym sym;
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			uint64_t address;
			const char *name = sym.st_shndx == section &&
					   GELF_ST_TYPE(sym.st_info) == STT_FUNC
					   ? elf_strptr(p->elf, sh.sh_link, sym.st_name) : NULL;
			if (name && symkernel_address(s->kernel->symbols, name, s->module,
						      &address) == 1) {
				*ret = address - sym.st_value;
				return true;
			}
		}
	}
	return false;
}

static bool find_place(void *ctx, const char *section, uint64_t *ret)
{
	struct placing *p = ctx;
	size_t names;
	if (elf_getshdrstrndx(p->elf, &names))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(p->elf, scn));) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(p->elf, names, sh.sh_name)
							  : NULL;
		if (!name || !(sh.sh_flags & SHF_EXECINSTR) || strcmp(name, section) != 0)
			continue;
		bool found = (!strchr(section, '/') &&
			      place_by_sys(p->search, section, ret)) ||
			     place_by_symbols(p, elf_ndxscn(scn), ret);
		p->n_found += found;
		return found;
	}
	return false;
}

static int link_module(struct search *s, int fd, struct symkdebug *ret)
{
	struct placing p = { .search = s, .elf = elf_begin(fd, ELF_C_READ, NULL) };
	const struct symrel_place place = { find_place, &p, s->where->deadline_ns };
	size_t n;
	int r = p.elf ? symrel_link(fd, &place, &ret->image, &n) : -EINVAL;
	elf_end(p.elf);
	if (r < 0)
		return r;
	if (p.n_found == 0)
		return -ENXIO;
	ret->elf = elf_memory((char *)ret->image, n);
	ret->path = strdup(s->path);
	return ret->elf && ret->path ? 0 : -ENOMEM;
}

static int open_module(struct search *s, int fd, struct symkdebug *ret)
{
	*ret = (struct symkdebug){ .fd = -1 };
	int r = link_module(s, fd, ret);
	close(fd);
	if (r == 0)
		return 0;
	symkdebug_close(ret);
	if (r != -ENOMEM)
		snprintf(s->why, s->n_why_bytes, "'%s' was not used: %s", s->path,
			 r == -ENXIO ? "where its sections lie is not known"
			 : r == -EFBIG ? "its debug information is too large"
			 : r == -ETIMEDOUT ? "linking its debug information took too long "
						"(--symbol-timeout)"
			 : r == -ENOTSUP ? "its relocations are not understood"
					    : "it is damaged, or no module");
	return r == -ENOMEM ? r : -ENOENT;
}

/* ---- interface ---------------------------------------------------------------- */

static bool find_build_id(struct search *s)
{
	const struct symkdebug_kernel *k = s->kernel;
	if (*s->module) {
		s->n_build_id = k->symbols && strlen(s->module) < NAME_MAX_BYTES
				? symkernel_module_build_id(s->where->host, s->module, s->build_id,
							    sizeof(s->build_id)) : 0;
	} else {
		s->n_build_id = k->n_build_id < sizeof(s->build_id) ? k->n_build_id
								    : sizeof(s->build_id);
		memcpy(s->build_id, k->build_id, s->n_build_id);
	}
	return s->n_build_id >= 2;
}

static void tell_what_is_missing(const struct search *s)
{
	char hex[DSO_BUILD_ID_TEXT_MAX];
	struct dso named = { .n_build_id = (uint8_t)s->n_build_id };
	memcpy(named.build_id, s->build_id, s->n_build_id);
	dso_build_id_text(&named, hex);
	if (s->kernel->file && !*s->module)
		snprintf(s->why, s->n_why_bytes, "'%s' cannot be read", s->path);
	else if (*s->module)
		snprintf(s->why, s->n_why_bytes, "no debug file of module %s for build id %s",
			 s->module, hex);
	else
		snprintf(s->why, s->n_why_bytes,
			 "no vmlinux for build id %s: Debian package linux-image-%s-dbg has it, "
			 "elsewhere kernel-debuginfo or the kernel's build directory; looked for "
			 "as vmlinux-%s in /boot and /usr/lib/debug/boot, as vmlinux in "
			 "/usr/lib/debug/lib/modules/%s and /lib/modules/%s/build, and by build id",
			 hex, s->kernel->release, s->kernel->release, s->kernel->release,
			 s->kernel->release);
}

int symkdebug_open(const struct symkdebug_kernel *kernel, const struct symdebug_place *where,
		   const char *module, struct symkdebug *ret, char *why, size_t n_why_bytes)
{
	struct search s = { .kernel = kernel, .where = where, .module = module, .why = why,
			    .n_why_bytes = n_why_bytes };
	*why = '\0';
	if (!where->host || elf_version(EV_CURRENT) == EV_NONE || strchr(module, '/') ||
	    !find_build_id(&s)) {
		snprintf(why, n_why_bytes, "its build id is unknown, so no debug file could be "
			 "verified");
		return -ENOENT;
	}
	int fd = *module ? find_module(&s) : find_vmlinux(&s);
	if (fd >= 0)
		return *module ? open_module(&s, fd, ret) : open_vmlinux(&s, fd, ret);
	if (!s.has_misfit)
		tell_what_is_missing(&s);
	return -ENOENT;
}

void symkdebug_close(struct symkdebug *s)
{
	elf_end(s->elf);
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s->image);
	*s = (struct symkdebug){ .fd = -1 };
}
