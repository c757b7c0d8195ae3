/* Code objects by address and by instruction, and addresses that are used again. */

#include "interp/pycodes.h"

#include "agg/vfuncs.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/pymemory.h"

#include <stdlib.h>

#define SECOND_NS 1000000000u

static struct pymemory memory;
static int n_reads;

static long count_reads(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	n_reads++;
	return gomemory_read(ctx, local, n_local, remote, n_remote);
}

static const struct runtime_memory from = { count_reads, &memory.memory };
static struct runtime_pages pages;
static struct vfuncs vfuncs;
static struct pycodes codes;
static struct python_layout layout;

static void start(unsigned int minor)
{
	pycodes_done(&codes);
	runtime_pages_done(&pages);
	python_layout_of(minor, &layout);
	pymemory_init(&memory, &layout);
	runtime_pages_init(&pages, &from, 100000);
	codes = (struct pycodes){
		.pages = &pages, .layout = &layout, .vfuncs = &vfuncs,
		.code_type = PYMEMORY_CODE_TYPE, .bytes_type = PYMEMORY_BYTES_TYPE, .now_ns = 1,
	};
}

/* Another object takes its place, with another name. */
static void replace(uint64_t at)
{
	gomemory_word(&memory.memory, at + layout.code_qualname,
		      pymemory_text(&memory, "other", 5, 1, true));
	runtime_pages_forget(&pages);
}

static const char *file_of(uint32_t code)
{
	uint32_t line;
	const struct vfunc *f = code == PYCODES_NONE ? NULL :
		vfuncs_at(&vfuncs, vfuncs_vaddr(codes.v.v[code].function, 0), &line);
	return f ? strtab_get(&vfuncs.strings, f->file) : "";
}

/* Its file's name comes to a page that was read before. */
static void check_young(void)
{
	static const uint8_t table[] = { 0, 0 };
	uint64_t before;
	start(11);
	runtime_pages_read(&pages, memory.next, &before, sizeof(before));
	uint64_t file = pymemory_text(&memory, "/srv/b.py", 9, 1, true);
	memory.next = (memory.next / RUNTIME_PAGE_BYTES + 1) * RUNTIME_PAGE_BYTES;
	uint64_t young = pymemory_code(&memory, "young", 1, table, 2);
	gomemory_word(&memory.memory, young + layout.code_file, file);
	uint32_t code = pycodes_at(&codes, young);
	runtime_pages_forget(&pages);
	codes.now_ns++;
	tap_ok(pycodes_at(&codes, young) == code && strcmp(file_of(code), "/srv/b.py") == 0,
		"an object that was made since a page was read");
}

/* A dictionary of names, with the type of code objects among its values. */
static void check_false(void)
{
	start(11);
	uint64_t name = pymemory_text(&memory, "CODE_TYPE", 9, 1, true);
	uint64_t at = pymemory_room(&memory, 4096);
	for (uint64_t i = 0; i < 40; i++)
		gomemory_word(&memory.memory, at + 8 * i, name);
	gomemory_word(&memory.memory, at + PYTHON_TYPE_OFF, PYMEMORY_CODE_TYPE);
	gomemory_word(&memory.memory, at + PYTHON_SIZE_OFF, 10000000);
	tap_int(pycodes_of(&codes, at + 2000, INTERP_SEARCH_LIKELY), PYCODES_NONE,
		"memory that looks like an object");
	uint32_t code = pycodes_at(&codes, at);
	tap_ok(code == PYCODES_NONE || codes.v.v[code].function == VFUNCS_NONE,
	       "it is no function");
}

/* An address of some other object, a long way after the nearest code object. */
static void check_far(void)
{
	start(11);
	uint64_t at = pymemory_room(&memory, 20 * RUNTIME_PAGE_BYTES);
	n_reads = 0;
	tap_int(pycodes_of(&codes, at + 16 * RUNTIME_PAGE_BYTES, INTERP_SEARCH_NEW), PYCODES_NONE,
		"an object that is no code");
	tap_int(n_reads, 2, "the memory before it is read at once");
}

