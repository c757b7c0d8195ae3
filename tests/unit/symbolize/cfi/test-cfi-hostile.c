/*
 * Corrupt CFI in the unwinder: wrong lengths, cycles, offsets outside the section, huge tables,
 * endless programs and expressions.  Each costs bounded work and memory, which is counted, not
 * timed, and each stack ends with a reason.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/tap.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define START 0x1000u                   /* of the function that all frames are in */
#define N_BYTES 0x100000u
#define SP 0x7ffc00001000ull
#define N_WORDS 512u

/* Limits of work and memory: what unwind-slow.h allows for one stack, plus the last entry; the
 * cached rows, the section and its index. */
#define RUN_BYTES_MAX ((1u << 20) + (2u << 17))
#define HELD_BYTES_MAX (64u << 10)

struct bytes {
	uint8_t *v;
	size_t n, cap;
};

static void add(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = 2 * b->n + n + 256;
		b->v = realloc(b->v, b->cap);
		if (!b->v)
			abort();
	}
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

/* A section with one FDE, whose program repeats the bytes op n_times. */
static struct bytes section(bool is_eh, const uint8_t *op, size_t n_op, size_t n_times)
{
	struct cfibuild b = { .vaddr = 0x500000, .is_eh = is_eh };
	struct bytes s = { 0 };
	cfibuild_cie_x86(&b, is_eh ? "zR" : "");
	cfibuild_fde(&b, START, N_BYTES);
	add(&s, b.v, b.n);
	for (size_t i = 0; i < n_times; i++)
		add(&s, op, n_op);
	while (s.n % 8)
		add(&s, "", 1);
	uint32_t len = (uint32_t)(s.n - b.entry - 4), end = 0;
	memcpy(s.v + b.entry, &len, 4);
	if (is_eh)
		add(&s, &end, 4);
	return s;
}

static struct cfi *cfi;

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	(void)ctx;
	*ret = (struct module){ .cfi = cfi, .id = 1 };
	return pc >= START && pc - START < N_BYTES;
}

/* A stack of return addresses, each at a different place in the function. */
static enum unwind_end unwound(const struct bytes *eh, const struct bytes *debug,
			       const struct bytes *hdr, uint64_t *ret_run, size_t *ret_held)
{
	struct cfi_bytes part[3] = { { 0 } };
	const struct bytes *from[3] = { hdr, eh, debug };
	const uint64_t vaddr[3] = { 0x400000, 0x500000, 0 };
	for (int i = 0; i < 3; i++)
		if (from[i])
			part[i] = (struct cfi_bytes){ from[i]->v, from[i]->n, vaddr[i] };
	if (cfi_open_sections(&arch_x86_64, part[0], part[1], part[2], &cfi))
		abort();
	uint64_t stack[N_WORDS];
	for (unsigned int i = 0; i < N_WORDS; i++)
		stack[i] = START + 0x101 + i * 16;
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module };
	struct unwind *u = unwind_new(&o);
	struct unwind_regs regs = { .valid = 1 << 6 | 1 << 7 | 1 << 16 };
	regs.r[7] = SP;
	regs.r[16] = START + 0x10;
	struct unwind_input in = { .regs = &regs, .stack = (const uint8_t *)stack,
		.n_stack_bytes = sizeof(stack), .space = 1 };
	struct unwind_result r;
	if (!u)
		abort();
	unwind_stack(u, &in, NULL, &r);
	*ret_run = cfi->n_bytes_run;
	*ret_held = cfi_bytes_held(cfi);
	unwind_free(u);
	cfi_close(cfi);
	return r.end;
}

