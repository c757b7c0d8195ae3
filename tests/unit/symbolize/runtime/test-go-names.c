/*
 * Go's table in its layouts: of two functions, main.first and main.second, the second with a
 * chain of two inlined calls.  Real programs are compared in tests/symbols.
 */

#include "tests/unit/symbolize/gobuild.h"
#include "symbolize/dwarf/symdwarf.h"
#include "symbolize/runtime/go-names.h"
#include "tap.h"

#include <stdbool.h>

#define TEXT 0x401000u

struct builder {
	uint8_t bytes[1024];
	size_t n;
};

static size_t put(struct builder *b, const void *p, size_t n)
{
	size_t at = b->n;
	memcpy(b->bytes + b->n, p, n);
	b->n += n;
	return at;
}

static size_t put32(struct builder *b, uint32_t x)
{
	return put(b, &x, 4);
}

static size_t put64(struct builder *b, uint64_t x)
{
	return put(b, &x, 8);
}

static void set64(struct builder *b, size_t at, uint64_t x)
{
	memcpy(b->bytes + at, &x, 8);
}

static size_t text(struct builder *b, const char *s)
{
	return put(b, s, strlen(s) + 1);
}

/* Steps of (value, bytes), each value below 63 and each length below 128. */
static size_t steps(struct builder *b, const int (*step)[2], size_t n)
{
	size_t at = b->n;
	int value = -1;
	for (size_t i = 0; i < n; i++) {
		int delta = step[i][0] - value;
		uint8_t bytes[2] = { (uint8_t)(delta < 0 ? (-delta - 1) * 2 + 1 : delta * 2),
				     (uint8_t)step[i][1] };
		put(b, bytes, 2);
		value = step[i][0];
	}
	put(b, "", 1);
	return at;
}

enum layout { GO_1_16, GO_1_18, GO_1_20, GO_1_26, GO_1_27 };

