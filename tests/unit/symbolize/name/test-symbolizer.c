#include "tap.h"

#include "base/host.h"
#include "base/log.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The programs of fixtures.sh, whose sources define the right names, chains and lines.  Addresses
 * come from running them, lines from the MARK comments in their sources.
 */

static char fixtures[PATH_MAX];      /* where fixtures.sh put them */
static char explained[4096];
static bool in_container;            /* the host's root folder is ours, the program's is root/ */

static void keep_line(void *ctx, enum log_level level, const char *text)
{
	snprintf(explained, sizeof(explained), "%s", text);
}

/* The address that the program prints for that mark; 0 if there is none. */
static uint64_t mark_vaddr(const char *program, const char *mark)
{
	char path[PATH_MAX + 64], name[64];
	unsigned long vaddr, found = 0;
	snprintf(path, sizeof(path), "%s/%s.marks", fixtures, program);
	FILE *f = fopen(path, "r");
	while (f && !found && fscanf(f, "%63s %lx", name, &vaddr) == 2)
		if (strcmp(name, mark) == 0)
			found = vaddr;
	if (f)
		fclose(f);
	return found;
}

/* The line of "MARK-mark" in a fixture's source. */
static int mark_line(const char *source, const char *mark)
{
	char path[PATH_MAX], text[512], wanted[64];
	const char *root = getenv("CPROF_SOURCE_ROOT");
	snprintf(path, sizeof(path), "%s/tests/unit/symbolize/%s", root ? root : ".", source);
	snprintf(wanted, sizeof(wanted), "MARK-%s", mark);
	FILE *f = fopen(path, "r");
	size_t n = strlen(wanted);
	int line = 0;
	while (f && fgets(text, sizeof(text), f)) {
		line++;
		const char *at = strstr(text, wanted);
		if (at && strchr(" \n", at[n]) && at[n]) {
			fclose(f);
			return line;
		}
	}
	if (f)
		fclose(f);
	return -1;
}

struct result {
	struct symlines lines;
	struct strtab strings;
	struct symbolizer_has has;
	struct symaddr addr;
};

static void result_done(struct result *r)
{
	free(r->lines.v);
	strtab_done(&r->strings);
}

static const char *name_at(const struct result *r, uint32_t i)
{
	return strtab_get(&r->strings, r->lines.v[r->addr.first_line + i].name);
}

static const char *linkage_at(const struct result *r, uint32_t i)
{
	return strtab_get(&r->strings, r->lines.v[r->addr.first_line + i].linkage);
}

/* Resolves one address of the file at path below fixtures, which the target sees as seen_as. */
static struct result resolve(const char *path, const char *seen_as, uint64_t vaddr,
			     bool no_inlines)
{
	static const struct log log = { keep_line, NULL, LOG_EXPLAIN };
	struct result r = { .addr = { .vaddr = vaddr } };
	struct dso_table table;
	struct host host;
	char file[PATH_MAX + 64], root[PATH_MAX + 8];
	snprintf(file, sizeof(file), "%s/%s", fixtures, path);
	snprintf(root, sizeof(root), "%s/root", fixtures);
	host_open(&host, in_container ? NULL : root, NULL, NULL, NULL);
	strtab_init(&r.strings, NULL);
	dso_table_init(&table, NULL);
	struct dso *d = dso_table_add(&table, &(struct dso_key){ .kind = DSO_ELF }, seen_as);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		dso_set_file(d, fd, file);
	else
		d->open_errno = errno;
	d->root_fd = in_container ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : 0;
	struct symbolizer_options o = { .host = &host, .no_inlines = no_inlines, .log = &log };
	*explained = '\0';
	symbolizer_resolve(&o, d, &r.addr, 1, &r.lines, &r.strings, &r.has);
	if (in_container)
		close(d->root_fd);
	dso_table_done(&table);
	host_close(&host);
	return r;
}

/* "f@12 < main@40": names and lines, innermost first. */
static const char *chain_text(const struct result *r)
{
	static char text[2048];
	size_t n = 0;
	*text = '\0';
	for (uint32_t i = 0; i < r->addr.n_lines; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s@%u", i ? " < " : "",
				      name_at(r, i), r->lines.v[r->addr.first_line + i].line);
	return text;
}

