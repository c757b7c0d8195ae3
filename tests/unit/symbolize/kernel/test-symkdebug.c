#include "tap.h"

#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strtab.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/jit/jitcode.h"
#include "symbolize/kernel/symkdebug.h"
#include "symbolize/kernel/symkernel.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A machine made of folders.  fixtures.sh has compiled a "vmlinux" and its module; /proc and /sys
 * are written here, and describe a kernel moved by KASLR and the place of the module.
 */

#define KASLR 0xffffffff80000000
#define MODULE_TEXT 0xffffffffc0401000
#define MODULE_OTHER 0xffffffffc0509000
#define VMLINUX "usr/lib/debug/boot/vmlinux-1.2.3"
#define MODULE "usr/lib/debug/lib/modules/1.2.3/extra/cprof-fixture.ko"

static const uint8_t kernel_id[20] = {
	0x44, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0x00, 0xaa, 0xbb,
	0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
};
static const uint8_t module_id[20] = {
	0x55, 0x55, 0x66, 0x77, 0x88, 0x99, 0x00, 0x11, 0xaa, 0xbb,
	0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
};

static char fixtures[PATH_MAX], machine[] = "/tmp/test-symkdebug-XXXXXX";
static char told[8192];

static void keep_line(void *ctx, enum log_level level, const char *text)
{
	size_t n = strlen(told);
	snprintf(told + n, sizeof(told) - n, "%s%s\n", level == LOG_WARN ? "warning: " : "", text);
}

static void __attribute__((format(printf, 2, 3))) put(const char *name, const char *fmt, ...)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", machine, name);
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	va_list ap;
	va_start(ap, fmt);
	if (!f || vfprintf(f, fmt, ap) < 0 || fclose(f))
		tap_ok(false, "cannot write %s", path);
	va_end(ap);
}

static void put_id(const char *name, const uint8_t id[20])
{
	char path[PATH_MAX];
	const uint32_t head[4] = { 4, 20, 3, 0x00554e47 };   /* a note of "GNU" */
	put(name, "%s", "");
	snprintf(path, sizeof(path), "%s/%s", machine, name);
	FILE *f = fopen(path, "w");
	if (!f || fwrite(head, sizeof(head), 1, f) != 1 || fwrite(id, 20, 1, f) != 1 || fclose(f))
		tap_ok(false, "cannot write %s", path);
}

/* The address of that symbol in the fixture's file; in its section if relocatable. */
static uint64_t symbol(const char *file, const char *name)
{
	char path[PATH_MAX + 64];
	uint64_t found = 0;
	snprintf(path, sizeof(path), "%s/kernel/%s", fixtures, file);
	elf_version(EV_CURRENT);
	int fd = open(path, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		for (int i = 0; gelf_getsym(data, i, &sym); i++)
			if (strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), name) == 0)
				found = sym.st_value;
	}
	elf_end(elf);
	close(fd);
	return found;
}

/* The line of "MARK-mark" in the fixture's source. */
static int line_of(const char *mark)
{
	char path[PATH_MAX], text[512], wanted[64];
	const char *root = getenv("CPROF_SOURCE_ROOT");
	snprintf(path, sizeof(path), "%s/tests/unit/symbolize/fixture-kernel.c", root ? root : ".");
	snprintf(wanted, sizeof(wanted), "MARK-%s ", mark);
	FILE *f = fopen(path, "r");
	int line = 0, found = -1;
	while (f && found < 0 && fgets(text, sizeof(text), f)) {
		line++;
		if (strstr(text, wanted))
			found = line;
	}
	if (f)
		fclose(f);
	return found;
}

static void make_machine(void)
{
	put("proc/sys/kernel/osrelease", "1.2.3\n");
	put_id("sys/kernel/notes", kernel_id);
	put_id("sys/module/cprof_fixture/notes/.note.gnu.build-id", module_id);
	put("sys/module/cprof_fixture/sections/.text", "0x%016llx\n",
	    (unsigned long long)MODULE_TEXT);
	put("proc/modules", "cprof_fixture 16384 0 - Live 0x%llx (OE)\n",
	    (unsigned long long)MODULE_TEXT);
	FILE *f = NULL;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/kallsyms", machine);
	f = fopen(path, "w");
	static const char *const name[] = { "kernel_outer", "asm_entry", "_stext", "_etext" };
	for (size_t i = 0; f && i < 4; i++)
		fprintf(f, "%016" PRIx64 " T %s\n", symbol(VMLINUX, name[i]) + KASLR, name[i]);
	fprintf(f, "%016" PRIx64 " t module_outer\t[cprof_fixture]\n",
		symbol(MODULE, "module_outer") + MODULE_TEXT);
	/* That section is not in /sys. */
	fprintf(f, "%016" PRIx64 " t module_other\t[cprof_fixture]\n",
		symbol(MODULE, "module_other") + MODULE_OTHER);
	fclose(f);
}

