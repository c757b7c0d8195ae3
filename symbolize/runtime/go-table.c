/*
 * Each function has a stream of (value, length) steps: the number of bytes by which the stack
 * pointer is below its value at the function's start.  On x86-64 the return address is above that
 * value, and below it compiled code saves the caller's frame pointer when it sets up its frame.  On
 * arm64 the link register is saved at the frame's lower end, and the frame pointer below it.  That
 * is below the stack pointer, where nothing may be read: the frame pointer is treated as unchanged.
 *
 * Code that switches stacks (systemstack, mcall, asmcgocall, calls of the vDSO) has the flag
 * SPWRITE, and the table does not describe the new stack.  The number of times that the code before
 * an address loads the stack pointer says which stack it runs on: an odd number means the new one,
 * of which the function is the outermost frame.  The chain of frame pointers leads to its caller,
 * which waits until the other stack is left again (CFI_FLAG_SWITCH).  The callers of mcall and
 * morestack do not wait: they may run elsewhere.
 *
 * All addresses are relative to the start of the code.  Until Go 1.25 it is in the table's header
 * (in a position independent program as a relocation), and since then only in the runtime's
 * moduledata, which has a section of its own, .go.module.  If it is given nowhere, it is the start
 * of .text, provided that .text is as long as the table says and does not begin with C code, as it
 * does where cgo is used.
 */

#include "symbolize/runtime/go-table.h"

#include "base/search.h"

#include "symbolize/cfi/cfi-code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define GO_NO_OFFSET UINT32_MAX
#define GO_STEPS_MAX (1u << 16)
#define GO_NEIGHBOURS_MAX 8192u         /* hardly any package has more functions */
#define GO_TEXT_ROOM_BYTES 4096u        /* linkers fill the end of .text */
#define GO_INJECTED_WORDS 2             /* that hold the link register, arm64 */
#define GO_ID_WRAPPER 21u               /* of Go 1.17 to 1.21 */
#define GO_MODULE_TEXT 22u              /* in words: moduledata.text, since Go 1.18 */

enum go_layout { GO_1_16, GO_1_18, GO_1_20 };

static bool go_get(struct go_table *g, uint64_t off, unsigned int n_bytes, uint64_t *ret)
{
	const uint8_t *p = cfi_section_get(&g->table, off, n_bytes);
	*ret = 0;
	if (p)
		memcpy(ret, p, n_bytes);  /* little endian, as all that is accepted */
	return p != NULL;
}

static uint32_t go_get32(struct go_table *g, uint64_t off)
{
	uint64_t x;
	return go_get(g, off, 4, &x) ? (uint32_t)x : GO_NO_OFFSET;
}

/* ---- opening ------------------------------------------------------------------------ */

/* The word at vaddr after relocation, for a program loaded at 0; 0: no relocation. */
static uint64_t go_relocated(struct cfi_section *rela, uint64_t vaddr)
{
	Elf64_Rela r;
	for (uint64_t off = 0; off + sizeof(r) <= rela->n_bytes; off += sizeof(r)) {
		const uint8_t *p = cfi_section_get(rela, off, sizeof(r));
		if (!p)
			return 0;
		memcpy(&r, p, sizeof(r));
		if (r.r_offset == vaddr)
			return (uint64_t)r.r_addend;
	}
	return 0;
}

static uint64_t go_pc_of(struct go_table *g, uint64_t i)
{
	unsigned int n = g->layout == GO_1_16 ? g->ptr_bytes : 4;
	uint64_t x;
	if (!go_get(g, g->functions_off + i * 2 * n, n, &x))
		return UINT64_MAX;
	return g->layout == GO_1_16 ? x : g->text + x;
}

/* Word i of the section .go.module after relocation; 0: it has none. */
static uint64_t go_module_word(struct cfi_section *module, struct cfi_section *rela, uint64_t i)
{
	uint64_t x = 0;
	const uint8_t *p = cfi_section_get(module, 8 * i, 8);
	if (p)
		memcpy(&x, p, 8);
	return x || !p ? x : go_relocated(rela, module->vaddr + 8 * i);
}

/* Where the code starts by the section .text; 0: unknown. */
static uint64_t go_text_by_section(struct go_table *g)
{
	struct cfi_place text;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	/* the last function is followed by its end */
	uint64_t n = go_pc_of(g, g->n_functions);
	if (!cfi_find_section(g->c, ".text", &text) || n > text.n_bytes ||
	    text.n_bytes - n >= GO_TEXT_ROOM_BYTES)
		return 0;
	/* the C library's start-up code has CFI; Go's code has no .eh_frame */
	if (cfi_find_fde(g->c, text.vaddr, &fde, &off, &is_debug) == CFI_FOUND && !is_debug)
		return 0;
	return text.vaddr;
}