static void is_chain(const char *path, const char *marks_of, const char *mark, const char *want)
{
	struct result r = resolve(path, path, mark_vaddr(marks_of, mark), false);
	tap_str(chain_text(&r), want, mark);
	result_done(&r);
}

static void is_name(const char *program, const char *mark, uint32_t frame, const char *name,
		    const char *linkage)
{
	struct result r = resolve(program, program, mark_vaddr(program, mark), false);
	tap_ok(frame < r.addr.n_lines, "%s has frame %u", mark, frame);
	if (frame < r.addr.n_lines) {
		tap_str(name_at(&r, frame), name, mark);
		tap_str(linkage_at(&r, frame), linkage, mark);
	}
	result_done(&r);
}

/* ---- C --------------------------------------------------------------------- */

static void test_c(void)
{
	char want[512];
	static const char src[] = "fixture-c.c";
	snprintf(want, sizeof(want), "innermost@%d < middle@%d < outer@%d",
		 mark_line(src, "innermost"), mark_line(src, "call-innermost"),
		 mark_line(src, "call-middle"));
	is_chain("c", "c", "innermost", want);
	snprintf(want, sizeof(want), "local_function@%d", mark_line(src, "local"));
	is_chain("c", "c", "local", want);
	snprintf(want, sizeof(want), "global_function@%d", mark_line(src, "global"));
	is_chain("c", "c", "global", want);
	is_name("c", "renamed", 0, "renamed", "assembler_name");

	struct result r = resolve("c", "/opt/c", mark_vaddr("c", "innermost"), false);
	const struct symline *l = &r.lines.v[r.addr.first_line];
	const char *file = strtab_get(&r.strings, l->file);
	tap_ok(file[0] == '/' && strstr(file, "/fixture-c.c"), "file is absolute: %s", file);
	tap_int(l->start_line, mark_line(src, "innermost") - 3,
		"start line of an inlined function");
	tap_int(l[2].start_line, mark_line(src, "call-middle") - 3, "start line of a function");
	tap_ok(l->name == l->linkage, "a C name is its own linkage name");
	tap_ok(r.has.functions && r.has.filenames && r.has.line_numbers && r.has.inline_frames,
	       "has all");
	tap_int(r.addr.source, SYMBOLIZER_DWARF, "named by DWARF");
	tap_ok(strstr(explained, "1 by DWARF; debug information from /opt/c"), "explained: %s",
	       explained);
	result_done(&r);

	r = resolve("c", "/opt/c", mark_vaddr("c", "innermost"), true);
	tap_str(chain_text(&r), "outer@0", "without DWARF, the symbol");
	tap_int(r.addr.source, SYMBOLIZER_SYMTAB, "named by .symtab");
	tap_ok(r.has.functions && !r.has.filenames && !r.has.line_numbers && !r.has.inline_frames,
	       "has functions only");
	result_done(&r);
}

static void test_symbols(void)
{
	is_chain("c", "c", "asm_without_size", "asm_without_size@0");
	is_chain("c", "c", "asm_with_size", "asm_with_size@0");
	struct result r = resolve("c", "/c", mark_vaddr("c", "asm_label"), false);
	tap_str(chain_text(&r), "asm_with_size@0", "a label does not hide the function around it");
	result_done(&r);
	r = resolve("c", "/c", mark_vaddr("c", "asm_with_size") - 1, false);
	tap_str(chain_text(&r), "asm_without_size@0",
		"a symbol without a size extends to the next one");
	result_done(&r);
	uint64_t end = mark_vaddr("c", "asm_code_end");
#ifdef __aarch64__
	uint64_t hidden = end + 4;
#else
	uint64_t hidden = end + 1;
#endif
	char made_up[64];
	snprintf(made_up, sizeof(made_up), "[c]+0x%" PRIx64 "@0", hidden);
	is_chain("c", "c", "asm_code_end", "asm_code_end@0");
	r = resolve("c", "/c", hidden + hidden - end, false);
	tap_str(chain_text(&r), made_up,
		"a symbol without a size does not name a function after it");
	result_done(&r);
	r = resolve("c", "/c", mark_vaddr("c", "strdup_stub"), false);
	tap_str(chain_text(&r), "strdup@plt@0", "linker stub");
	tap_int(r.addr.source, SYMBOLIZER_PLT, "named by its relocation");
	result_done(&r);
	r = resolve("c", "/c", mark_vaddr("c", "strdup_stub") + 11, false);
	tap_str(chain_text(&r), "strdup@plt@0", "within a linker stub");
	result_done(&r);
}

