/*
 * Searches debug files by names from a hostile file: arbitrary bytes as .gnu_debuglink, build id,
 * path of the file, and link to a file that dwz split off.  The root folder contains debug files
 * that match, and other things: fifos, loops, links that lead outside, folders, text.  Any file
 * that is opened must be a regular file with the requested build id or, if one of the two has no
 * build id, with the CRC of the link.
 *
 * The input is the build id and the path, each preceded by its length (u8), the section, preceded
 * by its length (u16), and the other link.
 */

#include "base/bytes.h"
#include "base/err.h"
#include "base/host.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symdebug.h"

#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define ID "debugid8"
#define OTHER_ID "otherid8"
#define SECTION_BYTES_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];
static struct host host;

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* ---- files ----------------------------------------------------------------- */

struct debug_file {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Nhdr note;
	char owner[4], id[8];
};

static struct debug_file debug_file_of(const char *id)
{
	struct debug_file f = {
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = offsetof(struct debug_file, segment),
			.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = id != NULL,
		},
		.segment = {
			.p_type = PT_NOTE, .p_offset = offsetof(struct debug_file, note),
			.p_filesz = 24, .p_memsz = 24, .p_align = 4,
		},
		.note = { .n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID },
		.owner = "GNU",
	};
	if (id)
		memcpy(f.id, id, sizeof(f.id));
	return f;
}

static void in_folder(char *path, size_t n_bytes, const char *name)
{
	check(snprintf(path, n_bytes, "%s/%s", folder, name) < (int)n_bytes);
}

static void make_folder(const char *name)
{
	char path[256];
	in_folder(path, sizeof(path), name);
	check(mkdir(path, 0700) == 0);
}

static void make_file(const char *name, const char *id)
{
	char path[256];
	struct debug_file f = debug_file_of(id);
	in_folder(path, sizeof(path), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, &f, sizeof(f)) == (ssize_t)sizeof(f));
	close(fd);
}

static void make_link(const char *name, const char *to)
{
	char path[256];
	in_folder(path, sizeof(path), name);
	check(symlink(to, path) == 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_all(void)
{
	host_close(&host);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_all(void)
{
	static const char *const folders[] = {
		"root", "root/app", "root/app/.debug", "root/app/folder", "root/usr",
		"root/usr/lib", "root/usr/lib/debug", "root/usr/lib/debug/app",
		"root/usr/lib/debug/.build-id", "root/usr/lib/debug/.build-id/64",
		"root/usr/lib/debug/.build-id/6f",
	};
	char path[256];
	struct err e;
	snprintf(folder, sizeof(folder), "/tmp/cprof-fuzz-%d-XXXXXX", (int)getpid());
	check(mkdtemp(folder) != NULL);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		make_folder(folders[i]);
	make_file("outside", ID);
	make_file("root/app/same.debug", ID);
	make_file("root/app/noid.debug", NULL);
	make_file("root/app/other.debug", OTHER_ID);
	make_file("root/app/.debug/sub.debug", ID);
	make_file("root/usr/lib/debug/app/global.debug", ID);
	/* ID and OTHER_ID in hex */
	make_file("root/usr/lib/debug/.build-id/64/65627567696438.debug", ID);
	make_link("root/usr/lib/debug/.build-id/6f/74686572696438.debug", "/dev/zero");
	make_link("root/app/loop", "loop");
	make_link("root/app/out", "../../outside");
	make_link("root/app/endless", "/dev/zero");
	in_folder(path, sizeof(path), "root/app/fifo");
	check(mkfifo(path, 0600) == 0);
	in_folder(path, sizeof(path), "root");
	check(host_open(&host, path, path, path, &e) == 0);
	atexit(remove_all);
}

/* ---- the stripped file -------------------------------------------------------- */

/* An ELF file with the section .gnu_debuglink only. */
static size_t stripped_file(uint8_t *to, const uint8_t *section, size_t n_bytes)
{
	static const char names[] = "\0.gnu_debuglink\0.shstrtab";
	Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_shoff = sizeof(head), .e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2,
	};
	Elf64_Shdr header[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_size = n_bytes,
			.sh_addralign = 4 },
		[2] = { .sh_name = 16, .sh_type = SHT_STRTAB, .sh_size = sizeof(names),
			.sh_addralign = 1 },
	};
	header[2].sh_offset = sizeof(head) + sizeof(header);
	header[1].sh_offset = (header[2].sh_offset + sizeof(names) + 3) & ~(uint64_t)3;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), header, sizeof(header));
	memcpy(to + header[2].sh_offset, names, sizeof(names));
	memcpy(to + header[1].sh_offset, section, n_bytes);
	return header[1].sh_offset + n_bytes;
}