/* module: the section .go.module; rela: relocations of a position independent program. */
static bool go_read_header(struct go_table *g, struct cfi_section *module,
			   struct cfi_section *rela)
{
	uint64_t magic, quantum, ptr, off = 8, word[8] = { 0 };
	if (!go_get(g, 0, 4, &magic) || !go_get(g, 6, 1, &quantum) || !go_get(g, 7, 1, &ptr) ||
	    ptr != 8 || quantum == 0)
		return false;
	g->ptr_bytes = (unsigned int)ptr;
	g->quantum = (unsigned int)quantum;
	switch (magic) {
	case 0xfffffffa: g->layout = GO_1_16; break;
	case 0xfffffff0: g->layout = GO_1_18; break;
	case 0xfffffff1: g->layout = GO_1_20; break;
	default: return false;
	}
	bool has_text = g->layout != GO_1_16;
	for (size_t i = 0; i < (has_text ? 8 : 7); i++, off += ptr)
		if (!go_get(g, off, g->ptr_bytes, &word[i]))
			return false;
	const uint64_t *offsets = word + (has_text ? 3 : 2);
	g->n_functions = word[0];
	g->names_off = offsets[0];
	g->steps_off = offsets[3];
	g->functions_off = offsets[4];
	if (g->functions_off >= g->table.n_bytes || g->n_functions >= g->table.n_bytes / 8 ||
	    g->names_off >= g->table.n_bytes || g->steps_off >= g->table.n_bytes)
		return false;
	if (!has_text)
		return true;
	g->text = word[2] ? word[2] : go_relocated(rela, g->table.vaddr + 8 + 2 * ptr);
	if (!g->text && go_module_word(module, rela, 0) == g->table.vaddr)
		g->text = go_module_word(module, rela, GO_MODULE_TEXT);
	if (!g->text)
		g->text = go_text_by_section(g);
	return g->text != 0;
}

static bool go_find_section(const struct cfi *c, const char *name, const char *other,
			    struct cfi_place *ret)
{
	return cfi_find_section(c, name, ret) || cfi_find_section(c, other, ret);
}

static bool go_open(struct go_table *g)
{
	const struct cfi *c = g->c;
	struct cfi_place place;
	struct cfi_section rela = { .fd = -1 }, module = { .fd = -1 };
	if (!go_find_section(c, ".gopclntab", ".data.rel.ro.gopclntab", &place) ||
	    cfi_open_place(c, &place, &g->table) < 0)
		return false;
	if (cfi_find_section(c, ".go.module", &place))
		cfi_open_place(c, &place, &module);
	if (go_find_section(c, ".rela", ".rela.dyn", &place) && place.type == SHT_RELA) {
		place.vaddr = 0;
		cfi_open_place(c, &place, &rela);
	}
	bool is_open = go_read_header(g, &module, &rela);
	cfi_section_done(&module);
	cfi_section_done(&rela);
	return is_open;
}

struct go_table *go_table_open(struct cfi *c)
{
	struct go_table *g = c->fd >= 0 || c->kept ? calloc(1, sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	g->c = c;
	g->table.fd = -1;
	if (go_open(g))
		return g;
	go_table_close(g);
	return NULL;
}

void go_table_close(struct go_table *g)
{
	if (g)
		cfi_section_done(&g->table);
	free(g);
}

/* ---- functions ------------------------------------------------------------------------- */

bool go_table_function(struct go_table *g, uint64_t i, struct go_table_function *ret)
{
	uint64_t off, last;
	if (i >= g->n_functions)
		return false;
	unsigned int n = g->layout == GO_1_16 ? g->ptr_bytes : 4;
	if (!go_get(g, g->functions_off + i * 2 * n + n, n, &off) || off > g->table.n_bytes)
		return false;
	/* entry, name, args, deferreturn, pcsp, pcfile, pcln, npcdata, cu, [line], id, flag */
	uint64_t at = g->functions_off + off + n;
	if (!go_get(g, at + 32 + (g->layout == GO_1_20 ? 4 : 0), 2, &last))
		return false;
	*ret = (struct go_table_function){
		.start = go_pc_of(g, i), .end = go_pc_of(g, i + 1), .i = i,
		.name_off = go_get32(g, at), .sp_steps = go_get32(g, at + 12),
		.id = (uint8_t)last, .flags = (uint8_t)(last >> 8),
	};
	return ret->start < ret->end;
}

bool go_table_find(struct go_table *g, uint64_t vaddr, struct go_table_function *ret)
{
	uint64_t low = SEARCH_COUNT(g->n_functions, i, go_pc_of(g, i) <= vaddr);
	return low && go_table_function(g, low - 1, ret) && vaddr >= ret->start && vaddr < ret->end;
}

bool go_table_name(struct go_table *g, const struct go_table_function *f, char *buf, size_t n_bytes)
{
	uint64_t byte = 1;
	for (size_t i = 0; i < n_bytes; i++) {
		if (!go_get(g, g->names_off + f->name_off + i, 1, &byte))
			return false;
		buf[i] = (char)byte;
		if (!byte)
			return i > 0;
	}
	return false;
}

/* src/cmd/compile/internal/ir/func.go of Go 1.22 and later: the name says it.  Until then the id
 * does; later versions have this id for other functions of the runtime. */
bool go_table_is_wrapper(struct go_table *g, const struct go_table_function *f)
{
	static const char *const part[] = { ".gowrap", ".deferwrap", "\u00b7dwrap\u00b7" };
	char name[GO_TABLE_NAME_BYTES_MAX];
	if (!go_table_name(g, f, name, sizeof(name)))
		return false;
	if (f->id == GO_ID_WRAPPER)
		return strncmp(name, "runtime.", strlen("runtime.")) != 0;
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		const char *at = strstr(name, part[i]);
		const char *number = at ? at + strlen(part[i]) : "";
		if (*number && strspn(number, "0123456789") == strlen(number))
			return true;
	}
	return false;
}

