#include "tap.h"

#include "symbolize/elf/symtab.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file with two code sections, a data section, one symbol table and its strings. */

enum { CODE1 = 1, CODE2, DATA, SYMTAB, STRTAB, N_SECTIONS };
enum { N_SYMBOLS_MAX = 32 };

static struct image {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[N_SECTIONS];
	Elf64_Sym sym[N_SYMBOLS_MAX];
	char str[512];
} image;
static size_t n_symbols, n_str;

static void begin(void)
{
	memset(&image, 0, sizeof(image));
	n_symbols = n_str = 1;
	image.eh = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
			     __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shoff = offsetof(struct image, sh),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
	};
	image.sh[CODE1] = (Elf64_Shdr){ .sh_type = SHT_NOBITS, .sh_addr = 0x1000, .sh_size = 0x1000,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR };
	image.sh[CODE2] = (Elf64_Shdr){ .sh_type = SHT_NOBITS, .sh_addr = 0x3000, .sh_size = 0x100,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR };
	image.sh[DATA] = (Elf64_Shdr){ .sh_type = SHT_NOBITS, .sh_addr = 0x5000, .sh_size = 0x1000,
		.sh_flags = SHF_ALLOC | SHF_WRITE };
	image.sh[STRTAB] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, str), .sh_size = sizeof(image.str) };
}

static void add(const char *name, uint64_t value, uint64_t size, int bind, int type,
		uint16_t section)
{
	image.sym[n_symbols++] = (Elf64_Sym){
		.st_name = (uint32_t)n_str, .st_value = value, .st_size = size,
		.st_info = ELF64_ST_INFO(bind, type), .st_shndx = section,
	};
	n_str += (size_t)sprintf(image.str + n_str, "%s", name) + 1;
}

static Elf *end_as(struct symtab *t, bool is_data)
{
	image.sh[SYMTAB] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = STRTAB,
		.sh_offset = offsetof(struct image, sym), .sh_size = n_symbols * sizeof(Elf64_Sym),
		.sh_entsize = sizeof(Elf64_Sym) };
	*t = (struct symtab){0};
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)&image, sizeof(image));
	tap_ok(elf && (is_data ? symtab_add_data(t, elf) : symtab_add_code(t, elf)),
	       "the file is read");
	symtab_add(t, elf, -1, SHT_SYMTAB);
	symtab_finish(t);
	return elf;
}

static Elf *end(struct symtab *t)
{
	return end_as(t, false);
}

static void is(struct symtab *t, uint64_t vaddr, const char *want)
{
	char what[64];
	const char *name;
	bool found = symtab_find(t, vaddr, &name);
	snprintf(what, sizeof(what), "0x%llx", (unsigned long long)vaddr);
	tap_str(found ? name : NULL, want, what);
}

/* For all addresses of the file: those that symtab_same says are the same are. */
static void same(struct symtab *t)
{
	unsigned n_wrong = 0, n_known = 0;
	for (uint64_t at = 0xff0; at < 0x3110; at++) {
		const char *name = NULL, *other;
		uint64_t start, end;
		const struct symtab_symbol *s = symtab_find(t, at, &name);
		if (!symtab_same(t, at, &start, &end))
			continue;
		n_known++;
		n_wrong += at < start || at >= end;
		for (uint64_t x = start < 0xff0 ? 0xff0 : start; x < end && x < 0x3110; x += 3)
			n_wrong += symtab_find(t, x, &other) != s;
	}
	tap_int(n_wrong, 0, "the addresses around one that have its symbol");
	tap_ok(n_known > 0x1000, "are known for most, %u", n_known);
}

