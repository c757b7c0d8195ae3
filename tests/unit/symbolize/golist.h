#ifndef CPROF_TESTS_GOLIST_H
#define CPROF_TESTS_GOLIST_H

/*
 * A Go program with a list of goroutines, in a file and in memory: runtime.allgadd refers to the
 * list, which has the layout of Go 1.27.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-places.h"
#include "symbolize/runtime/go-table.h"
#include "tests/unit/symbolize/gomemory.h"
#include "tests/unit/symbolize/goprogram.h"

#include <stdlib.h>

enum {
	GOLIST_ALLGS = GOMEMORY_DATA + 0x400,
	GOLIST_ALLGADD = GOCODE_TEXT + 0x20,
	GOLIST_MAIN = GOCODE_TEXT + 0x60,
	GOLIST_REASONS = GOMEMORY_DATA + 0x800,
	GOLIST_N = 40,
};
#define GOLIST_SLICE GOMEMORY_HEAP
#define GOLIST_G(i) (GOMEMORY_HEAP + 0x1000u + 0x200u * (i))
#define GOLIST_STACK(i) (0xc100000000u + 0x1000u * (i))

struct golist {
	struct gomemory memory;
	struct runtime_memory from;
	struct goprogram program;
	uint8_t code[sizeof(goprogram_code)], info[64];
	Elf64_Sym symbol[3];
	struct cfi *cfi;
	struct go_table *table;
	struct go_places places;
};

#define GOLIST_SYMBOLS 1u               /* the program is not stripped */
#define GOLIST_NO_CODE 2u               /* it has no runtime.allgadd */
#define GOLIST_ARM64 4u

/* The number of words from the start of the code, in the instructions of runtime.allgadd. */
static inline void golist_put_code(struct golist *l, bool is_arm64)
{
	static const uint8_t x86[] = { 0x90, 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3 };
	uint8_t *to = l->code + (GOLIST_ALLGADD - GOCODE_TEXT);
	memset(to, 0, 0x20);
	if (is_arm64) {
		uint32_t pages = (GOLIST_ALLGS >> 12) - (GOLIST_ALLGADD >> 12);
		const uint32_t arm[] = {
			0x90000000u | (pages & 3) << 29 | pages >> 2 << 5 | 27,   /* adrp x27 */
			0xf9400000u | (GOLIST_ALLGS & 0xfff) / 8 << 10 | 27 << 5, /* ldr x0 */
			0xd65f03c0u,
		};
		memcpy(to, arm, sizeof(arm));
		return;
	}
	int32_t disp = (int32_t)GOLIST_ALLGS - (GOLIST_ALLGADD + 8);
	memcpy(to, x86, sizeof(x86));
	memcpy(to + 4, &disp, sizeof(disp));
}

static inline void golist_put_goroutine(struct golist *l, unsigned int i, uint32_t status)
{
	const struct go_layout *o = go_layout_known(0);
	uint64_t at = GOLIST_G(i);
	gomemory_word(&l->memory, GOLIST_SLICE + 8 * i, at);
	gomemory_word(&l->memory, at, GOLIST_STACK(i));
	gomemory_word(&l->memory, at + 8, GOLIST_STACK(i) + 0x800);
	gomemory_word(&l->memory, at + o->sched, GOLIST_STACK(i) + 0x700);
	gomemory_word(&l->memory, at + o->sched + 8, GOPROGRAM_OUTER_RA);
	gomemory_word(&l->memory, at + o->status, status);
	gomemory_word(&l->memory, at + o->goid, i + 1);
	gomemory_word(&l->memory, at + o->go_pc, GOPROGRAM_OUTER_RA);
	gomemory_word(&l->memory, at + o->start_pc, i ? GOPROGRAM_OUTER : GOLIST_MAIN);
}

static inline void golist_put_reasons(struct golist *l)
{
	static const char *const text[] = { "", "GC assist marking", "chan receive" };
	for (unsigned int i = 0; i < 3; i++)
		gomemory_string(&l->memory, GOLIST_REASONS + 16 * i,
				GOMEMORY_HEAP + 0x18000 + 64 * i, text[i]);
}

/* version: "go1.27.3".  False: no memory. */
static inline bool golist_open(struct golist *l, const char *version, unsigned int flags)
{
	static const char strings[] = "\0runtime.allgs\0runtime.waitReasonStrings";
	bool has_symbols = flags & GOLIST_SYMBOLS;
	const char *names[GOPROGRAM_FUNCTIONS] = {
		"runtime.goexit", flags & GOLIST_NO_CODE ? "runtime.other" : "runtime.allgadd",
		"runtime.worker", "runtime.main", "main.outer",
	};
	memset(l, 0, sizeof(*l));
	goprogram_make_as(&l->program, GOPROGRAM_1_20, false, names);
	memcpy(l->code, goprogram_code, sizeof(l->code));
	golist_put_code(l, flags & GOLIST_ARM64);
	memcpy(l->info, "\xff Go buildinf:\x8\x2", 16);
	l->info[32] = (uint8_t)strlen(version);
	memcpy(l->info + 33, version, strlen(version));
	l->symbol[1] = (Elf64_Sym){ .st_name = 1, .st_info = STT_OBJECT, .st_size = 24,
				    .st_value = GOLIST_ALLGS, .st_shndx = 1 };
	l->symbol[2] = (Elf64_Sym){ .st_name = 15, .st_info = STT_OBJECT, .st_size = 48,
				    .st_value = GOLIST_REASONS, .st_shndx = 1 };
	int fd = gocode_file(&(struct gocode){
		.machine = flags & GOLIST_ARM64 ? EM_AARCH64 : EM_X86_64,
		.table = { l->program.table, l->program.n_table },
		.text = { l->code, sizeof(l->code) }, .buildinfo = { l->info, sizeof(l->info) },
		.symbols = { l->symbol, has_symbols ? sizeof(l->symbol) : 0 },
		.strings = { strings, has_symbols ? sizeof(strings) : 0 } });
	if (fd < 0 || cfi_open_file(fd, &l->cfi) < 0 || !(l->table = go_table_open(l->cfi)))
		return false;
	l->memory.info = l->info;
	l->memory.n_info = sizeof(l->info);
	l->memory.info_at = GOCODE_BUILDINFO;
	l->from = (struct runtime_memory){ gomemory_read, &l->memory };
	l->places = (struct go_places){ .cfi = l->cfi, .table = l->table, .memory = &l->from,
		.data_start = GOMEMORY_DATA, .data_end = GOMEMORY_DATA + GOMEMORY_DATA_BYTES };
	for (unsigned int i = 0; i < GOLIST_N; i++)
		golist_put_goroutine(l, i, i % 3 ? GO_WAITING : GO_RUNNABLE);
	golist_put_reasons(l);
	gomemory_word(&l->memory, GOLIST_ALLGS, GOLIST_SLICE);
	gomemory_word(&l->memory, GOLIST_ALLGS + 8, GOLIST_N);
	gomemory_word(&l->memory, GOLIST_ALLGS + 16, GOLIST_N + 10);
	return true;
}

static inline void golist_close(struct golist *l)
{
	int fd = l->cfi ? l->cfi->fd : -1;
	go_table_close(l->table);
	cfi_close(l->cfi);
	if (fd >= 0)
		close(fd);
}

#endif