bool go_table_near(struct go_table *g, const struct go_table_function *f, const char *name,
		   struct go_table_function *ret)
{
	char other[GO_TABLE_NAME_BYTES_MAX];
	for (uint64_t k = 1; k < GO_NEIGHBOURS_MAX; k++) {
		uint64_t i[] = { f->i - k, f->i + k };
		for (int side = 0; side < 2; side++)
			if (go_table_function(g, i[side], ret) &&
			    go_table_name(g, ret, other, sizeof(other)) && !strcmp(other, name))
				return true;
	}
	return false;
}

static bool go_uvarint(struct go_table *g, uint64_t *off, uint32_t *ret)
{
	uint64_t byte;
	*ret = 0;
	for (unsigned int shift = 0; shift < 32 && go_get(g, (*off)++, 1, &byte); shift += 7) {
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The number of bytes by which the stack pointer at vaddr is below that at the function's start;
 * -1: unknown. */
static int32_t go_moved(struct go_table *g, const struct go_table_function *f, uint64_t vaddr)
{
	uint64_t off = g->steps_off + f->sp_steps, pc = f->start;
	uint32_t value = UINT32_MAX, delta, n_pc;
	if (f->sp_steps == 0 || f->sp_steps == GO_NO_OFFSET)
		return -1;
	for (unsigned int i = 0; i < GO_STEPS_MAX; i++) {
		if (!go_uvarint(g, &off, &delta) || (delta == 0 && i) ||
		    !go_uvarint(g, &off, &n_pc))
			return -1;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t)n_pc * g->quantum;
		if (vaddr < pc)
			return (int32_t)value;
	}
	return -1;
}

/* ---- rules --------------------------------------------------------------------------------- */

/* Does a call end before vaddr + 1?  Then vaddr was looked up for a return address. */
static bool go_is_call(const struct go_table *g, uint64_t vaddr)
{
	uint8_t b[ARCH_CALL_BYTES];
	return cfi_read_code(g->c, vaddr + 1 - sizeof(b), b, sizeof(b)) == sizeof(b) &&
	       arch_ends_with_call(g->c->arch, b, sizeof(b));
}

/* Does code at vaddr, in a function that writes the stack pointer, run on the new stack? */
static bool go_is_away(struct go_table *g, const struct go_table_function *f, uint64_t vaddr)
{
	uint8_t b[ARCH_SWITCH_BYTES_MAX];
	size_t n = vaddr - f->start;
	/* before 1.17 there were no flags; compiled code never does it */
	if ((g->layout != GO_1_16 && !(f->flags & GO_TABLE_WRITES_SP)) || n > sizeof(b) ||
	    cfi_read_code(g->c, f->start, b, n) < n)
		return false;
	return g->c->arch->n_sp_loads(b, n) & 1;
}

/* Does the instruction at vaddr save the frame pointer? */
static bool go_saves_fp_next(const struct go_table *g, uint64_t vaddr)
{
	uint8_t b[4];
	return g->c->arch->stores_fp(b, cfi_read_code(g->c, vaddr, b, sizeof(b)));
}

static bool go_begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/*
 * x86-64: C code that was called by Go has called Go.  cgocallback sets up its frame on the
 * goroutine's stack as if it had been called where the goroutine left that stack to call C.  The
 * goroutine pretends to have left it in systemstack_switch, a function that never runs and whose
 * caller is that of asmcgocall.  Returns the number of bytes by which that frame is further out;
 * -1: unknown.
 */
static int32_t go_left(struct go_table *g, const struct go_table_function *f)
{
	struct go_table_function s;
	if (!arch_pushes_ra(g->c->arch) ||
	    (!go_table_near(g, f, "runtime.systemstack_switch", &s) &&
	     !go_table_near(g, f, "runtime.systemstack_switch.abi0", &s)))
		return -1;
	/* since Go 1.21 it has a frame, which is set up in its first 8 bytes */
	int32_t first = go_moved(g, &s, s.start), then = go_moved(g, &s, s.start + 8);
	return first < 0 ? -1 : 8 + (then > first ? then : first);
}

/* Is the function the root of its stack at vaddr?  If not, its caller is *ret_left bytes further
 * out than the table says. */
static bool go_is_root(struct go_table *g, const struct go_table_function *f, uint64_t vaddr,
		       uint8_t *ret_flags, int32_t *ret_left)
{
	char name[GO_TABLE_NAME_BYTES_MAX];
	*ret_flags = 0;
	*ret_left = 0;
	if (!go_table_name(g, f, name, sizeof(name)) || !go_begins(name, "runtime."))
		name[0] = '\0';
	/* called by the kernel: the interrupted function follows */
	if (f->flags & GO_TABLE_TOP)
		return !go_begins(name, "runtime.sigtramp");
	if (!strcmp(name, "runtime.goexit") || !strcmp(name, "runtime.mstart"))
		return true;
	if (go_is_away(g, f, vaddr)) {
		if (go_begins(name, "runtime.cgocallback"))
			return (*ret_left = go_left(g, f)) < 0;
		if (!go_begins(name, "runtime.mcall") && !go_begins(name, "runtime.morestack") &&
		    !go_begins(name, "runtime.gogo"))
			*ret_flags = CFI_FLAG_SWITCH;
		return true;
	}
	/* a new thread starts after the system call with an empty stack */
	return go_begins(name, "runtime.clone") && go_is_call(g, vaddr);
}

/* Signal handlers return to this function.  Its caller is the kernel's signal frame, as its code
 * shows. */
static bool go_is_sigreturn(struct go_table *g, const struct go_table_function *f)
{
	char name[GO_TABLE_NAME_BYTES_MAX];
	return f->flags & GO_TABLE_ASM && go_table_name(g, f, name, sizeof(name)) &&
	       go_begins(name, "runtime.sigreturn");
}

/* Has the runtime put a call of this function onto the stack of one that was interrupted, for
 * asynchronous preemption, or made a fault?  On arm64 its link register is below the call. */
static bool go_is_injected(struct go_table *g, const struct go_table_function *f)
{
	static const char *const injected[] = {
		"runtime.asyncPreempt", "runtime.sigpanic", "runtime.debugCallV2",
	};
	char name[GO_TABLE_NAME_BYTES_MAX];
	if (!go_table_name(g, f, name, sizeof(name)))
		return false;
	char *abi0 = strstr(name, ".abi0");
	if (abi0)
		*abi0 = '\0';
	for (size_t i = 0; i < sizeof(injected) / sizeof(*injected); i++)
		if (strcmp(name, injected[i]) == 0)
			return true;
	return false;
}

bool go_table_rule(struct go_table *g, uint64_t vaddr, struct cfi_rule *ret)
{
	struct go_table_function f;
	uint8_t flags;
	int32_t left;
	if (!go_table_find(g, vaddr, &f))
		return false;
	if (go_is_sigreturn(g, &f)) {
		*ret = (struct cfi_rule){ .kind = CFI_NONE };
		return true;
	}
	if (go_is_root(g, &f, vaddr, &flags, &left)) {
		*ret = (struct cfi_rule){ .kind = CFI_ROOT, .flags = flags };
		return true;
	}
	int32_t moved = go_moved(g, &f, vaddr);
	if (moved < 0 || moved & 7 || moved / 8 >= INT16_MAX - 2)
		return false;
	moved += left;
	bool is_injected = go_is_injected(g, &f);
	int16_t words = (int16_t)(moved / 8);
	if (!arch_pushes_ra(g->c->arch)) {
		*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .cfa_off8 = words,
			.ra_off8 = (int16_t)-words, .flags = words ? 0 : CFI_FLAG_RA_REG };
		if (is_injected && words) {
			ret->cfa_off8 = (int16_t)(words + GO_INJECTED_WORDS);
			ret->ra_off8 = (int16_t)-(words + GO_INJECTED_WORDS);
			ret->flags = CFI_FLAG_INTERRUPTED;
		}
		return true;
	}
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .cfa_off8 = (int16_t)(words + 1),
		.ra_off8 = -1 };
	if (words && !(f.flags & GO_TABLE_ASM) && g->layout != GO_1_16 &&
	    !go_saves_fp_next(g, vaddr)) {
		ret->flags = CFI_FLAG_FP_SAVED;
		ret->fp_off8 = -2;
	}
	if (is_injected)
		ret->flags |= CFI_FLAG_INTERRUPTED;
	return true;
}