/* ---- C++ and Rust ------------------------------------------------------------ */

static void test_cxx(void)
{
	char want[512];
	static const char src[] = "fixture-cxx.cc";
	if (!mark_vaddr("cxx", "add")) {
		tap_skip("C++ names", "no C++ compiler");
		return;
	}
	snprintf(want, sizeof(want), "shop::Basket<long>::add@%d < shop::Basket<long>::fill@%d",
		 mark_line(src, "add"), mark_line(src, "call-add"));
	is_chain("cxx", "cxx", "add", want);
	is_name("cxx", "add", 0, "shop::Basket<long>::add", "_ZN4shop6BasketIlE3addEl");
	is_name("cxx", "scale", 0, "shop::scale<int, 3>", "_ZN4shop5scaleIiLi3EEET_S1_");
	is_name("cxx", "hidden", 0, "shop::(anonymous namespace)::hidden",
		"_ZN4shop12_GLOBAL__N_16hiddenEi");
	is_name("cxx", "only-here", 0, "shop::only_here", "_ZN4shopL9only_hereEi");
	is_name("cxx", "cost", 0, "shop::Apple::cost", "_ZNK4shop5Apple4costEv");
	is_name("cxx", "lambda", 0, "shop::with_lambda(int)::{lambda(int)#1}::operator()",
		"_ZZN4shop11with_lambdaEiENKUliE_clEi");
	is_name("cxx", "local-class", 0, "shop::with_lambda(int)::Local::work",
		"_ZZN4shop11with_lambdaEiEN5Local4workEi");
}

/* Each wanted name belongs to some address of .text. */
static void test_rust(const char *program, const char *const *wanted)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", fixtures, program);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		tap_skip(program, "no rustc, or one that cannot write that mangling");
		return;
	}
	VEC(struct symaddr) addr = {0};
	struct symlines lines = {0};
	struct symbolizer_has has;
	struct strtab strings;
	struct dso_table table;
	strtab_init(&strings, NULL);
	dso_table_init(&table, NULL);
	struct dso *d = dso_table_add(&table, &(struct dso_key){ .kind = DSO_ELF }, path);
	dso_set_file(d, fd, path);
	uint64_t end = d->segment[0].vaddr + d->segment[0].n_mem_bytes;
	for (uint64_t v = d->segment[0].vaddr; v < end; v += 5) {
		struct symaddr a = { .vaddr = v };
		if (!VEC_PUSH(&addr, a))
			return;
	}
	struct symbolizer_options o = {0};
	tap_int(symbolizer_resolve(&o, d, addr.v, addr.n, &lines, &strings, &has), 0, program);
	for (; *wanted; wanted++) {
		bool found = false;
		for (size_t i = 0; i < lines.n && !found; i++)
			found = strcmp(strtab_get(&strings, lines.v[i].name), *wanted) == 0;
		tap_ok(found, "%s has %s", program, *wanted);
	}
	size_t n_inlined = 0, n_lost = 0;
	for (size_t i = 0; i < addr.n; i++) {
		n_inlined += addr.v[i].n_lines > 1;
		n_lost += addr.v[i].n_lines == 0;
	}
	tap_ok(n_inlined > addr.n / 10, "%s: %zu of %zu in inlined calls", program, n_inlined,
	       addr.n);
	tap_int((long long)n_lost, 0, "each address has a line");
	VEC_FREE(&addr);
	VEC_FREE(&lines);
	dso_table_done(&table);
	strtab_done(&strings);
}

/* ---- separate debug files ------------------------------------------------------ */

