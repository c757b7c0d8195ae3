/* Where kernels are linked: by release and address, and by what a machine says about its own. */

#include "base/err.h"
#include "base/host.h"
#include "symbolize/kernel/symklink.h"
#include "tests/unit/tap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* _text in vmlinux of these releases. */
static const struct {
	const char *release;
	uint64_t link;
	const char *what;
} known[] = {
	{ "6.12.5", 0xffffffff81000000, "x86-64" },
	{ "4.19.0-27-arm64", 0xffff000008080000, "arm64, before the area for BPF programs" },
	{ "5.3.18", 0xffff000010080000, "arm64, with that area" },
	{ "5.4.0-200-generic", 0xffff800010080000, "arm64, the other half" },
	{ "5.10.66-android12", 0xffffffc010000000, "arm64, 39 bits, without TEXT_OFFSET" },
	{ "6.1.0-18-arm64", 0xffff800008000000, "arm64, without that area" },
	{ "6.1.43", 0xffffffc008000000, "arm64, 39 bits" },
	{ "6.6.30+rpt-rpi-2712", 0xffffffc080000000, "arm64, 39 bits, 2 GiB for modules" },
	{ "6.8.0-31-generic", 0xffff800080000000, "arm64, 2 GiB for modules" },
	{ "6.8.0", 0xfffffe0080000000, "arm64, 42 bits" },
	{ "6.8.0", 0xffffc00080000000, "arm64, 47 bits" },
	{ "6.8.0", 0xfffffff880000000, "arm64, 36 bits" },
	{ NULL, 0xffff800080000000, "arm64, unknown release" },
	{ "odd", 0xffff800080000000, "arm64, odd release" },
};

static uint64_t guess(const char *release, uint64_t base)
{
	return symklink_guess(release, (struct symklink_first){ base, false });
}

static uint64_t running(const struct host *h, uint64_t base)
{
	return symklink_running(h, (struct symklink_first){ base, false });
}

static void test_guess(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint64_t link = known[i].link, at = guess(known[i].release, link);
		tap_ok(at == 0, "%s, not moved: %#llx", known[i].what, (unsigned long long)at);
		uint64_t by = link >> 31 == 0x1ffffffff ? 0x1e000000
			    : link >> 38 == 0x3ffffff ? 0x1f0e00000
						      : 0x1f0e200000;
		if (link == 0xffffc00080000000)
			continue;
		at = guess(known[i].release, link + by);
		tap_ok(at == by, "%s, moved by %#llx: %#llx", known[i].what,
		       (unsigned long long)by, (unsigned long long)at);
	}
	/* arch/arm64/kernel/pi/kaslr_early.c: the middle half of the vmalloc area */
	tap_ok(guess("6.8.0", 0xffffdfff80000000) == 0xffffdfff80000000 -
	       0xffff800080000000, "arm64, 48 bits, moved as far as possible");
	tap_ok(symklink_guess("6.12", (struct symklink_first){ 0xffffffff9a000110, true }) ==
	       0x19000000, "x86-64: _stext instead of _text");
	tap_ok(symklink_guess("6.1.0", (struct symklink_first){ 0xffff800008010000, true }) == 0,
	       "arm64: _stext, not moved");
	tap_ok(symklink_guess("5.4.0", (struct symklink_first){ 0xffff800010081000, true }) == 0,
	       "arm64: _stext of older kernels, not moved");
}

/* ---- a machine made of files -------------------------------------------------- */

static char machine[] = "/tmp/test-symklink-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", machine, name);
	return path;
}

static void put(const char *name, const void *bytes, size_t n)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		tap_ok(false, "cannot write %s", name);
	close(fd);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

static void put_compressed(const char *name, const char *text)
{
	gzFile f = gzopen(path_of(name), "w");
	if (!f || gzwrite(f, text, (unsigned int)strlen(text)) <= 0 || gzclose(f) != Z_OK)
		tap_ok(false, "cannot write %s", name);
}

struct core {
	Elf64_Ehdr head;
	Elf64_Phdr load, notes;
	struct {
		Elf64_Nhdr head;
		char name[8], text[4];
	} first;
	struct {
		Elf64_Nhdr head;
		char name[12], text[64];
	} second;
};

