/*
 * The kernel itself knows: KERNELOFFSET in the note VMCOREINFO of /proc/kcore
 * (kernel/vmcore_info.c, since Linux 4.19), which needs CAP_SYS_RAWIO.  System.map has the
 * link-time address of _text.
 *
 * x86-64 links _text to __START_KERNEL_map + CONFIG_PHYSICAL_START, rounded up to
 * CONFIG_PHYSICAL_ALIGN (arch/x86/include/asm/page_types.h), and moves it by multiples of 2 MiB.
 *
 * arm64 links it to KIMAGE_VADDR = MODULES_END (arch/arm64/include/asm/memory.h), which follows
 *
 *	the middle of the kernel's half of the address space, before 5.4 its start,
 *	128 MiB for BPF programs, from 5.0 to 5.16,
 *	128 MiB for modules, since 6.5 2 GiB,
 *	0x80000 before 5.8 (TEXT_OFFSET),
 *
 * and _stext to 64 KiB after _text, before 5.11 to 4 KiB.
 *
 * The kernel is moved within the vmalloc area, so that its address shows the number of bits of
 * virtual addresses.  With KASAN, before 5.11, and with stable releases of 5.10 and 5.15 that have
 * no area for BPF programs any more, the result differs from vmlinux by a constant.
 */

#include "symbolize/kernel/symklink.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/host.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MIB (UINT64_C(1) << 20)

/* ---- by what is known of all kernels ------------------------------------------------- */

#define X86_MAP UINT64_C(0xffffffff80000000)    /* __START_KERNEL_map */
#define X86_START UINT64_C(0x1000000)           /* CONFIG_PHYSICAL_START by default */
#define X86_ALIGN (2 * MIB)

static bool is_x86(uint64_t base)
{
	return base >= X86_MAP;
}

/* _stext is near _text. */
static uint64_t x86_shift(uint64_t link, uint64_t base)
{
	return (base - link) & ~(X86_ALIGN - 1);
}

/* 5.10 is 510; newer than all known ones if unknown. */
static unsigned int version_of(const char *release)
{
	unsigned int major, minor;
	if (!release || sscanf(release, "%u.%u", &major, &minor) != 2 || major > 1000 ||
	    minor > 99)
		return UINT32_MAX;
	return major * 100 + minor;
}

/* Where the symbol is linked with so many bits of virtual addresses. */
static uint64_t arm64_link(unsigned int version, bool is_stext, unsigned int n_bits)
{
	uint64_t start = -(UINT64_C(1) << (version < 504 ? n_bits : n_bits - 1));
	uint64_t bpf = version >= 500 && version < 517 ? 128 * MIB : 0;
	uint64_t modules = version < 605 ? 128 * MIB : 2048 * MIB;
	uint64_t head = !is_stext ? 0 : version < 511 ? 0x1000 : 0x10000;
	return start + bpf + modules + (version < 508 ? 0x80000 : 0) + head;
}

static uint64_t arm64_guess(unsigned int version, struct symklink_first first)
{
	/* 4 KiB pages: 48 or 39; 64 KiB: 48 or 42; 16 KiB: 48, 47 or 36 */
	static const unsigned int n_bits[] = { 36, 39, 42, 47, 48 };
	uint64_t link = 0, base = first.address;
	for (unsigned int i = 0; i < sizeof(n_bits) / sizeof(*n_bits); i++) {
		uint64_t at = arm64_link(version, first.is_stext, n_bits[i]);
		/* 47 only if it was not moved: with 48, kernels are moved to the same addresses */
		if (at == base || (!link && at < base && n_bits[i] != 47))
			link = at;
	}
	return base - (link ? link : arm64_link(version, first.is_stext, 48));
}

uint64_t symklink_guess(const char *release, struct symklink_first first)
{
	return is_x86(first.address) ? x86_shift(X86_MAP + X86_START, first.address)
				     : arm64_guess(version_of(release), first);
}

/* ---- by the kernel ------------------------------------------------------------ */

#define KCORE_HEADERS_MAX 256u
#define KCORE_NOTES_MAX (1u << 20)

/* The number of KERNELOFFSET in the text of VMCOREINFO, in hexadecimal. */
static bool take_offset(const char *text, size_t n_bytes, uint64_t *ret)
{
	static const char key[] = "KERNELOFFSET=";
	CLEANUP_FREE char *copy = strndup(text, n_bytes);
	const char *at = copy ? strstr(copy, key) : NULL;
	char *end;
	if (!at || (at != copy && at[-1] != '\n'))
		return false;
	*ret = strtoull(at + strlen(key), &end, 16);
	return *end == '\n';
}