/* Objects of one page are compared in the same drain, however different their ages are. */
static void check_together(void)
{
	static const uint8_t table[] = { 0, 0 };
	start(11);
	uint64_t one = pymemory_code(&memory, "one", 1, table, 2);
	uint64_t two = pymemory_code(&memory, "two", 5, table, 2);
	uint32_t a = pycodes_at(&codes, one);
	codes.now_ns = UINT64_C(10) * SECOND_NS - 20;
	pycodes_at(&codes, one);
	pycodes_at(&codes, two);
	runtime_pages_forget(&pages);
	n_reads = 0;
	codes.now_ns += 10;
	pycodes_at(&codes, one);
	tap_int(n_reads, 0, "an old object is not compared twice in a period");
	codes.now_ns += 10;
	pycodes_at(&codes, one);
	tap_int(n_reads, 1, "in the next one it is, although little time has passed");
	pycodes_at(&codes, two);
	tap_int(n_reads, 1, "with the others of its page");
	replace(one);
	uint64_t first = one + layout.code_start;
	tap_ok(pycodes_of(&codes, first, INTERP_SEARCH_KNOWN) == a, "an object that is trusted");
	codes.now_ns += SECOND_NS;
	uint32_t b = pycodes_at(&codes, one);
	tap_ok(b != a && pycodes_of(&codes, first, INTERP_SEARCH_KNOWN) == b,
	       "its successor, by its instructions");
}

/* Objects of many pages, as large programs have them, that are used in each period. */
static void check_apart(void)
{
	static const uint8_t table[] = { 0, 0 };
	uint64_t at[20];
	uint32_t id[20], n_same = 0;
	start(11);
	codes.now_ns = SECOND_NS;
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t begin = pymemory_room(&memory, 16) + 16;
		/* each at the beginning of a page */
		pymemory_room(&memory, RUNTIME_PAGE_BYTES - begin % RUNTIME_PAGE_BYTES);
		at[i] = pymemory_code(&memory, "apart", i, table, 2);
		id[i] = pycodes_at(&codes, at[i]);
	}
	codes.now_ns = UINT64_C(10) * SECOND_NS;
	for (uint32_t i = 0; i < 20; i++)
		pycodes_at(&codes, at[i]);
	runtime_pages_forget(&pages);
	codes.now_ns += SECOND_NS;
	n_reads = 0;
	for (uint32_t i = 0; i < 20; i++)
		n_same += pycodes_at(&codes, at[i]) == id[i];
	tap_ok(n_same == 20 && id[19] != PYCODES_NONE, "objects of many pages are still the same");
	tap_int(n_reads, 2, "they are compared in two reads");
	replace(at[3]);
	runtime_pages_forget(&pages);
	codes.now_ns += SECOND_NS;
	pycodes_at(&codes, at[0]);
	n_reads = 0;
	tap_ok(pycodes_at(&codes, at[3]) != id[3] && pycodes_at(&codes, at[4]) == id[4],
	       "one of them is another one now");
	runtime_pages_forget(&pages);
	codes.now_ns += SECOND_NS;
	pycodes_at(&codes, at[0]);
	n_reads = 0;
	pycodes_at(&codes, at[9]);
	tap_int(n_reads, 1, "those that the last period has not used are not read");
}

/* A module's object is freed when the module has been executed, however long that takes. */
static void check_module(void)
{
	static const uint8_t table[] = { 0, 0 };
	start(11);
	uint64_t at = pymemory_code(&memory, "<module>", 1, table, 2);
	uint32_t code = pycodes_at(&codes, at);
	codes.now_ns += SECOND_NS;
	runtime_pages_forget(&pages);
	tap_ok(pycodes_at(&codes, at) == code, "a module that is still executed");
	codes.now_ns++;
	replace(at);
	tap_ok(pycodes_at(&codes, at) != code, "another object where it was, just afterwards");
}