/* Frees the sections. */
static void check(const char *name, struct bytes eh, struct bytes debug, struct bytes hdr,
		  enum unwind_end want)
{
	uint64_t n_run;
	size_t n_held, n_all = eh.n + debug.n + hdr.n;
	enum unwind_end end = unwound(eh.n ? &eh : NULL, debug.n ? &debug : NULL,
				      hdr.n ? &hdr : NULL, &n_run, &n_held);
	if (!tap_ok(end == want && n_run <= RUN_BYTES_MAX && n_held <= n_all * 2 + HELD_BYTES_MAX,
		    "%s: %s", name, unwind_end_name(want)))
		printf("# %s, %lu bytes run, %zu held\n", unwind_end_name(end),
		       (unsigned long)n_run, n_held);
	free(eh.v);
	free(debug.v);
	free(hdr.v);
}

static const struct bytes none;

/* ---- programs and expressions ---------------------------------------- */

#define OPS(...) sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ }

static const struct program {
	const char *name;
	enum unwind_end want;
	uint32_t n_times;
	uint8_t n;
	uint8_t op[16];
	enum unwind_end want_debug;     /* in .debug_frame, whose rows are uncached; 0: the same */
} programs[] = {
	{ "a program of 120 KB", UNWIND_BEYOND, 120 << 10, OPS(DW_CFA_nop), UNWIND_BAD_CFI },
	{ "a program of 132 KB", UNWIND_NO_CFI, 132 << 10, OPS(DW_CFA_nop) },
	{ "a location for each byte of code", UNWIND_BAD_CFI, 30000, OPS(DW_CFA_advance_loc | 1) },
	{ "states that are remembered but not restored",
	  UNWIND_BAD_CFI, 30000, OPS(DW_CFA_remember_state) },
	{ "states that were never remembered", UNWIND_BAD_CFI, 1, OPS(DW_CFA_restore_state) },
	{ "locations that go backwards", UNWIND_BEYOND, 1000,
	  OPS(DW_CFA_advance_loc4, 0xff, 0xff, 0xff, 0xff) },
	{ "an unknown instruction", UNWIND_BAD_CFI, 1, OPS(0x3f) },
	/* trailing nops, if any, are its end */
	{ "a number of more than 64 bits", UNWIND_CYCLE, 1,
	  OPS(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	      0x80, 0x80, 0x80, 0x80, 0x80), UNWIND_BAD_CFI },
	{ "a register that does not exist", UNWIND_BAD_CFI, 1, OPS(DW_CFA_def_cfa, 0xff, 0x7f, 8) },
	{ "a CFA below the frame", UNWIND_CYCLE, 1, OPS(DW_CFA_def_cfa_offset_sf, 8) },
	{ "a CFA equal to the stack pointer", UNWIND_CYCLE, 1, OPS(DW_CFA_def_cfa_offset, 0) },
	{ "a CFA on another stack", UNWIND_BAD_SP, 1,
	  OPS(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10) },
	{ "a return address outside the copy", UNWIND_BEYOND, 1,
	  OPS(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x40) },
	{ "an expression that exceeds the program", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_def_cfa_expression, 0xff, 0xff, 0x7f) },
	{ "an endless expression", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_def_cfa_expression, 3, DW_OP_skip, 0xfd, 0xff) },
	{ "an expression with endless pushes", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_def_cfa_expression, 4, DW_OP_lit1, DW_OP_skip, 0xfc, 0xff) },
	{ "an expression that jumps out of itself", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_def_cfa_expression, 3, DW_OP_skip, 0xff, 0x7f) },
	{ "an expression that reads any address", UNWIND_BAD_SP, 1,
	  OPS(DW_CFA_def_cfa_expression, 2, DW_OP_lit1, DW_OP_deref) },
	{ "an expression for the return address that divides by zero", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_expression, 16, 3, DW_OP_lit1, DW_OP_lit0, DW_OP_div) },
	{ "registers saved in each other", UNWIND_BAD_CFI, 1,
	  OPS(DW_CFA_register, 3, 12, DW_CFA_register, 12, 3, DW_CFA_register, 16, 3) },
};

