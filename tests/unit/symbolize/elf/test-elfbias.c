/* From addresses of a profile to those of an ELF file: this program itself. */

#include "symbolize/elf/elfbias.h"

#include "base/err.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct self {
	uint64_t load;           /* where the file's address 0 is in memory */
	uint64_t code_off, code_vaddr, code_bytes, data_off;
	bool has_build_id;
};

static bool has_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *p)
{
	const char *at = (const char *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_memsz;
	while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)at;
		if (n->n_type == NT_GNU_BUILD_ID && memcmp(n + 1, "GNU", 4) == 0)
			return true;
		at += sizeof(*n) + ((n->n_namesz + 3) & ~3u) + ((n->n_descsz + 3) & ~3u);
	}
	return false;
}

static int look_at_self(struct dl_phdr_info *info, size_t n, void *ctx)
{
	struct self *s = ctx;
	s->load = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		s->has_build_id |= p->p_type == PT_NOTE && has_build_id(info, p);
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			s->code_off = p->p_offset;
			s->code_vaddr = p->p_vaddr;
			s->code_bytes = p->p_filesz;
		} else if (p->p_type == PT_LOAD && p->p_flags & PF_W) {
			s->data_off = p->p_offset;
		}
	}
	return 1;                /* the first one is the program */
}

static int find(const char *path, const char *build_id, uint64_t start, uint64_t off, uint64_t *ret)
{
	struct err e = { 0 };
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int r = elfbias_find(fd, path, build_id, start, off, ret, &e);
	close(fd);
	return r;
}

static void test_addresses(const struct self *s)
{
	const char *self = "/proc/self/exe";
	uint64_t bias = 1, address = (uint64_t)(uintptr_t)test_addresses;
	uint64_t page = s->code_off & ~UINT64_C(4095), inside = s->code_off - page;
	uint64_t start = s->load + s->code_vaddr - inside;
	tap_int(find(self, "", start, page, &bias), 0, "a mapping of the process");
	tap_ok(address + bias == address - s->load, "its bias gives addresses of the file");
	tap_int(find(self, "", s->code_vaddr, s->code_off, &bias), 0, "a mapping of the file");
	tap_int((long long)bias, 0, "its addresses are those of the file already");
	tap_int(find(self, "", start + 4096, page + 4096, &bias), 0, "a part of the segment");
	tap_ok(address + bias == address - s->load, "a part of the segment has the same bias");
}

static void test_refused(const struct self *s)
{
	uint64_t bias;
	char path[] = "/tmp/cprof-test-XXXXXX";
	int fd = mkstemp(path);
	tap_int(find("/proc/self/exe", "", 0, s->data_off, &bias), -EINVAL,
		"a data segment is refused");
	tap_int(find("/proc/self/exe", "", 0, UINT64_C(1) << 40, &bias), -EINVAL,
		"an offset past the end of the file is refused");
	if (s->has_build_id)
		tap_int(find("/proc/self/exe", "00", 0, s->code_off, &bias), -ESTALE,
			"a file with another build id is refused");
	tap_int(find("/proc/self/none", "", 0, 0, &bias), -ENOENT, "a missing file is reported");
	tap_int(find("/dev/null", "", 0, 0, &bias), -EINVAL, "a device is refused");
	tap_int(find(path, "", 0, 0, &bias), -EINVAL, "an empty file is refused");
	if (fd < 0 || write(fd, "\177ELF, more or less", 19) != 19)
		printf("Bail out! no temporary file\n");
	tap_int(find(path, "", 0, 0, &bias), -EINVAL, "a damaged ELF header is refused");
	close(fd);
	unlink(path);
	if (mkfifo(path, 0600) != 0)
		printf("Bail out! no FIFO\n");
	tap_int(find(path, "", 0, 0, &bias), -EINVAL, "a FIFO is refused");
	unlink(path);
}

int main(void)
{
	struct self self = { 0 };
	dl_iterate_phdr(look_at_self, &self);
	test_addresses(&self);
	test_refused(&self);
	return tap_done();
}