int main(void)
{
	static const uint8_t table[] = { 0, 0 };
	vfuncs_init(&vfuncs, NULL);
	start(11);
	uint64_t one = pymemory_code(&memory, "one", 1, table, 2);
	uint64_t two = pymemory_code(&memory, "two", 5, table, 2);
	uint64_t first = one + layout.code_start;
	tap_int(pycodes_of(&codes, first + 2, INTERP_SEARCH_KNOWN), PYCODES_NONE, "not met yet");
	uint32_t a = pycodes_of(&codes, first + 2, INTERP_SEARCH_NEW);
	tap_ok(a != PYCODES_NONE && codes.v.v[a].at == one, "found by an instruction");
	tap_ok(pycodes_of(&codes, first, INTERP_SEARCH_KNOWN) == a &&
	       pycodes_of(&codes, first + 40, INTERP_SEARCH_KNOWN) == a,
	       "from the first instruction to the end of the last one");
	tap_ok(pycodes_of(&codes, first + 42, INTERP_SEARCH_NEW) == PYCODES_NONE &&
	       pycodes_of(&codes, first + 3, INTERP_SEARCH_NEW) == PYCODES_NONE &&
	       pycodes_of(&codes, 0x1234, INTERP_SEARCH_NEW) == PYCODES_NONE &&
	       pycodes_of(&codes, UINT64_MAX - 1, INTERP_SEARCH_NEW) == PYCODES_NONE,
	       "other addresses");
	uint64_t other = two + layout.code_start + 2;
	pycodes_of(&codes, other + 100, INTERP_SEARCH_NEW);
	tap_int(pycodes_of(&codes, other, INTERP_SEARCH_NEW), PYCODES_NONE,
		"not searched for beside a value that was no instruction");
	tap_ok(pycodes_of(&codes, other, INTERP_SEARCH_LIKELY) != PYCODES_NONE,
	       "but if it is likely to be one");
	uint32_t b = pycodes_at(&codes, two);
	tap_ok(b != PYCODES_NONE && b != a && pycodes_at(&codes, one) == a, "by address");
	tap_int(pycodes_at(&codes, one + 8), PYCODES_NONE, "no code object");

	replace(one);
	codes.now_ns = 2;
	uint32_t c = pycodes_at(&codes, one);
	tap_ok(c != a && c != PYCODES_NONE &&
	       pycodes_of(&codes, first + 2, INTERP_SEARCH_KNOWN) == c,
	       "another object at the same address");
	codes.now_ns = SECOND_NS;
	pycodes_at(&codes, one);
	replace(one);
	codes.now_ns += SECOND_NS / 8;
	tap_int(pycodes_at(&codes, one), c, "an old object is compared seldom");
	codes.now_ns += SECOND_NS;
	tap_ok(pycodes_at(&codes, one) != c, "but it is");
	codes.now_ns = 0;
	replace(two);
	tap_ok(pycodes_at(&codes, two) != b, "without a time: each time");

	start(10);
	one = pymemory_code(&memory, "one", 1, table, 2);
	two = pymemory_code(&memory, "two", 5, table, 2);
	uint64_t shared;
	runtime_pages_read(&pages, one + layout.code_start, &shared, sizeof(shared));
	gomemory_word(&memory.memory, two + layout.code_start, shared);
	runtime_pages_forget(&pages);
	a = pycodes_at(&codes, one);
	b = pycodes_at(&codes, two);
	tap_ok(codes.v.v[a].start == codes.v.v[b].start &&
	       pycodes_of(&codes, codes.v.v[a].start, INTERP_SEARCH_KNOWN) == b,
	       "instructions that two functions share");
	uint32_t epoch = codes.epoch;
	pycodes_limit(&codes);
	tap_int(codes.epoch, epoch, "few objects stay");
	check_false();
	check_far();
	check_together();
	check_apart();
	check_module();
	check_young();
	pycodes_done(&codes);
	runtime_pages_done(&pages);
	vfuncs_done(&vfuncs);
	return tap_done();
}
