#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include "profile/names.h"

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
		"[kernel.kallsyms]+0xffffffffc0204fff in [kernel.kallsyms]",
		"code without a record has no name");
	names_done(&n);
	engine_done(&g);
}

int main(void)
{
	test_kernel_code();
	return tap_done();
}
