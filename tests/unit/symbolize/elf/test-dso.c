#include "tap.h"

#include "base/budget.h"
#include "symbolize/elf/dso.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* An ELF file of both sizes, with a code segment, a data segment and a build id. */
static const uint8_t build_id[] = { 0xde, 0xad, 0xbe, 0xef, 0x00, 0x01 };

struct file64 {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	Elf64_Nhdr nh;
	char name[4];
	uint8_t id[8];
};

struct file32 {
	Elf32_Ehdr eh;
	Elf32_Phdr ph[2];
	Elf32_Nhdr nh;
	char name[4];
	uint8_t id[8];
};

static const unsigned char own_data = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;

static struct file64 make64(void)
{
	struct file64 f = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, own_data, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3,
		},
		.ph = {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x9000,
			  .p_vaddr = 0xa000, .p_filesz = 0x1000, .p_memsz = 0x1000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1100,
			  .p_vaddr = 0x3100, .p_filesz = 0x4000, .p_memsz = 0x4000 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct file64, nh),
			  .p_filesz = sizeof(Elf64_Nhdr) + 4 + sizeof(build_id), .p_align = 4 },
		},
		.nh = { 4, sizeof(build_id), NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	memcpy(f.id, build_id, sizeof(build_id));
	return f;
}

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	return write(fd, bytes, n) == (ssize_t)n ? fd : -1;
}

static void done(struct dso *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->open_path);
	free(d->image);
	*d = (struct dso){ .fd = -1 };
}

static void test_headers(void)
{
	struct file64 f = make64();
	struct dso d = { .fd = -1 };
	char text[DSO_BUILD_ID_TEXT_MAX];
	uint64_t vaddr;
	dso_set_file(&d, file_of(&f, sizeof(f)), "/x");
	tap_ok(d.is_elf && !d.is_exec_type && d.machine == EM_X86_64, "64-bit header");
	tap_str(d.open_path, "/x", "open_path");
	tap_str(dso_build_id_text(&d, text), "deadbeef0001", "build id");
	tap_int(d.n_segments, 1, "code segments only");
	tap_ok(d.data_start == 0xa000 && d.data_end == 0xb000, "and where variables are");
	tap_ok(dso_vaddr(&d, 0x1100, &vaddr) && vaddr == 0x3100, "start of the segment");
	tap_ok(dso_vaddr(&d, 0x50ff, &vaddr) && vaddr == 0x70ff, "last byte of the segment");
	tap_ok(dso_vaddr(&d, 0x1000, &vaddr) && vaddr == 0x3000,
	       "the part of the page before the segment");
	tap_ok(!dso_vaddr(&d, 0x9000, &vaddr) && vaddr == 0x9000,
	       "an address in a data segment is not translated");
	done(&d);

	f.eh.e_type = ET_EXEC;
	d = (struct dso){ .fd = -1 };
	tap_int(dso_set_image(&d, &f, sizeof(f)), 0, "image");
	tap_ok(d.is_elf && d.is_exec_type && d.n_build_id == sizeof(build_id) && d.fd == -1,
	       "from memory");
	tap_int(dso_set_image(&d, "x", 1), 0, "a second image");
	tap_ok(!d.is_elf && d.n_build_id == 0 && d.n_segments == 0,
	       "the second image replaces the first");
	tap_str(dso_build_id_text(&d, text), "", "no build id");
	tap_ok(!dso_vaddr(&d, 0x1234, &vaddr) && vaddr == 0x1234,
	       "without segments an address is not translated");
	done(&d);
}