/* What differs: see go-names.c.  Since Go 1.26 the table lacks the start of the code. */
static void build(struct builder *t, struct builder *ro, struct builder *data, enum layout layout)
{
	static const uint32_t magic[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1, 0xfffffff1,
		0xfffffff1 };
	static const unsigned int gofunc[] = { 0, 38, 40, 40, 43 };
	bool is_old = layout == GO_1_16;
	t->n = ro->n = data->n = 0;
	put32(t, magic[layout]);
	put(t, "\0\0\1\x8", 4);
	put64(t, 2);
	put64(t, 2);
	if (!is_old)
		put64(t, layout >= GO_1_26 ? 0 : TEXT);
	size_t offsets = t->n;
	for (int i = 0; i < 5; i++)
		put64(t, 0);

	size_t names = t->n;
	text(t, "");
	uint32_t first = (uint32_t)(text(t, "main.first") - names);
	uint32_t second = (uint32_t)(text(t, "main.second") - names);
	uint32_t mid = (uint32_t)(text(t, "main.mid") - names);
	uint32_t leaf = (uint32_t)(text(t, "main.(*T).leaf") - names);
	while (t->n % 4)
		put(t, "", 1);
	size_t cus = t->n;
	put32(t, 0);
	put32(t, 6);
	size_t files = t->n;
	text(t, "/a.go");
	text(t, "/b.go");
	size_t pcs = t->n;
	put(t, "", 1);
	/* first: line 10 for 16 bytes, 11 for 16; second: 20, 30 (in leaf), 21 */
	uint32_t file_a = (uint32_t)(steps(t, (const int[][2]){ { 0, 100 } }, 1) - pcs);
	uint32_t line_1 = (uint32_t)(steps(t, (const int[][2]){ { 10, 16 }, { 11, 16 } }, 2) - pcs);
	uint32_t file_2 = (uint32_t)(steps(t, (const int[][2]){ { 0, 16 }, { 1, 8 }, { 0, 40 } },
					   3) - pcs);
	uint32_t line_2 = (uint32_t)(steps(t, (const int[][2]){ { 20, 12 }, { 25, 4 }, { 30, 8 },
								{ 21, 40 } }, 4) - pcs);
	/* Calls are recorded at the pcs 8 (mid, in second) and 12 (leaf, in mid). */
	uint32_t index_2 = (uint32_t)(steps(t, (const int[][2]){ { -1, 12 }, { 0, 4 }, { 1, 8 },
								 { -1, 40 } }, 4) - pcs);
	while (t->n % 8)
		put(t, "", 1);
	size_t functions = t->n, ftab = functions;
	size_t n_ftab = (2 * 2 + 1) * (is_old ? 8 : 4);
	t->n += (n_ftab + 7) & ~(size_t)7;
	memset(t->bytes + ftab, 0, t->n - ftab);
	uint64_t entry[3] = { 0, 32, 96 }, off[2];
	for (int i = 0; i < 2; i++) {
		off[i] = t->n - functions;
		if (is_old)
			put64(t, TEXT + entry[i]);
		else
			put32(t, (uint32_t)entry[i]);
		put32(t, i ? second : first);
		put32(t, 0);
		put32(t, 0);
		put32(t, 0);
		put32(t, i ? file_2 : file_a);
		put32(t, i ? line_2 : line_1);
		put32(t, 3);
		put32(t, 0);
		if (layout >= GO_1_20)
			put32(t, i ? 19 : 9);
		put(t, "\0\0\0\4", 4);
		put32(t, 0);
		put32(t, 0);
		put32(t, i ? index_2 : 0);
		while (is_old && t->n % 8)
			put(t, "", 1);
		for (int k = 0; k < 4; k++) {
			bool is_tree = i == 1 && k == 3;
			if (is_old)
				put64(t, is_tree ? GOBUILD_RODATA + 64 : 0);
			else
				put32(t, is_tree ? 32 : UINT32_MAX);
		}
	}
	for (int i = 0; i < 3; i++) {
		uint64_t pc = TEXT + entry[i];
		uint32_t pc32 = (uint32_t)entry[i], off32 = i < 2 ? (uint32_t)off[i] : 0;
		if (is_old) {
			set64(t, ftab + 16 * (size_t)i, pc);
			if (i < 2)
				set64(t, ftab + 16 * (size_t)i + 8, off[i]);
			continue;
		}
		memcpy(t->bytes + ftab + 8 * (size_t)i, &pc32, 4);
		if (i < 2)
			memcpy(t->bytes + ftab + 8 * (size_t)i + 4, &off32, 4);
	}
	uint64_t header[5] = { names, cus, files, pcs, functions };
	memcpy(t->bytes + offsets, header, sizeof(header));

	/* The tree: 0 is mid, called at a.go:20; 1 is leaf, called by mid at a.go:25. */
	memset(ro->bytes, 0, 64);
	ro->n = 64;
	if (layout >= GO_1_20) {
		uint32_t call[8] = { 0, mid, 8, 24, 0, leaf, 12, 29 };
		put(ro, call, sizeof(call));
	} else {
		uint32_t call[10] = { 0xffff, 0, 20, mid, 8, 0, 0, 25, leaf, 12 };
		put(ro, call, sizeof(call));
	}

	/* moduledata, after a pointer that leads astray */
	put64(data, GOBUILD_TABLE);
	size_t module = data->n;
	for (int i = 0; i < 44; i++)
		put64(data, 0);
	if (is_old)
		return;
	set64(data, module, GOBUILD_TABLE);
	set64(data, module + 8, GOBUILD_TABLE + names);
	set64(data, module + 22 * 8, TEXT);
	/* the word before, and the first one, lead to other bytes */
	set64(data, module + 36 * 8, GOBUILD_RODATA);
	set64(data, module + (gofunc[layout] - 1) * 8, GOBUILD_RODATA + 16);
	set64(data, module + gofunc[layout] * 8, GOBUILD_RODATA + 32);
}

static Elf *elf_of(const struct builder *t, const struct builder *ro, const struct builder *data,
		   void **ret_file)
{
	size_t n = 0;
	*ret_file = gobuild_elf((struct gobuild_part){ t->bytes, t->n },
				(struct gobuild_part){ ro->bytes, ro->n },
				(struct gobuild_part){ data->bytes, data->n }, &n);
	return elf_memory(*ret_file, n);
}

static void is_frame(const struct symdwarf_frame *f, const char *name, const char *file,
		     uint32_t line, const char *what)
{
	tap_str(f->name, name, what);
	tap_str(f->file, file, what);
	tap_int(f->line, line, what);
}