/* gABI, "Note Section". */
static bool find_vmcoreinfo(const void *notes, size_t n_bytes, uint64_t *ret)
{
	for (struct bytes b = bytes_of(notes, n_bytes); bytes_left(&b);) {
		uint32_t n_name = bytes_u32(&b), n_text = bytes_u32(&b);
		bytes_u32(&b);
		const char *name = bytes_take(&b, ((size_t)n_name + 3) & ~(size_t)3);
		const char *text = bytes_take(&b, n_text);
		if (b.bad)
			return false;
		if (n_name >= 10 && memcmp(name, "VMCOREINFO", 10) == 0)
			return take_offset(text, n_text, ret);
		size_t padding = -(size_t)n_text & 3;
		bytes_take(&b, padding < bytes_left(&b) ? padding : bytes_left(&b));
	}
	return false;
}

static bool shift_by_kcore(const struct host *h, uint64_t *ret)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY | O_NONBLOCK, "kcore");
	Elf64_Ehdr e;
	if (fd < 0 || pread(fd, &e, sizeof(e), 0) != sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned int i = 0; i < e.e_phnum && i < KCORE_HEADERS_MAX; i++) {
		Elf64_Phdr p;
		if (pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * sizeof(p))) != sizeof(p))
			return false;
		if (p.p_type != PT_NOTE || p.p_filesz > KCORE_NOTES_MAX)
			continue;
		CLEANUP_FREE char *notes = malloc(p.p_filesz ? p.p_filesz : 1);
		ssize_t n = notes ? pread(fd, notes, p.p_filesz, (off_t)p.p_offset) : -1;
		if (n > 0 && find_vmcoreinfo(notes, (size_t)n, ret))
			return true;
	}
	return false;
}

/* ---- by installed files ------------------------------------------------------------ */

#define LINES_MAX 1000000u

static void close_gz(gzFile *f)
{
	if (*f)
		gzclose(*f);
}

/* Opens a text, which may be compressed. */
static gzFile open_text(const struct host *h, enum host_dir dir, const char *folder,
			const char *release)
{
	int fd = host_open_file(h, dir, O_RDONLY | O_NONBLOCK, "%s%s", folder, release);
	gzFile f = fd < 0 ? NULL : gzdopen(fd, "r");
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* "ffffffff81000000 T _text"; some distributions install a file with one line of excuse. */
static bool link_by_map(const struct host *h, const char *release, const char *symbol,
			uint64_t *ret)
{
	__attribute__((cleanup(close_gz))) gzFile f =
		open_text(h, HOST_ROOT, "boot/System.map-", release);
	char line[256], name[8], type;
	for (unsigned int n = 0; f && n < LINES_MAX && gzgets(f, line, sizeof(line)); n++) {
		unsigned long long address;
		if (sscanf(line, "%llx %c %7s", &address, &type, name) == 3 &&
		    strcmp(name, symbol) == 0) {
			*ret = address;
			return address != 0;
		}
	}
	return false;
}

static bool read_config(gzFile f, uint64_t *ret_start, uint64_t *ret_align)
{
	char line[256];
	unsigned long long x;
	*ret_start = *ret_align = 0;
	/* the two lines are in the first tenth of the file */
	for (unsigned int n = 0; n < LINES_MAX && !(*ret_start && *ret_align) &&
	     gzgets(f, line, sizeof(line)); n++) {
		if (sscanf(line, "CONFIG_PHYSICAL_START=%llx", &x) == 1)
			*ret_start = x;
		else if (sscanf(line, "CONFIG_PHYSICAL_ALIGN=%llx", &x) == 1)
			*ret_align = x;
	}
	return *ret_start && *ret_align && !(*ret_align & (*ret_align - 1));
}

static bool x86_link_by_config(const struct host *h, const char *release, uint64_t *ret)
{
	for (int i = 0; i < 2; i++) {
		__attribute__((cleanup(close_gz))) gzFile f =
			i == 0 ? open_text(h, HOST_PROC, "config.gz", "")
			       : open_text(h, HOST_ROOT, "boot/config-", release);
		uint64_t start, align;
		if (f && read_config(f, &start, &align)) {
			*ret = X86_MAP + ((start + align - 1) & ~(align - 1));
			return true;
		}
	}
	return false;
}

uint64_t symklink_running(const struct host *h, struct symklink_first first)
{
	CLEANUP_FREE char *release = NULL;
	uint64_t shift, link, base = first.address;
	if (shift_by_kcore(h, &shift))
		return shift;
	if (host_read_file(h, HOST_PROC, &release, NULL, "sys/kernel/osrelease") < 0)
		return symklink_guess(NULL, first);
	release[strcspn(release, "\n/")] = '\0';
	if (link_by_map(h, release, first.is_stext ? "_stext" : "_text", &link))
		return is_x86(base) ? x86_shift(link, base) : base - link;
	if (is_x86(base) && x86_link_by_config(h, release, &link))
		return x86_shift(link, base);
	return symklink_guess(release, first);
}