struct asked {
	const char *file;              /* --kernel-debug=FILE */
	const uint8_t *build_id;       /* of the kernel that ran */
	bool is_foreign;               /* an import from another machine */
	uint64_t end_off_by;           /* of _etext */
	const struct jitcode *code;
	const char *no_folder;         /* host's root, where no debug files are */
};

/* "innermost@9 < middle@14 < outer@20" */
static const char *chain(const struct asked *a, uint64_t address)
{
	static const struct log log = { keep_line, NULL, LOG_EXPLAIN };
	static char text[1024];
	char root[PATH_MAX + 8], proc[64], sys[64];
	struct host host;
	struct err e = { 0 };
	struct symkernel *k = NULL;
	uint64_t start, end;
	snprintf(root, sizeof(root), "%s/kernel", fixtures);
	snprintf(proc, sizeof(proc), "%s/proc", machine);
	snprintf(sys, sizeof(sys), "%s/sys", machine);
	if (host_open(&host, a->no_folder ? a->no_folder : root, proc, sys, &e) < 0 ||
	    symkernel_open(&host, &k, &e) < 0) {
		tap_ok(false, "%s", e.what);
		return "";
	}
	symkernel_text(k, &start, &end);
	struct symkdebug_kernel debug = {
		.file = a->file, .release = "1.2.3", .build_id = a->build_id, .n_build_id = 20,
		.anchor = { { "_stext", start }, { "_etext", end + a->end_off_by } },
		.n_anchors = a->is_foreign ? 1 : 2, .symbols = a->is_foreign ? NULL : k,
	};
	struct symbolizer_options o = {
		.host = &host, .log = &log, .kernel_debug = &debug, .kernel_code = a->code,
		.kernel = a->is_foreign ? NULL : k,
	};
	struct symlines lines = { 0 };
	struct strtab strings;
	struct symbolizer_has has;
	struct symaddr addr = { .vaddr = address };
	struct dso_table table;
	strtab_init(&strings, NULL);
	dso_table_init(&table, NULL);
	struct dso *d = dso_table_add(&table, &(struct dso_key){ .kind = DSO_KERNEL },
				      "[kernel.kallsyms]");
	*told = '\0';
	tap_int(symbolizer_resolve(&o, d, &addr, 1, &lines, &strings, &has), 0, "resolved");
	tap_ok(addr.vaddr == address, "the address is unchanged");
	size_t n = 0;
	*text = '\0';
	for (uint32_t i = 0; i < addr.n_lines; i++) {
		const struct symline *l = &lines.v[addr.first_line + i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s@%u", i ? " < " : "",
				      strtab_get(&strings, l->name), l->line);
	}
	free(lines.v);
	strtab_done(&strings);
	dso_table_done(&table);
	symkernel_close(k);
	host_close(&host);
	return text;
}

static const char *wanted(const char *outer_mark, const char *outer)
{
	static char text[256];
	snprintf(text, sizeof(text), "innermost@%d < middle@%d < %s@%d", line_of("inner"),
		 line_of("middle"), outer, line_of(outer_mark));
	return text;
}

static void test_kernel(void)
{
	struct asked a = { .build_id = kernel_id };
	uint64_t inner = symbol(VMLINUX, "mark_inner") + KASLR;
	tap_ok(inner > KASLR, "the fixture has its marks");
	tap_str(chain(&a, inner), wanted("kernel-outer", "kernel_outer"),
		"the kernel proper: inlined calls and lines");
	tap_ok(strstr(told, "debug information of '[kernel.kallsyms]' from "
			    "/usr/lib/debug/boot/vmlinux-1.2.3") != NULL, "-v prints the file");
	uint64_t entry = symbol(VMLINUX, "asm_entry") + KASLR + 4;
	tap_ok(strncmp(chain(&a, entry), "asm_entry@", 10) == 0, "assembler code, by kallsyms");
	a.is_foreign = true;
	tap_str(chain(&a, inner), wanted("kernel-outer", "kernel_outer"),
		"another machine's kernel, by one anchor");
	tap_ok(strncmp(chain(&a, entry), "asm_entry@", 10) == 0,
	       "another machine's assembler: by vmlinux");
	a.is_foreign = false;
	char file[PATH_MAX + 16];
	snprintf(file, sizeof(file), "%s/kernel/vmlinux", fixtures);
	a.file = file;
	a.no_folder = machine;
	tap_str(chain(&a, inner), wanted("kernel-outer", "kernel_outer"),
		"a file that the user named");
	snprintf(file, sizeof(file), "%s/kernel", fixtures);
	tap_str(chain(&a, inner), wanted("kernel-outer", "kernel_outer"),
		"a folder that the user named");
}