static void one_layout(enum layout layout, const char *name)
{
	struct builder t, ro, data;
	struct go_names *g = NULL;
	struct symdwarf_frame f[8];
	void *file;
	build(&t, &ro, &data, layout);
	Elf *elf = elf_of(&t, &ro, &data, &file);
	tap_int(go_names_open(elf, &g), 0, name);
	if (!g)
		return;
	tap_int((long)go_names_find(g, TEXT - 1, f, 8), 0, "nothing before the first function");
	tap_int((long)go_names_find(g, TEXT + 96, f, 8), 0, "nothing after the last function");
	tap_int((long)go_names_find(g, TEXT + 17, f, 8), 1, "a function without inlined calls");
	is_frame(f, "main.first", "/a.go", 11, "first");
	tap_int(f[0].start_line, layout >= GO_1_20 ? 9 : 0, "its first line, since Go 1.20");
	tap_int((long)go_names_find(g, TEXT + 32 + 18, f, 8), 3, "a chain of three frames");
	is_frame(&f[0], "main.(*T).leaf", "/b.go", 30, "the innermost frame");
	is_frame(&f[1], "main.mid", "/a.go", 25, "the middle frame, at its call");
	is_frame(&f[2], "main.second", "/a.go", 20, "the outer function, at its call");
	tap_int((long)go_names_find(g, TEXT + 32 + 13, f, 8), 2, "a chain of two frames");
	is_frame(&f[0], "main.mid", "/a.go", 25, "the innermost of two");
	tap_int((long)go_names_find(g, TEXT + 32 + 30, f, 8), 1, "after the inlined calls");
	is_frame(f, "main.second", "/a.go", 21, "second");
	tap_int((long)go_names_find(g, TEXT + 32 + 18, f, 2), 2, "room for two frames only");
	tap_str(f[1].name, "main.second", "keeps the outer function");
	go_names_close(g);
	elf_end(elf);
	free(file);
	if (layout == GO_1_16)
		return;
	/* Without moduledata there are functions and lines still, if the code's start is known. */
	data.n = 8;
	elf = elf_of(&t, &ro, &data, &file);
	if (layout >= GO_1_26)
		tap_int(go_names_open(elf, &g), -2, "no moduledata: no start of the code");
	else if (go_names_open(elf, &g) == 0) {
		tap_int((long)go_names_find(g, TEXT + 32 + 18, f, 8), 1,
			"no moduledata: no inlined calls");
		is_frame(f, "main.second", "/b.go", 30, "but the function itself");
		go_names_close(g);
	}
	elf_end(elf);
	free(file);
}

/* The table among other data, as other linkers than Go's put it, in a section of that name. */
static void elsewhere(const char *name, int expected, const char *what)
{
	struct builder t, ro, data;
	struct go_names *g = NULL;
	size_t n = 0;
	build(&t, &ro, &data, GO_1_20);
	uint8_t *file = gobuild_elf((struct gobuild_part){ t.bytes, t.n },
				    (struct gobuild_part){ ro.bytes, ro.n },
				    (struct gobuild_part){ data.bytes, data.n }, &n);
	Elf64_Shdr *sh = (void *)(file + sizeof(Elf64_Ehdr));
	sh[1].sh_flags |= SHF_WRITE;
	memcpy(file + sh[4].sh_offset + sh[1].sh_name, name, strlen(name) + 1);
	Elf *elf = elf_memory((char *)file, n);
	tap_int(go_names_open(elf, &g), expected, what);
	go_names_close(g);
	elf_end(elf);
	free(file);
}

int main(int argc, char **argv)
{
	struct builder t, ro, data;
	void *file;
	struct go_names *g;
	elf_version(EV_CURRENT);
	if (argc > 1) {  /* test-go-names N: the parts of layout N, as a seed for fuzzing */
		build(&t, &ro, &data, (enum layout)atoi(argv[1]));
		uint16_t n[2] = { (uint16_t)t.n, (uint16_t)ro.n };
		fwrite(n, sizeof(n), 1, stdout);
		fwrite(t.bytes, t.n, 1, stdout);
		fwrite(ro.bytes, ro.n, 1, stdout);
		fwrite(data.bytes, data.n, 1, stdout);
		return 0;
	}
	one_layout(GO_1_16, "Go 1.16");
	one_layout(GO_1_18, "Go 1.18");
	one_layout(GO_1_20, "Go 1.20");
	one_layout(GO_1_26, "Go 1.26");
	one_layout(GO_1_27, "Go 1.27");
	build(&t, &ro, &data, GO_1_20);
	t.bytes[0] = 0xf5;
	Elf *elf = elf_of(&t, &ro, &data, &file);
	tap_int(go_names_open(elf, &g), -2, "a layout of another version");
	elf_end(elf);
	free(file);
	elsewhere(".go.buildinfo", 0, "a Go program by another linker");
	elsewhere(".data", -2, "not a Go program: not searched");
	return tap_done();
}