static void try_programs(void)
{
	char name[128];
	for (size_t i = 0; i < 2 * sizeof(programs) / sizeof(*programs); i++) {
		const struct program *p = &programs[i / 2];
		bool is_eh = i % 2 == 0;
		struct bytes s = section(is_eh, p->op, p->n, p->n_times);
		snprintf(name, sizeof(name), "%s, %s", p->name,
			 is_eh ? ".eh_frame" : ".debug_frame");
		check(name, is_eh ? s : none, is_eh ? none : s, none,
		      !is_eh && p->want_debug ? p->want_debug : p->want);
	}
}

/* ---- entries ---------------------------------------- */

/* A valid section with 4 or 8 bytes overwritten, at off in its FDE or after it. */
static struct bytes damaged(bool is_eh, size_t off, uint64_t x, size_t n_bytes)
{
	struct bytes s = section(is_eh, (const uint8_t[]){ DW_CFA_nop }, 1, 8);
	struct cfibuild b = { .is_eh = is_eh };
	cfibuild_cie_x86(&b, is_eh ? "zR" : "");
	memcpy(s.v + b.n + off, &x, n_bytes);
	return s;
}

static void try_entries(void)
{
	static const struct {
		const char *name;
		size_t off, n_bytes;
		uint64_t x;
		enum unwind_end want;
	} v[] = {
		{ "an entry longer than its section", 0, 4, 0x7ffffff0, UNWIND_NO_CFI },
		{ "a 64-bit entry longer than its section",
		  0, 8, 0xffffffffffffffff, UNWIND_NO_CFI },
		{ "an entry shorter than its header", 0, 4, 2, UNWIND_NO_CFI },
		{ "a terminator in the middle", 0, 4, 0, UNWIND_NO_CFI },
		{ "an FDE that is its own CIE", 4, 4, 4, UNWIND_NO_CFI },
		{ "a CIE before the section", 4, 4, 0x7fffffff, UNWIND_NO_CFI },
		{ "a CIE in the middle of another entry", 4, 4, 12, UNWIND_NO_CFI },
	};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		check(v[i].name, damaged(true, v[i].off, v[i].x, v[i].n_bytes), none, none,
		      v[i].want);
	check("a CIE outside .debug_frame", none, damaged(false, 4, 0x7fffffff, 4), none,
	      UNWIND_NO_CFI);
	check("a function that covers all addresses",
	      none, damaged(false, 8, 0, 8), none, UNWIND_NO_CFI);
}

/* ---- tables ---------------------------------------- */