static void test_refused(void)
{
	struct asked a = { .build_id = kernel_id };
	uint64_t inner = symbol(VMLINUX, "mark_inner") + KASLR;
	a.no_folder = machine;
	tap_str(chain(&a, inner), "kernel_outer@0", "without vmlinux, by kallsyms");
	tap_ok(strstr(told, "warning: kernel functions of '[kernel.kallsyms]' have no lines") &&
	       strstr(told, "4444556677889900aabbccddeeff001122334455") &&
	       strstr(told, "linux-image-1.2.3-dbg"), "the missing package is reported");
	a.no_folder = NULL;
	a.build_id = module_id;
	tap_str(chain(&a, inner), "kernel_outer@0", "a file with another build id is not used");
	tap_ok(strstr(told, "vmlinux-1.2.3' was not used: its build id differs"),
	       "the reason is reported");
	a.build_id = kernel_id;
	a.end_off_by = 16;
	tap_str(chain(&a, inner), "kernel_outer@0",
		"a vmlinux with text of another length is not used");
	tap_ok(strstr(told, "was not used: its text is not as long") != NULL,
	       "the reason is reported");
	a.end_off_by = 0;
	char file[PATH_MAX + 16];
	snprintf(file, sizeof(file), "%s/by-nobody", fixtures);
	a.file = file;
	tap_str(chain(&a, inner), "kernel_outer@0", "a named file that does not exist");
	tap_ok(strstr(told, "by-nobody' cannot be read") != NULL, "the reason is reported");
	snprintf(file, sizeof(file), "%s/kernel/module.o", fixtures);
	tap_str(chain(&a, inner), "kernel_outer@0", "a named file without build id");
	tap_ok(strstr(told, "module.o' was not used: it has no build id") != NULL,
	       "the reason is reported");
}

static void test_module(void)
{
	struct asked a = { .build_id = kernel_id };
	uint64_t inner = symbol(MODULE, "mark_inner") + MODULE_TEXT;
	uint64_t other = symbol(MODULE, "mark_other") + MODULE_OTHER;
	char text[64];
	tap_str(chain(&a, inner), wanted("module-outer", "module_outer"),
		"a module: inlined calls and lines, its place by /sys/module");
	tap_ok(strstr(told, "debug information of 'cprof_fixture' from "
			    "/usr/lib/debug/lib/modules/1.2.3/extra/cprof-fixture.ko") != NULL,
	       "-v prints the file");
	snprintf(text, sizeof(text), "module_other@%d", line_of("other"));
	tap_str(chain(&a, other), text, "a section that is not in /sys: by kallsyms");

	/* Compressed sections; a folder with modules. */
	char folder[128], from[PATH_MAX + 64], to[256];
	snprintf(folder, sizeof(folder), "%s/named", machine);
	mkdir(folder, 0700);
	snprintf(from, sizeof(from), "%s/kernel/packed_fixture.ko", fixtures);
	snprintf(to, sizeof(to), "%s/cprof_fixture.ko", folder);
	tap_int(symlink(from, to), 0, "a module in a named folder");
	a.file = folder;
	tap_str(chain(&a, inner), wanted("module-outer", "module_outer"), "compressed sections");
	tap_ok(strstr(told, "named/cprof_fixture.ko") != NULL,
	       "the file in the named folder was used");
	a.file = NULL;

	put_id("sys/module/cprof_fixture/notes/.note.gnu.build-id", kernel_id);
	tap_str(chain(&a, inner), "module_outer@0", "a file with another build id is not used");
	tap_ok(strstr(told, "cprof-fixture.ko' was not used: its build id differs"),
	       "and says why");
	put("sys/module/cprof_fixture/notes/.note.gnu.build-id", "%s", "");
	tap_str(chain(&a, inner), "module_outer@0", "without a build id no file is used");
	tap_ok(strstr(told, "build id is unknown") != NULL, "the reason is reported");
}

/* From records: a trampoline of ftrace in the middle of the kernel's text. */
static void test_trampoline(void)
{
	struct asked a = { .build_id = kernel_id };
	struct jitcode code;
	uint64_t *replaced = NULL, at = symbol(VMLINUX, "mark_inner") + KASLR;
	jitcode_init(&code, NULL);
	jitcode_add(&code, &(struct jitcode_entry){
		.start = at - 4, .n_bytes = 64, .from_ns = 5, .name = "ftrace_trampoline",
		.index = PERF_RECORD_KSYMBOL_TYPE_OOL });
	jitcode_settle(&code, &replaced);
	free(replaced);
	a.code = &code;
	tap_str(chain(&a, at), "ftrace_trampoline@0", "names from records come first");
	jitcode_done(&code);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", fixtures, sizeof(fixtures) - 64);
	if (n <= 0)
		return 1;
	fixtures[n] = '\0';
	strcpy(strrchr(fixtures, '/'), "/symbolize/fixtures");
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/kernel/%s", fixtures, VMLINUX);
	if (access(path, R_OK) < 0 || !mkdtemp(machine)) {
		tap_ok(false, "fixtures: %s", path);
		return tap_done();
	}
	make_machine();
	test_kernel();
	test_refused();
	test_trampoline();
	test_module();
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", machine);
	tap_int(system(command), 0, "clean");
	return tap_done();
}