static void test_sizes(void)
{
	struct symtab t;
	begin();
	add("sized", 0x1010, 0x10, STB_GLOBAL, STT_FUNC, CODE1);
	add("unsized", 0x1030, 0, STB_GLOBAL, STT_FUNC, CODE1);
	add("next", 0x1040, 8, STB_GLOBAL, STT_FUNC, CODE1);
	add("label", 0x1014, 0, STB_LOCAL, STT_NOTYPE, CODE1);
	add("outer", 0x1100, 0x100, STB_GLOBAL, STT_FUNC, CODE1);
	add("inner", 0x1120, 0x10, STB_LOCAL, STT_FUNC, CODE1);
	add("frame_dummy", 0x1300, 0, STB_LOCAL, STT_FUNC, CODE1);
	add("last", 0x1ff0, 0, STB_GLOBAL, STT_FUNC, CODE1);
	add("too_long", 0x3000, UINT64_MAX, STB_GLOBAL, STT_FUNC, CODE2);
	Elf *elf = end(&t);
	is(&t, 0x100f, NULL);
	is(&t, 0x1010, "sized");
	is(&t, 0x1014, "sized");
	is(&t, 0x101f, "sized");
	is(&t, 0x1020, NULL);
	is(&t, 0x1030, "unsized");
	is(&t, 0x103f, "unsized");
	is(&t, 0x130f, "frame_dummy");
	is(&t, 0x1310, NULL);
	is(&t, 0x1040, "next");
	is(&t, 0x1048, NULL);
	is(&t, 0x1110, "outer");
	is(&t, 0x1120, "inner");
	is(&t, 0x1130, "outer");
	is(&t, 0x11ff, "outer");
	is(&t, 0x1fff, "last");
	is(&t, 0x2000, NULL);
	is(&t, 0x30ff, "too_long");
	is(&t, 0x3100, NULL);
	is(&t, 0, NULL);
	is(&t, UINT64_MAX, NULL);
	same(&t);
	symtab_done(&t);
	elf_end(elf);
}