static void test_debug_files(void)
{
	static const struct {
		const char *program, *marks_of;
		bool found;
		const char *what;
	} c[] = {
		{ "by-id", "c", true, "by build id" },
		{ "wrong-id", "c", false, "a debug file of another build id is not taken" },
		{ "beside", "c-no-id", true, "by .gnu_debuglink, in the same folder" },
		{ "below", "c-no-id", true, "by .gnu_debuglink, in .debug" },
		{ "global", "c-no-id", true, "by .gnu_debuglink, below /usr/lib/debug" },
		{ "bad-crc", "c-no-id", false, "a debug file of another CRC is not taken" },
		{ "lost", "c-no-id", false, "the debug file is missing" },
		{ "fifo", "c-no-id", false, "a FIFO is not opened" },
		{ "outside", "c-no-id", false, "a link with a slash is not followed" },
	};
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		char path[64], seen_as[64], made_up[96], want[96];
		uint64_t vaddr = mark_vaddr(c[i].marks_of, "local");
		snprintf(path, sizeof(path), "root/opt/app/%s", c[i].program);
		snprintf(seen_as, sizeof(seen_as), "/opt/app/%s", c[i].program);
		snprintf(made_up, sizeof(made_up), "[%s]+0x", c[i].program);
		snprintf(want, sizeof(want), "local_function@%d",
			 mark_line("fixture-c.c", "local"));
		struct result r = resolve(path, seen_as, vaddr, false);
		if (c[i].found)
			tap_str(chain_text(&r), want, c[i].what);
		else
			tap_ok(strncmp(chain_text(&r), made_up, strlen(made_up)) == 0, "%s: %s",
			       c[i].what, chain_text(&r));
		tap_int(r.addr.source, c[i].found ? SYMBOLIZER_DWARF : SYMBOLIZER_NONE, c[i].what);
		tap_ok(r.has.functions == c[i].found, "has functions: %d", c[i].found);
		result_done(&r);
	}
	struct result r = resolve("root/opt/app/wrong-id", "/opt/app/wrong-id",
				  mark_vaddr("c", "local"), false);
	tap_ok(strstr(explained, "no debug information for build id "
		      "ff112233445566778899aabbccddeeff00112233"), "explained: %s", explained);
	result_done(&r);
	r = resolve("root/opt/app/by-id", "/opt/app/by-id", mark_vaddr("c", "local"), false);
	tap_ok(strstr(explained, "from /usr/lib/debug/.build-id/00/112233445566778899aabbccddeeff"
		      "00112233.debug"), "explained: %s", explained);
	result_done(&r);
}

/* Without names, the call frame information still has the start of the function. */
static void test_one_name_per_function(void)
{
	uint64_t vaddr = mark_vaddr("c-no-id", "innermost");
	struct result a = resolve("root/opt/app/lost", "/opt/app/lost", vaddr, false);
	struct result b = resolve("root/opt/app/lost", "/opt/app/lost", vaddr + 1, false);
	tap_str(name_at(&b, 0), name_at(&a, 0), "two addresses of a nameless function");
	result_done(&a);
	result_done(&b);
}

static void test_mini_debug_info(void)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/root/opt/app/mini", fixtures);
	if (access(path, R_OK)) {
		tap_skip(".gnu_debugdata", "no xz");
		return;
	}
	struct result r = resolve("root/opt/app/mini", "/opt/app/mini",
				  mark_vaddr("c-no-id", "local"), false);
	if (r.addr.source == SYMBOLIZER_NONE)
		tap_skip(".gnu_debugdata", "built without liblzma");
	else
		tap_str(chain_text(&r), "local_function@0", "by .gnu_debugdata");
	result_done(&r);
}

/* ---- DSOs that are not ELF files ----------------------------------------- */