static void test_32_bit(void)
{
	struct file32 f = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, own_data, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_386, .e_phoff = sizeof(Elf32_Ehdr),
			.e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 2,
		},
		.ph = {
			{ .p_type = PT_LOAD, .p_flags = PF_X, .p_offset = 0x1000, .p_vaddr = 0x2000,
			  .p_filesz = 0x100, .p_memsz = 0x100 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct file32, nh),
			  .p_filesz = sizeof(Elf32_Nhdr) + 4 + sizeof(build_id), .p_align = 4 },
		},
		.nh = { 4, sizeof(build_id), NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	memcpy(f.id, build_id, sizeof(build_id));
	struct dso d = { .fd = -1 };
	uint64_t vaddr;
	dso_set_file(&d, file_of(&f, sizeof(f)), NULL);
	tap_ok(d.is_elf && d.machine == EM_386 && d.n_segments == 1, "32-bit header");
	tap_int(d.n_build_id, sizeof(build_id), "32-bit build id");
	tap_ok(dso_vaddr(&d, 0x1010, &vaddr) && vaddr == 0x2010, "32-bit address");
	done(&d);
}

/* A note of that name and type with that text, followed by GNU's note, if wanted. */
static const char *id_of_note(const char *name, uint32_t type, const char *text, bool and_gnu)
{
	static char hex[DSO_BUILD_ID_TEXT_MAX];
	struct {
		struct file64 f;
		uint8_t more[256];
	} x = { .f = make64() };
	size_t n = strlen(text), at = offsetof(struct file64, nh);
	uint8_t *notes = (uint8_t *)&x + at;
	Elf64_Nhdr h = { 4, (uint32_t)n, type }, gnu = { 4, sizeof(build_id), NT_GNU_BUILD_ID };
	memcpy(notes, &h, sizeof(h));
	memcpy(notes + sizeof(h), name, 4);
	memcpy(notes + sizeof(h) + 4, text, n);
	uint8_t *next = notes + sizeof(h) + 4 + (n + 3) / 4 * 4;
	if (and_gnu) {
		memcpy(next, &gnu, sizeof(gnu));
		memcpy(next + sizeof(gnu), "GNU", 4);
		memcpy(next + sizeof(gnu) + 4, build_id, sizeof(build_id));
		next += sizeof(gnu) + 4 + sizeof(build_id);
	}
	x.f.ph[2].p_filesz = (uint64_t)(next - notes);
	struct dso d = { .fd = -1 };
	dso_set_image(&d, &x, sizeof(x));
	dso_build_id_text(&d, hex);
	done(&d);
	return hex;
}

static void test_go_build_id(void)
{
	static const char text[] = "7eRVnrjYumZ9mFmjX5ID/L1uZxzxcm_bIJmgq-r5r/AAECAwQFBgcICQoLDA-_";
	tap_str(id_of_note("Go\0", 4, text, false), "000102030405060708090a0b0c0fbf",
		"Go's build id: the bytes of its last part");
	tap_str(id_of_note("Go\0", 4, text, true), "deadbeef0001", "GNU's build id has priority");
	tap_str(id_of_note("Go\0", 4, "redacted", false), "",
		"a build id of Go without hashes is ignored");
	tap_str(id_of_note("Go\0", 4, "x/AAECAwQFBgcICQoLDA0=", false), "",
		"a hash with padding is ignored");
	tap_str(id_of_note("Go\0", 4, "x/AAECAwQFBgcICQoLDA", false), "",
		"a short hash is ignored");
	tap_str(id_of_note("Go\0", 5, text, false), "", "a note of another type is ignored");
	tap_str(id_of_note("No\0", 4, text, false), "", "a note of another name is ignored");
}