static struct core core_of(const char *text)
{
	struct core c = {
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_CORE, .e_phoff = offsetof(struct core, load), .e_phnum = 2,
			.e_phentsize = sizeof(Elf64_Phdr),
		},
		.load = { .p_type = PT_LOAD, .p_filesz = UINT64_C(1) << 40 },
		.notes = { .p_type = PT_NOTE, .p_offset = offsetof(struct core, first),
			   .p_filesz = sizeof(c.first) + sizeof(c.second) },
		.first = { { 5, 3, NT_PRSTATUS }, "CORE", "abc" },
		.second = { { 11, 64, 0 }, "VMCOREINFO", "" },
	};
	snprintf(c.second.text, sizeof(c.second.text), "%s", text);
	return c;
}

static void put_core(const char *text)
{
	struct core c = core_of(text);
	put("proc/kcore", &c, sizeof(c));
}

#define BASE UINT64_C(0xffffffff9c200000)

static void test_machine(const struct host *h)
{
	const uint64_t by_default = BASE - 0xffffffff81000000;
	tap_ok(running(h, BASE) == by_default, "an empty machine");
	put_text("proc/sys/kernel/osrelease", "6.1.0-18-x\n");
	put_text("root/boot/config-6.1.0-18-x",
		 "CONFIG_PHYSICAL_START=0x1200000\nCONFIG_PHYSICAL_ALIGN=0x1000000\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff82000000, "an aligned start");
	put_compressed("proc/config.gz", "# x\nCONFIG_PHYSICAL_START=0x400000\nCONFIG_X=y\n"
		       "CONFIG_PHYSICAL_ALIGN=0x200000\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff80400000, "compressed, of the kernel");
	tap_ok(running(h, BASE + 0x110) == BASE - 0xffffffff80400000, "by _stext");
	tap_ok(running(h, 0xffff900008000000) == 0x100000000000,
	       "arm64 does not depend on them, but on the release");
	put_text("root/boot/System.map-6.1.0-18-x",
		 "ffffffffffffffff B The real System.map is in another package\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff80400000, "a System.map without it");
	put_text("root/boot/System.map-6.1.0-18-x", "0000000000000000 A x\n"
		 "ffffffff80600000 T _text\nffffffff80600000 T _stext\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff80600000, "System.map");
	put_text("root/boot/System.map-6.1.0-18-x", "ffff800008000000 T _text\n"
		 "ffff800008020000 T _stext\n");
	tap_ok(symklink_running(h, (struct symklink_first){ 0xffffb00008020000, true }) ==
	       0x300000000000, "System.map: _stext");
	put_text("root/boot/System.map-6.1.0-18-x", "ffffffff80600000 T _text\n");
	put_core("OSRELEASE=x\nKERNELOFFSET=1bc00000\nPAGESIZE=4096\n");
	tap_ok(running(h, BASE) == 0x1bc00000, "the kernel itself");
	put_core("OSRELEASE=x\nNO_KERNELOFFSET=1bc00000\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff80600000, "another key");
	put_core("KERNELOFFSET=1bc00000x\n");
	tap_ok(running(h, BASE) == BASE - 0xffffffff80600000, "not a number");
	put_core("KERNELOFFSET=0\n");
	tap_ok(running(h, BASE) == 0, "not moved");
	struct core c = core_of("KERNELOFFSET=0\n");
	c.second.head.n_descsz = 65;
	put("proc/kcore", &c, sizeof(c));
	tap_ok(running(h, BASE) == BASE - 0xffffffff80600000, "a note without end");
	for (size_t n = 0; n < sizeof(c); n += 7) {
		put("proc/kcore", &c, n);
		if (running(h, BASE) != BASE - 0xffffffff80600000)
			tap_ok(false, "cut after %zu bytes", n);
	}
	tap_ok(true, "cut at many places");
}

int main(void)
{
	static const char *const folders[] = { "proc", "proc/sys", "proc/sys/kernel", "root",
					       "root/boot" };
	char root[256], proc[256], command[96];
	struct host h;
	struct err e;
	test_guess();
	if (!mkdtemp(machine))
		return 1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdir(path_of(folders[i]), 0700);
	snprintf(root, sizeof(root), "%s", path_of("root"));
	snprintf(proc, sizeof(proc), "%s", path_of("proc"));
	if (host_open(&h, root, proc, NULL, &e) < 0)
		return 1;
	test_machine(&h);
	host_close(&h);
	snprintf(command, sizeof(command), "rm -rf %s", machine);
	tap_int(system(command), 0, "clean");
	return tap_done();
}