/* ---- what was opened ------------------------------------------------------------ */

static bool has_crc(int fd, const uint8_t *section, size_t n_bytes)
{
	struct debug_file f;
	uint32_t want;
	if (n_bytes < 4 || pread(fd, &f, sizeof(f), 0) != (ssize_t)sizeof(f))
		return false;
	/* the section's last word, which is how libdwelf reads it; gdb counts from the name */
	memcpy(&want, section + n_bytes - 4, 4);
	return crc32(0, (const uint8_t *)&f, sizeof(f)) == want;
}

static void check_opened(int fd, const struct dso *wanted, const uint8_t *section, size_t n_bytes)
{
	struct stat st;
	struct dso file = { .fd = -1 };
	check(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
	dso_set_file(&file, fd, NULL);
	check(file.is_elf);
	if (file.n_build_id && wanted->n_build_id)
		check(file.n_build_id == wanted->n_build_id &&
		      memcmp(file.build_id, wanted->build_id, file.n_build_id) == 0);
	else
		check(section && has_crc(fd, section, n_bytes));
	close(fd);
}

static void look_up(struct dso *d, const uint8_t *section, size_t n_bytes, const char *link)
{
	const struct symdebug_place where = { .host = &host };
	struct symdebug_misfit misfit = {0};
	uint8_t *image = malloc(SECTION_BYTES_MAX + 1024);
	check(image != NULL);
	Elf *elf = elf_memory((char *)image, stripped_file(image, section, n_bytes));
	char *path = NULL;
	check(elf != NULL);
	int fd = symdebug_open(&where, d, elf, &path, &misfit);
	check((fd >= 0) == (path != NULL) && (misfit.path != NULL) == (misfit.why != NULL));
	if (fd >= 0)
		check_opened(fd, d, section, n_bytes);
	fd = symdebug_open_alt(&where, link, path ? path : d->path, d->build_id, d->n_build_id);
	if (fd >= 0)
		check_opened(fd, d, NULL, 0);
	free(path);
	free(misfit.path);
	elf_end(elf);
	free(image);
}

/* A copy of the next n bytes, or fewer at the end, as a string. */
static char *text_of(struct bytes *b, size_t n)
{
	n = n < bytes_left(b) ? n : bytes_left(b);
	char *text = strndup((const char *)b->p, n);
	check(text != NULL);
	b->p += n;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct dso d = { .fd = -1 };
	if (!host.path[HOST_ROOT][0]) {
		check(elf_version(EV_CURRENT) != EV_NONE);
		make_all();
	}
	size_t n_id = bytes_u8(&b);
	n_id = n_id < bytes_left(&b) ? n_id : bytes_left(&b);
	d.n_build_id = (uint8_t)(n_id < DSO_BUILD_ID_MAX ? n_id : DSO_BUILD_ID_MAX);
	memcpy(d.build_id, b.p, d.n_build_id);
	b.p += n_id;
	b.bad = false;
	d.path = text_of(&b, bytes_u8(&b));
	size_t n_section = bytes_u16(&b);
	n_section = n_section < bytes_left(&b) ? n_section : bytes_left(&b);
	n_section = n_section < SECTION_BYTES_MAX ? n_section : SECTION_BYTES_MAX;
	const uint8_t *section = b.p;
	b.p += n_section;
	char *link = text_of(&b, SIZE_MAX);
	look_up(&d, section, n_section, link);
	free(link);
	free(d.path);
	return 0;
}