/* Every prefix and every changed byte: less is known, but nothing breaks. */
static void test_damage(void)
{
	struct file64 f = make64();
	for (size_t n = 0; n <= sizeof(f); n++) {
		struct dso d = { .fd = -1 };
		dso_set_image(&d, &f, n);
		done(&d);
	}
	for (size_t i = 0; i < sizeof(f); i++) {
		struct file64 g = f;
		struct dso d = { .fd = -1 };
		uint64_t vaddr;
		((uint8_t *)&g)[i] ^= 0xff;
		dso_set_image(&d, &g, sizeof(g));
		dso_vaddr(&d, 0x1234, &vaddr);
		done(&d);
	}
	f.nh.n_descsz = UINT32_MAX;
	struct dso d = { .fd = -1 };
	dso_set_image(&d, &f, sizeof(f));
	tap_ok(d.is_elf && d.n_build_id == 0, "a note that extends past its segment is ignored");
	done(&d);
	f = make64();
	f.nh.n_descsz = 0;
	dso_set_image(&d, &f, sizeof(f));
	tap_ok(d.n_build_id == 0, "an empty build id is ignored");
	done(&d);
	f = make64();
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB + ELFDATA2MSB - own_data;
	d = (struct dso){ .fd = -1 };
	dso_set_image(&d, &f, sizeof(f));
	tap_ok(!d.is_elf, "a file of the other byte order is not ELF here");
	done(&d);
}

static void test_table(void)
{
	struct budget b;
	struct dso_table t;
	budget_init(&b, 0);
	tap_int(dso_table_init(&t, &b), 0, "table");
	struct dso_key key = { .kind = DSO_ELF, .maj = 8, .min = 1, .ino = 42 };
	struct dso *a = dso_table_add(&t, &key, "/usr/bin/a");
	tap_ok(a && a->id == 0 && a->fd == -1 && dso_get(&t, 0) == a, "added");
	tap_ok(dso_table_find(&t, &key, "/another/name") == a,
	       "a file is found under another path");
	key.ino_generation = 7;
	tap_ok(dso_table_find(&t, &key, "/usr/bin/a") == a, "an unknown generation matches any");
	struct dso_key old = key;
	old.ino = 43;
	struct dso *g = dso_table_add(&t, &old, "/g");
	old.ino_generation = 8;
	tap_ok(!dso_table_find(&t, &old, "/g"), "another generation means another file");
	old.ino_generation = 7;
	tap_ok(dso_table_find(&t, &old, "/g") == g, "the same generation means the same file");
	key.min = 2;
	tap_ok(!dso_table_find(&t, &key, "/usr/bin/a"), "another device means another file");

	struct dso_key pseudo = { .kind = DSO_PSEUDO };
	struct dso *p = dso_table_add(&t, &pseudo, "[lost]");
	tap_ok(dso_table_find(&t, &pseudo, "[lost]") == p && !dso_table_find(&t, &pseudo, "[x]"),
	       "pseudo by path");
	struct dso_key nameless = { .kind = DSO_ELF };
	struct dso *n = dso_table_add(&t, &nameless, "/lib/a.so");
	tap_ok(dso_table_find(&t, &nameless, "/lib/a.so") == n &&
	       !dso_table_find(&t, &nameless, "/lib/b.so"), "inode 0: by path");
	struct dso_key anon = { .kind = DSO_ANON, .pid = 1 };
	struct dso *j = dso_table_add(&t, &anon, "//anon");
	tap_ok(dso_table_find(&t, &anon, "[jit]") == j, "anonymous memory is found by pid");
	anon.pid = 2;
	tap_ok(!dso_table_find(&t, &anon, "//anon"),
	       "anonymous memory of another process is not found");

	struct dso_key many = { .kind = DSO_ELF };
	bool ok = true;
	for (uint64_t i = 1000; i < 3000; i++) {
		many.ino = i;
		ok &= dso_table_add(&t, &many, "/x") != NULL;
	}
	for (uint64_t i = 1000; i < 3000; i++) {
		many.ino = i;
		struct dso *d = dso_table_find(&t, &many, "");
		ok &= d && d->key.ino == i;
	}
	tap_ok(ok, "2000 files");
	tap_ok(b.used_bytes > 2000 * sizeof(struct dso), "the budget is charged");
	dso_table_done(&t);
	tap_int((long long)b.used_bytes, 0, "the budget is released");
}

int main(void)
{
	test_headers();
	test_32_bit();
	test_go_build_id();
	test_damage();
	test_table();
	return tap_done();
}
