#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include "base/err.h"
#include "base/host.h"
#include "cprof.h"
#include "profile/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * JIT code of the kernel, as KSYMBOL records report it: BPF programs, and out-of-line code:
 * trampolines of ftrace, optimized kprobes.
 */

#ifndef PERF_RECORD_KSYMBOL_TYPE_OOL
#define PERF_RECORD_KSYMBOL_TYPE_OOL 2       /* Linux 5.9 */
#endif

static void feed_ksymbol(struct engine *g, uint16_t type, uint16_t flags, uint64_t vaddr,
			 uint32_t n_bytes, const char *name)
{
	struct record r = feed_record(PERF_RECORD_KSYMBOL, 0, 0, 0);
	r.ksymbol = (struct record_ksymbol){
		.vaddr = vaddr, .n_bytes = n_bytes, .ksym_type = type, .flags = flags,
		.name = name,
	};
	engine_feed(g, &r);
}

/* "name in mapping" of the kernel frame at that address. */
static const char *named(const struct engine *g, const struct names *n, uint64_t vaddr)
{
	static char text[256];
	for (uint32_t i = 0; i < g->frames.n; i++) {
		const struct names_frame *f = &n->frames.v[i];
		if (g->frames.v[i].vaddr != vaddr || !f->n_lines || f->mapping == NAMES_NO_MAPPING)
			continue;
		snprintf(text, sizeof(text), "%s in %s",
			 strtab_get(&g->strings, n->lines.v[f->first_line].name),
			 strtab_get(&g->strings, n->mappings.v[f->mapping].filename));
		return text;
	}
	return "(no such frame)";
}

static void test_kernel_code(void)
{
	static struct engine g;
	const uint64_t trampoline = 0xffffffffc0202000, gone = 0xffffffffc0203000,
		       program = 0xffffffffc0204000, nothing = 0xffffffffc0205000;
	feed_open(&g, 0);
	feed_ksymbol(&g, PERF_RECORD_KSYMBOL_TYPE_OOL, 0, trampoline, 0x100, "ftrace_trampoline");
	feed_ksymbol(&g, PERF_RECORD_KSYMBOL_TYPE_OOL, 0, gone, 0x80, "kprobe_optinsn_page");
	feed_ksymbol(&g, PERF_RECORD_KSYMBOL_TYPE_BPF, 0, program, 0x40, "bpf_prog_1_x");
	feed_comm(&g, 7, 7, "prog", true);
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, trampoline + 0x10, nothing,
					       program + 8, gone + 0x7f, gone + 0x80));
	feed_ksymbol(&g, PERF_RECORD_KSYMBOL_TYPE_OOL, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, gone,
		     0x80, "kprobe_optinsn_page");
	struct names_options o = { 0 };
	struct names n = { 0 };
	struct err e;
	tap_int(names_resolve(&g, &o, &n, &e), 0, "resolved");
	tap_str(named(&g, &n, trampoline + 0x10), "ftrace_trampoline in [kernel.kallsyms]",
		"a trampoline has its name, and belongs to the kernel");
	tap_str(named(&g, &n, gone + 0x7e), "kprobe_optinsn_page in [kernel.kallsyms]",
		"so has one that is gone when names are looked up");
	tap_str(named(&g, &n, program + 7), "bpf_prog_1_x in [bpf]", "a BPF program is [bpf]'s");
	tap_str(named(&g, &n, gone + 0x7f), "kprobe_optinsn_page in [kernel.kallsyms]",
		"a return address after its last call is its own");
	tap_str(named(&g, &n, nothing - 1),
		"[kernel.kallsyms] in [kernel.kallsyms]",
		"code without a record has no name");
	names_done(&n);
	engine_done(&g);
}

/* "address-in-profile name mapping start-limit" of the kernel frame at that address. */
static const char *placed(const struct engine *g, const struct names *n, uint64_t vaddr)
{
	static char text[256];
	for (uint32_t i = 0; i < g->frames.n; i++) {
		const struct names_frame *f = &n->frames.v[i];
		if (g->frames.v[i].vaddr != vaddr || !f->n_lines || f->mapping == NAMES_NO_MAPPING)
			continue;
		const struct names_mapping *m = &n->mappings.v[f->mapping];
		snprintf(text, sizeof(text), "%" PRIx64 " %s %s %" PRIx64 "-%" PRIx64, f->address,
			 strtab_get(&g->strings, n->lines.v[f->first_line].name),
			 strtab_get(&g->strings, m->filename), m->start, m->limit);
		return text;
	}
	return "(no such frame)";
}

static void put(const char *root, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		printf("Bail out! cannot write %s\n", path);
}

/* A kernel that was moved by 0x22a00000. */
static const char kallsyms[] =
	"ffffffffa3a00000 T _text\n"
	"ffffffffa3a00000 T _stext\n"
	"ffffffffa3a00100 T do_it\n"
	"ffffffffa3a01000 T last\n"
	"ffffffffa3a02000 T _etext\n"
	"ffffffffa4c00000 t init_it\n"
	"ffffffffa4c00800 T _einittext\n"
	"ffffffffc0a51040 t ext4_b\t[ext4]\n"
	"ffffffffc0a51010 t ext4_a\t[ext4]\n"
	"ffffffffc0b04000 t bpf_prog_2\t[bpf]\n";
