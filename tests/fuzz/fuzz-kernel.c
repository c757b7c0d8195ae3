/*
 * What a machine says about its kernel: kallsyms, modules, notes, the cache of kernel symbols, and
 * the debug files of the kernel and of a module.  The input is parts, each preceded by its length
 * (u16), in the order of enum part; then an offset (u16) and the bytes that overwrite the cache
 * from there.
 *
 * Each address gets at least one line.  The cache, while it is not damaged, has the same symbols as
 * the text.
 */

#include "base/err.h"
#include "base/strtab.h"
#include "symbolize/elf/dso.h"
#include "symbolize/kernel/symkdebug.h"
#include "symbolize/kernel/symkernel.h"
#include "symbolize/name/symbolizer.h"

#include "fuzzhost.h"

#include <stdlib.h>
#include <string.h>

#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef\n"
#define RELEASE "6.1.0"
#define TEXT 0xffffffff81000000
#define MODULE_TEXT 0xffffffffc0401000
#define N_ADDRESSES 24

enum part {
	PART_KALLSYMS, PART_MODULES, PART_NOTES, PART_MODULE_NOTES, PART_MODULES_DEP, PART_SECTION,
	PART_VMLINUX, PART_MODULE, N_PARTS,
};

static const char *const part_name[N_PARTS] = {
	[PART_KALLSYMS] = "proc/kallsyms",
	[PART_MODULES] = "proc/modules",
	[PART_NOTES] = "sys/kernel/notes",
	[PART_MODULE_NOTES] = "sys/module/m/notes/.note.gnu.build-id",
	[PART_MODULES_DEP] = "root/lib/modules/" RELEASE "/modules.dep",
	[PART_SECTION] = "sys/module/m/sections/.text",
	[PART_VMLINUX] = "root/boot/vmlinux-" RELEASE,
	[PART_MODULE] = "root/lib/modules/" RELEASE "/m.ko",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host host;
static char cache_dir[256];

static void make_machine(void)
{
	static const char *const folders[] = {
		"proc", "proc/sys", "proc/sys/kernel", "proc/sys/kernel/random", "sys",
		"sys/kernel", "sys/module", "sys/module/m", "sys/module/m/notes",
		"sys/module/m/sections", "root", "root/boot", "root/lib", "root/lib/modules",
		("root/lib/modules/" RELEASE), "cache",
	};
	if (fuzzdir[0])
		return;
	fuzzdir_make("/dev/shm");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		fuzzdir_folder(folders[i]);
	fuzzdir_put("proc/sys/kernel/random/boot_id", bytes_of(BOOT_ID, strlen(BOOT_ID)));
	snprintf(cache_dir, sizeof(cache_dir), "%s", fuzzdir_path("cache"));
	fuzzhost_open(&host);
}

static size_t choose_addresses(const struct symkernel *k, struct symaddr addr[N_ADDRESSES])
{
	uint64_t start, end;
	symkernel_text(k, &start, &end);
	for (unsigned i = 0; i < N_ADDRESSES; i++)
		addr[i] = (struct symaddr){
			.vaddr = i % 4 == 3 ? MODULE_TEXT + i * 5
			       : i % 4 == 2 && start ? start + (end - start) / N_ADDRESSES * i
			       : TEXT + i * 4 };
	return N_ADDRESSES;
}

static void resolve(struct symkernel *k)
{
	static const char *const dirs[] = { NULL };
	static char path[] = "[kernel.kallsyms]";
	const struct dso kernel = { .key = { .kind = DSO_KERNEL }, .path = path, .fd = -1 };
	uint8_t id[20];
	struct symkdebug_kernel debug = {
		.release = RELEASE, .build_id = id, .symbols = k,
		.n_build_id = symkernel_build_id(&host, id, sizeof(id)),
	};
	uint64_t start, end;
	symkernel_text(k, &start, &end);
	if (start)
		debug.anchor[debug.n_anchors++] = (struct symkdebug_anchor){ "_stext", start };
	if (end)
		debug.anchor[debug.n_anchors++] = (struct symkdebug_anchor){ "_etext", end };
	const struct symbolizer_options o = {
		.host = &host, .kernel = k, .kernel_debug = &debug, .debug_dirs = dirs,
	};
	struct symaddr addr[N_ADDRESSES];
	struct symlines lines = { 0 };
	struct symbolizer_has has;
	struct strtab strings;
	fuzzdir_check(strtab_init(&strings, NULL) == 0);
	size_t n = choose_addresses(k, addr);
	fuzzdir_check(symbolizer_resolve(&o, &kernel, addr, n, &lines, &strings, &has) == 0);
	for (size_t i = 0; i < n; i++) {
		fuzzdir_check(addr[i].n_lines && addr[i].first_line + addr[i].n_lines <= lines.n);
		for (uint32_t l = 0; l < addr[i].n_lines; l++)
			fuzzdir_check(lines.v[addr[i].first_line + l].name);
	}
	free(lines.v);
	strtab_done(&strings);
}

/* The same symbols of the kernel proper? */
static void compare(const struct symkernel *text, const struct symkernel *cache)
{
	uint64_t start, end, starts[2];
	const char *name[2], *module[2];
	symkernel_text(text, &start, &end);
	for (uint64_t i = 0; i < 16 && start < end; i++) {
		uint64_t at = start + (end - start) / 16 * i;
		bool found = symkernel_find(text, at, &name[0], &module[0], &starts[0]);
		if (found && !*module[0])
			fuzzdir_check(symkernel_find(cache, at, &name[1], &module[1], &starts[1]) &&
				      strcmp(name[0], name[1]) == 0 && starts[0] == starts[1]);
	}
}

static void read_cache(const struct symkernel *text, struct bytes over, uint16_t at)
{
	struct symkernel *k;
	char folder[160], from[256];
	snprintf(folder, sizeof(folder), "cache/kallsyms-%.36s", BOOT_ID);
	unlink(fuzzdir_path(folder));
	symkernel_cache_save(text, &host, cache_dir);
	if (symkernel_cache_open(&host, cache_dir, &k) == 0) {
		compare(text, k);
		symkernel_close(k);
	}
	snprintf(from, sizeof(from), "%s", fuzzdir_path(folder));
	int fd = open(from, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	fuzzdir_check(pwrite(fd, over.p, bytes_left(&over), at) == (ssize_t)bytes_left(&over));
	close(fd);
	if (symkernel_cache_open(&host, cache_dir, &k) == 0) {
		resolve(k);
		symkernel_rest(k);
		resolve(k);
		symkernel_close(k);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct symkernel *k;
	struct err e = { 0 };
	uint8_t id[20];
	uint64_t at;
	make_machine();
	for (unsigned i = 0; i < N_PARTS; i++)
		fuzzdir_put(part_name[i], fuzzdir_part(&b));
	if (symkernel_open(&host, &k, &e) < 0) {
		fuzzdir_check(e.what[0]);
		return 0;
	}
	symkernel_base(k, "");
	symkernel_base(k, "m");
	symkernel_address(k, "f", "m", &at);
	fuzzdir_check(symkernel_module_build_id(&host, "m", id, sizeof(id)) <= sizeof(id));
	resolve(k);
	uint16_t over_at = bytes_u16(&b);
	read_cache(k, bytes_of(b.p, bytes_left(&b)), over_at);
	symkernel_close(k);
	return 0;
}