static void test_choice(void)
{
	struct symtab t;
	begin();
	add("local_alias", 0x1000, 4, STB_LOCAL, STT_FUNC, CODE1);
	add("weak_alias", 0x1000, 4, STB_WEAK, STT_FUNC, CODE1);
	add("global_alias", 0x1000, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("__plain", 0x1010, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("plain", 0x1010, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("no_size", 0x1020, 0, STB_GLOBAL, STT_FUNC, CODE1);
	add("with_size", 0x1020, 4, STB_LOCAL, STT_FUNC, CODE1);
	add("$x", 0x1030, 0, STB_LOCAL, STT_NOTYPE, CODE1);
	add("$d.1", 0x1034, 0, STB_LOCAL, STT_NOTYPE, CODE1);
	add("file.c", 0x1040, 4, STB_LOCAL, STT_FILE, SHN_ABS);
	add("section", 0x1040, 4, STB_LOCAL, STT_SECTION, CODE1);
	add("object", 0x1040, 4, STB_GLOBAL, STT_OBJECT, CODE1);
	add("undefined", 0x1040, 4, STB_GLOBAL, STT_FUNC, SHN_UNDEF);
	add("absolute", 0x1040, 4, STB_GLOBAL, STT_FUNC, SHN_ABS);
	add("in_data", 0x5000, 4, STB_GLOBAL, STT_FUNC, DATA);
	add("ifunc", 0x1050, 4, STB_GLOBAL, STT_GNU_IFUNC, CODE1);
	/* for aliases of different size, the name counts, not the size */
	add("larger_alias", 0x1060, 16, STB_GLOBAL, STT_FUNC, CODE1);
	add("smaller", 0x1060, 8, STB_GLOBAL, STT_FUNC, CODE1);
	/* three of one size */
	add("__third_name", 0x1070, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("second_name", 0x1070, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("a_name", 0x1070, 4, STB_GLOBAL, STT_FUNC, CODE1);
	/* a label with a size inside a function counts, its better alias without a size does not */
	add("around", 0x1080, 0x40, STB_GLOBAL, STT_FUNC, CODE1);
	add("in_without", 0x1090, 0, STB_GLOBAL, STT_FUNC, CODE1);
	add("in_with", 0x1090, 4, STB_GLOBAL, STT_NOTYPE, CODE1);
	Elf *elf = end(&t);
	is(&t, 0x1000, "global_alias");
	is(&t, 0x1010, "plain");
	is(&t, 0x1020, "with_size");
	is(&t, 0x1030, NULL);
	is(&t, 0x1034, NULL);
	is(&t, 0x1040, NULL);
	is(&t, 0x5000, NULL);
	is(&t, 0x1050, "ifunc");
	is(&t, 0x1067, "smaller");
	is(&t, 0x1068, NULL);
	is(&t, 0x1073, "a_name");
	is(&t, 0x1070, "a_name");
	is(&t, 0x1090, "in_with");
	is(&t, 0x1094, "around");
	same(&t);
	symtab_done(&t);
	elf_end(elf);
}

static void test_data(void)
{
	struct symtab t;
	begin();
	add("table", 0x5000, 0x40, STB_LOCAL, STT_OBJECT, DATA);
	add("table_lock", 0x5040, 40, STB_GLOBAL, STT_OBJECT, DATA);
	add("__table_lock", 0x5040, 40, STB_GLOBAL, STT_OBJECT, DATA);
	add("edata", 0x5080, 0, STB_GLOBAL, STT_OBJECT, DATA);
	add("function", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, CODE1);
	add("constant", 0x1020, 0x10, STB_GLOBAL, STT_OBJECT, CODE1);
	add("label", 0x5090, 0, STB_GLOBAL, STT_NOTYPE, DATA);
	add("beyond", 0x5ff8, 0x100, STB_GLOBAL, STT_OBJECT, DATA);
	Elf *elf = end_as(&t, true);
	is(&t, 0x503f, "table");
	is(&t, 0x5040, "table_lock");
	is(&t, 0x5067, "table_lock");
	is(&t, 0x5068, NULL);
	is(&t, 0x5080, NULL);
	is(&t, 0x1000, NULL);
	is(&t, 0x1020, NULL);
	is(&t, 0x5090, NULL);
	is(&t, 0x5fff, "beyond");
	is(&t, 0x6000, NULL);
	symtab_done(&t);
	image.sh[DATA].sh_flags |= SHF_TLS;
	elf_end(elf);
	elf = end_as(&t, true);
	is(&t, 0x5040, NULL);
	symtab_done(&t);
	elf_end(elf);
}

static void test_damage(void)
{
	struct symtab t;
	begin();
	add("good", 0x1000, 4, STB_GLOBAL, STT_FUNC, CODE1);
	add("bad_name", 0x1010, 4, STB_GLOBAL, STT_FUNC, CODE1);
	image.sym[2].st_name = 1u << 30;
	Elf *elf = end(&t);
	is(&t, 0x1000, "good");
	is(&t, 0x1010, NULL);
	symtab_done(&t);
	elf_end(elf);

	image.str[sizeof(image.str) - 1] = 'x';
	elf = end(&t);
	is(&t, 0x1000, NULL);
	symtab_done(&t);
	elf_end(elf);

	image.str[sizeof(image.str) - 1] = 0;
	image.sh[STRTAB].sh_size = UINT64_MAX;
	elf = end(&t);
	is(&t, 0x1000, NULL);
	symtab_done(&t);
	elf_end(elf);
}

/* ---- a large table -------------------------------------------------------- */

enum { N_MANY = 6000, NAME_BYTES = 8, LONG_NAME_BYTES = 5000, APART = 0x30 };

static struct many {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[N_SECTIONS];
	Elf64_Sym sym[N_MANY + 1];
	char str[(N_MANY + 1) * NAME_BYTES + LONG_NAME_BYTES + 1];
} many;

/* Symbol i; the table is in an order of its own, and one symbol has a very long name. */
static void build_many(void)
{
	char *long_name = many.str + sizeof(many.str) - LONG_NAME_BYTES - 1;
	begin();
	many.eh = image.eh;
	many.eh.e_shoff = offsetof(struct many, sh);
	memcpy(many.sh, image.sh, sizeof(many.sh));
	many.sh[CODE1].sh_size = N_MANY * APART;
	many.sh[CODE2].sh_addr = 0x10000000;
	many.sh[DATA].sh_addr = 0x20000000;
	many.sh[STRTAB].sh_offset = offsetof(struct many, str);
	many.sh[STRTAB].sh_size = sizeof(many.str);
	many.sh[SYMTAB] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = STRTAB,
		.sh_offset = offsetof(struct many, sym), .sh_size = sizeof(many.sym),
		.sh_entsize = sizeof(Elf64_Sym) };
	for (unsigned row = 1; row <= N_MANY; row++) {
		unsigned i = row * 1237 % N_MANY;
		many.sym[row] = (Elf64_Sym){
			.st_name = row * NAME_BYTES, .st_value = 0x1000 + i * APART,
			.st_size = 0x10, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = CODE1,
		};
		snprintf(many.str + row * NAME_BYTES, NAME_BYTES, "f%05u", i);
		if (i == 77)
			many.sym[row].st_name = (uint32_t)(long_name - many.str);
	}
	memset(long_name, 'x', LONG_NAME_BYTES);
}

static void test_many(bool is_file)
{
	struct symtab t = {0};
	unsigned n_right = 0, n_gaps = 0;
	build_many();
	int fd = is_file ? memfd_create("many", MFD_CLOEXEC) : -1;
	if (is_file && write(fd, &many, sizeof(many)) != (ssize_t)sizeof(many))
		abort();
	Elf *elf = is_file ? elf_begin(fd, ELF_C_READ, NULL)
			   : elf_memory((char *)&many, sizeof(many));
	tap_ok(elf && symtab_add_code(&t, elf), "a large table, %s",
	       is_file ? "in a file" : "in memory");
	tap_int(symtab_add(&t, elf, fd, SHT_SYMTAB), N_MANY, "all symbols are read");
	symtab_finish(&t);
	for (unsigned i = 0; i < N_MANY; i++) {
		char want[NAME_BYTES];
		const char *name;
		snprintf(want, sizeof(want), "f%05u", i);
		if (symtab_find(&t, 0x1000 + i * APART + 0xf, &name))
			n_right += i == 77 ? strlen(name) == LONG_NAME_BYTES
					   : strcmp(name, want) == 0;
		n_gaps += !symtab_find(&t, 0x1000 + i * APART + 0x10, &name);
	}
	tap_int(n_right, N_MANY, "all symbols have their names");
	tap_int(n_gaps, N_MANY, "there are no symbols between them");
	/* a name that was cut off meanwhile is not found */
	const char *name;
	if (is_file) {
		symtab_done(&t);
		symtab_add_code(&t, elf);
		symtab_add(&t, elf, fd, SHT_SYMTAB);
		symtab_finish(&t);
		if (ftruncate(fd, 0) < 0)
			abort();
		tap_ok(!symtab_find(&t, 0x1000, &name), "a truncated file has no names");
	}
	symtab_done(&t);
	elf_end(elf);
	if (is_file)
		close(fd);
}

/* Two files with strings at the same offsets. */
static void test_two_files(void)
{
	static const char *const name[] = { "of_one", "of_two" };
	struct symtab t = {0};
	Elf *elf[2];
	int fd[2];
	for (unsigned i = 0; i < 2; i++) {
		begin();
		add(name[i], 0x1000 + i * 0x100, 8, STB_GLOBAL, STT_NOTYPE, CODE1);
		image.sh[SYMTAB] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = STRTAB,
			.sh_offset = offsetof(struct image, sym),
			.sh_size = n_symbols * sizeof(Elf64_Sym), .sh_entsize = sizeof(Elf64_Sym) };
		fd[i] = memfd_create("image", MFD_CLOEXEC);
		if (write(fd[i], &image, sizeof(image)) != (ssize_t)sizeof(image))
			abort();
		elf[i] = elf_begin(fd[i], ELF_C_READ, NULL);
		symtab_add_code(&t, elf[i]);
		tap_int(symtab_add(&t, elf[i], fd[i], SHT_SYMTAB), 1,
			"one of two files");
	}
	symtab_finish(&t);
	is(&t, 0x1000, "of_one");
	is(&t, 0x1100, "of_two");
	is(&t, 0x1001, "of_one");
	symtab_done(&t);
	for (unsigned i = 0; i < 2; i++) {
		elf_end(elf[i]);
		close(fd[i]);
	}
}

int main(void)
{
	test_sizes();
	test_choice();
	test_data();
	test_damage();
	test_two_files();
	test_many(false);
	test_many(true);
	return tap_done();
}