static const uint64_t moved[] = { 0xffffffffa3a00110, 0xffffffffa3a01fff, 0xffffffffa4c00010,
				  0xffffffffc0a51048, 0xffffffffc0b04008, 0xffffffffc0c00000,
				  0xffffffffa3a00104 };

static void feed_moved(struct engine *g)
{
	feed_open(g, 0);
	feed_comm(g, 7, 7, "prog", true);
	feed_sample(g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, moved[0], moved[1] + 1,
					      moved[2] + 1, moved[3] + 1, moved[4] + 1,
					      moved[5] + 1, moved[6] + 1));
}

static bool shows_memory(const struct engine *g, const struct names *n)
{
	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++) {
		uint64_t address = strtoull(placed(g, n, moved[i]), NULL, 16);
		if (address >= 0xffffffffa3a00000)
			return true;
	}
	return false;
}

static void test_running_kernel(void)
{
	static struct engine g;
	char root[] = "/tmp/cprof-test-XXXXXX", command[256];
	struct host host;
	struct names n = { 0 };
	struct err e;
	if (!mkdtemp(root))
		printf("Bail out! no temporary folder\n");
	put(root, "kallsyms", kallsyms);
	put(root, "modules", "ext4 8192 0 - Live 0xffffffffc0a51000\n");
	if (host_open(&host, root, root, root, &e) < 0)
		printf("Bail out! %s\n", e.what);
	struct names_options o = { .symbols = { .host = &host }, .running_kernel = true };
	feed_moved(&g);
	tap_int(names_resolve(&g, &o, &n, &e), 0, "a kernel with randomized addresses: resolved");
	tap_ok(!shows_memory(&g, &n), "no address is in memory");
	tap_str(placed(&g, &n, moved[0]),
		"ffffffff81000110 do_it [kernel.kallsyms] ffffffff81000000-ffffffff81002000",
		"the kernel's text is where it was linked");
	tap_str(placed(&g, &n, moved[6]),
		"ffffffff81000104 do_it [kernel.kallsyms] ffffffff81000000-ffffffff81002000",
		"so is the next frame of the same mapping");
	tap_str(placed(&g, &n, moved[2]),
		"ffffffff82200010 init_it [kernel.kallsyms] 0-ffffffffffffffff",
		"and code after the text");
	tap_str(placed(&g, &n, moved[3]), "48 ext4_b [ext4] 0-ffffffffffffffff",
		"code of a module has its distance from the module's start");
	tap_str(placed(&g, &n, moved[4]), "8 bpf_prog_2 [bpf] 0-ffffffffffffffff",
		"code of a BPF program has its distance from the program's start");
	tap_str(placed(&g, &n, moved[5]),
		"0 [kernel.kallsyms] [kernel.kallsyms] 0-ffffffffffffffff",
		"other code has no address");
	names_done(&n);

	struct cprof_naming naming = { .kernel_addresses = true };
	o.naming = &naming;
	tap_int(names_resolve(&g, &o, &n, &e), 0, "with real addresses: resolved");
	tap_str(placed(&g, &n, moved[0]),
		"ffffffffa3a00110 do_it [kernel.kallsyms] ffffffffa3a00000-ffffffffa3a02000",
		"real addresses: the kernel");
	tap_str(placed(&g, &n, moved[3]), "ffffffffc0a51048 ext4_b [ext4] 0-ffffffffffffffff",
		"real addresses: a module");
	tap_str(placed(&g, &n, moved[5]), "ffffffffc0c00000 [kernel.kallsyms]+0xffffffffc0c00000 "
		"[kernel.kallsyms] 0-ffffffffffffffff", "real addresses: other code");
	names_done(&n);
	host_close(&host);
	snprintf(command, sizeof(command), "rm -r %s", root);
	tap_int(system(command), 0, "removed");
	engine_done(&g);
}

static void test_recorded_kernel(void)
{
	static struct engine g;
	struct names n = { 0 };
	struct err e;
	struct names_kernel_map map[] = {
		{ .start = 0xffffffffa3a00000, .end = 0xffffffffa5000000,
		  .filename = "[kernel.kallsyms]", .symbol = "_text",
		  .symbol_address = 0xffffffffa3a00000 },
		{ .start = 0xffffffffc0a51000, .end = 0xffffffffc0a53000, .filename = "[ext4]",
		  .symbol = "" },
	};
	struct names_options o = { .kernel_map = map, .n_kernel_maps = 2 };
	feed_moved(&g);
	tap_int(names_resolve(&g, &o, &n, &e), 0, "another kernel: resolved");
	tap_ok(!shows_memory(&g, &n), "another kernel: no address is in memory");
	tap_str(placed(&g, &n, moved[0]), "ffffffff81000110 [kernel.kallsyms]+0xffffffff81000110 "
		"[kernel.kallsyms] ffffffff81000000-ffffffff82600000",
		"another kernel: text is where it was linked");
	tap_str(placed(&g, &n, moved[3]), "48 [ext4]+0x48 [ext4] 0-2000",
		"another kernel: a module's addresses start at 0");
	names_done(&n);
	map[0].symbol_address = 0;
	tap_int(names_resolve(&g, &o, &n, &e), 0, "an unknown start: resolved");
	tap_str(placed(&g, &n, moved[0]),
		"0 [kernel.kallsyms] [kernel.kallsyms] 0-ffffffffffffffff",
		"an unknown start: no address");
	names_done(&n);
	engine_done(&g);
}

int main(void)
{
	test_kernel_code();
	test_running_kernel();
	test_recorded_kernel();
	return tap_done();
}