static void test_nameless(void)
{
	struct result r = resolve("c.marks", "/usr/lib/libfoo.so", 0x1234, false);
	tap_str(chain_text(&r), "[libfoo.so]+0x1234@0", "not an ELF file");
	tap_ok(strstr(explained, "not a usable ELF file"), "explained: %s", explained);
	tap_ok(!r.has.functions, "a file that is not ELF has no functions");
	result_done(&r);
	r = resolve("missing", "/usr/lib/libfoo.so", 0x1234, false);
	tap_str(chain_text(&r), "[libfoo.so]+0x1234@0", "no file");
	tap_ok(strstr(explained, "could not be opened: No such file"), "explained: %s", explained);
	result_done(&r);
	r = resolve("c", "/opt/c", 0x10, false);
	tap_str(chain_text(&r), "[c]+0x10@0", "an address outside of the code");
	result_done(&r);
}

static void is_kind(enum dso_kind kind, const char *path, uint64_t vaddr, const char *want)
{
	struct result r = { .addr = { .vaddr = vaddr } };
	struct dso d = { .key = { .kind = kind }, .path = (char *)path, .fd = -1 };
	struct symbolizer_options o = {0};
	strtab_init(&r.strings, NULL);
	strtab_add_cstr(&r.strings, "[truncated]");
	tap_int(symbolizer_resolve(&o, &d, &r.addr, 1, &r.lines, &r.strings, &r.has), 0, path);
	tap_str(name_at(&r, 0), want, want);
	tap_ok(!r.has.functions, "has no functions");
	result_done(&r);
}

static void test_kinds(void)
{
	is_kind(DSO_PSEUDO, "[truncated]", 1, "[truncated]");
	is_kind(DSO_PSEUDO, "[truncated]", 99, "[truncated]+0x63");
	is_kind(DSO_ANON, "[jit]", 0x7f0012, "[jit]+0x7f0012");
	is_kind(DSO_ANON, "//anon", 0x7f0012, "[anon]+0x7f0012");
	is_kind(DSO_KERNEL, "[kernel.kallsyms]", 0xffffffff81000010,
		"[kernel.kallsyms]+0xffffffff81000010");
	is_kind(DSO_MODULE, "[ext4]", 0xffffffffc0000010, "[ext4]+0xffffffffc0000010");
	is_kind(DSO_VDSO, "[vdso]", 0x10, "[vdso]+0x10");
	is_kind(DSO_ELF, "", 0x10, "[unknown]+0x10");
}

static void test_batch(void)
{
	struct result r = {0};
	struct symaddr addr[3] = {
		{ .vaddr = 3 }, { .vaddr = 1 }, { .vaddr = 2 },
	};
	struct dso d = { .key = { .kind = DSO_ANON }, .path = (char *)"[jit]", .fd = -1 };
	struct symbolizer_options o = {0};
	strtab_init(&r.strings, NULL);
	tap_int(symbolizer_resolve(&o, &d, addr, 3, &r.lines, &r.strings, &r.has), 0, "batch");
	tap_ok(addr[0].vaddr == 1 && addr[1].vaddr == 2 && addr[2].vaddr == 3,
	       "addresses stay sorted");
	tap_int((long long)r.lines.n, 3, "each address has one line");
	tap_int(symbolizer_resolve(&o, &d, addr, 0, &r.lines, &r.strings, &r.has), 0,
		"no addresses");
	tap_int((long long)r.lines.n, 3, "no lines");
	result_done(&r);
}

int main(void)
{
	static const char *const rust[] = {
		"fixture_rust::main", "fixture_rust::deep::sum", "fixture_rust::twice", NULL,
	};
	static const char *const rust_v0[] = {
		"<fixture_rust::Basket<u64>>::describe", NULL,
	};
	ssize_t n = readlink("/proc/self/exe", fixtures, sizeof(fixtures) - 64);
	if (n <= 0)
		return 1;
	fixtures[n] = '\0';
	strcpy(strrchr(fixtures, '/'), "/symbolize/fixtures");
	test_c();
	test_symbols();
	test_cxx();
	test_rust("rust", rust);
	test_rust("rust-v0", rust);
	test_rust("rust-v0", rust_v0);
	test_debug_files();
	in_container = true;
	test_debug_files();
	in_container = false;
	test_one_name_per_function();
	test_mini_debug_info();
	test_nameless();
	test_kinds();
	test_batch();
	return tap_done();
}