static struct bytes table(uint32_t n_told, int32_t start, int32_t fde)
{
	struct bytes h = { 0 };
	const uint8_t head[4] = { 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
		DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	int32_t word[4] = { 0x500000 - 0x400004, (int32_t)n_told, start - 0x400000, fde };
	add(&h, head, sizeof(head));
	add(&h, word, sizeof(word));
	return h;
}

static struct bytes good(void)
{
	return section(true, (const uint8_t[]){ DW_CFA_nop }, 1, 8);
}

static void try_tables(void)
{
	int32_t to_eh = 0x500000 - 0x400000, fde;
	struct cfibuild b = { .is_eh = true };
	cfibuild_cie_x86(&b, "zR");
	fde = to_eh + (int32_t)b.n;
	check("a valid table", good(), none, table(1, START, fde), UNWIND_BEYOND);
	check("a table of 2^32 - 1 entries in 20 bytes", good(), none, table(~0u, START, fde),
	      UNWIND_BEYOND);
	check("a table entry that refers to a CIE",
	      good(), none, table(1, START, to_eh), UNWIND_BAD_CFI);
	check("a table entry that refers to an address before the section", good(), none,
	      table(1, START, to_eh - 0x1000), UNWIND_BAD_CFI);
	check("a table entry that refers to an address after the section", good(), none,
	      table(1, START, to_eh + 0x1000), UNWIND_BAD_CFI);
	check("a table entry that refers to the middle of an entry",
	      good(), none, table(1, START, fde + 5),
	      UNWIND_BAD_CFI);

	/* 200,000 functions at the same address, without a table */
	struct bytes s = { 0 };
	struct cfibuild d = { .is_eh = false };
	cfibuild_cie_x86(&d, "");
	add(&s, d.v, d.n);
	d.n = 0;
	cfibuild_fde(&d, START, N_BYTES);
	cfibuild_end(&d);
	uint64_t cie = 0;
	memcpy(d.v + 4, &cie, 4);
	for (int i = 0; i < 200000; i++)
		add(&s, d.v, d.n);
	check("200,000 functions at one address", none, s, none, UNWIND_BEYOND);
}

/* ---- files ---------------------------------------- */

/* An ELF file of one page with false headers. */
static void check_file(const char *name, const Elf64_Phdr *ph, const Elf64_Shdr *sh,
		       const Elf64_Chdr *ch)
{
	static uint8_t file[4096];
	Elf64_Ehdr h = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = 0x100,
		.e_phentsize = sizeof(*ph), .e_phnum = 1, .e_shoff = 0x400,
		.e_shentsize = sizeof(*sh), .e_shnum = 3, .e_shstrndx = 2 };
	static const char names[] = "\0.debug_frame";
	Elf64_Shdr strings = { .sh_type = SHT_STRTAB, .sh_offset = 0x800,
		.sh_size = sizeof(names) };
	memcpy(h.e_ident, ELFMAG "\2\1\1", 7);
	memset(file, 0, sizeof(file));
	memcpy(file, &h, sizeof(h));
	if (ph)
		memcpy(file + 0x100, ph, sizeof(*ph));
	if (sh)
		memcpy(file + 0x440, sh, sizeof(*sh));
	memcpy(file + 0x480, &strings, sizeof(strings));
	memcpy(file + 0x800, names, sizeof(names));
	if (ch)
		memcpy(file + 0xc00, ch, sizeof(*ch));
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	struct cfi_rule rule = { 0 };
	struct cfi *c;
	if (fd < 0 || write(fd, file, sizeof(file)) != sizeof(file) || cfi_open_file(fd, &c))
		abort();
	cfi_rule_at(c, START, &rule);
	size_t n_held = cfi_bytes_held(c);
	if (!tap_ok((rule.kind == CFI_NONE || rule.kind == CFI_BAD) && n_held <= HELD_BYTES_MAX,
		    "%s", name))
		printf("# kind %d, %zu held\n", rule.kind, n_held);
	cfi_close(c);
	close(fd);
}

static void try_files(void)
{
	Elf64_Phdr ph = { .p_type = PT_GNU_EH_FRAME, .p_offset = 1ull << 62, .p_vaddr = 0x400000,
		.p_filesz = 64, .p_memsz = 64 };
	check_file("an .eh_frame_hdr at an impossible offset", &ph, NULL, NULL);
	ph.p_offset = 0xff0;
	ph.p_filesz = 1ull << 40;
	check_file("a section larger than its file", &ph, NULL, NULL);
	Elf64_Shdr sh = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = ~0ull - 8,
		.sh_size = 64 };
	check_file("a .debug_frame at an impossible offset", NULL, &sh, NULL);
	sh.sh_offset = 0xc00;
	sh.sh_size = 1ull << 40;
	check_file("a section larger than its file", NULL, &sh, NULL);
	sh.sh_size = 0x100;
	sh.sh_flags = SHF_COMPRESSED;
	Elf64_Chdr ch = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1ull << 40, .ch_addralign = 1 };
	check_file("a section that inflates to a terabyte", NULL, &sh, &ch);
	ch.ch_size = 200 << 20;
	check_file("a section that claims more than zlib can compress", NULL, &sh, &ch);
}

int main(void)
{
	try_programs();
	try_entries();
	try_tables();
	try_files();
	return tap_done();
}
