/* Processes of one file share what its contents say, and only as long as these are the same. */

#include "interp/interp-file.h"
#include "symbolize/elf/dso.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LANGUAGES 5u

static const struct runtime_symbol symbol[INTERP_FILE_SYMBOLS_MAX] = {
	{ .name = "start", .vaddr = 0x1000 },
};
extern const char __executable_start[];
static unsigned int n_asked;

/* A copy of this program, with symbols. */
static int copy_program(void)
{
	char path[] = "/tmp/cprof-test-XXXXXX", bytes[4096];
	FILE *from = fopen("/proc/self/exe", "rb");
	int fd = mkstemp(path);
	if (!from || fd < 0) {
		puts("Bail out! no copy of the program");
		exit(1);
	}
	unlink(path);
	for (size_t n; (n = fread(bytes, 1, sizeof(bytes), from)) > 0;)
		if (write(fd, bytes, n) != (ssize_t)n)
			exit(1);
	fclose(from);
	return fd;
}

static struct dso new_dso(uint32_t serial)
{
	return (struct dso){ .serial = serial, .fd = copy_program(), .is_elf = true };
}

static void share(void)
{
	struct interp_files f = { 0 };
	struct dso d = new_dso(7), other = new_dso(8);
	tap_ok(!interp_files_take(&f, &d, LANGUAGES), "a file that nobody has read is unknown");
	struct interp_file *file = interp_files_add(&f, &d, LANGUAGES, NULL, symbol);
	tap_ok(file && file->symbol[0].vaddr == 0x1000, "its symbols are kept");
	tap_ok(interp_files_take(&f, &d, LANGUAGES) == file, "the next process shares them");
	tap_ok(!interp_files_take(&f, &other, LANGUAGES), "one with another file does not");
	tap_ok(!interp_files_take(&f, &d, 1), "nor one for which it may be another language");
	tap_ok(!interp_files_take(NULL, &d, LANGUAGES), "nor one that shares nothing");
	interp_file_release(file);
	interp_file_release(file);
	interp_files_trim(&f);
	tap_ok(interp_files_take(&f, &d, LANGUAGES) == file,
	       "it stays for a moment after the last one");
	interp_file_release(file);
	interp_files_trim(&f);
	interp_files_trim(&f);
	tap_int(f.v.n, 0, "but not for long");
	interp_files_done(&f);
	close(d.fd);
	close(other.fd);
}

static bool is_known_name(const char *name)
{
	n_asked++;
	return strcmp(name, "main") == 0;
}

int main(void);

static uint64_t vaddr_of(void (*function)(void))
{
	return (uintptr_t)function - (uintptr_t)__executable_start;
}

static void write_in_place(void)
{
	struct interp_files f = { 0 };
	struct dso d = new_dso(7);
	struct interp_file *old = interp_files_add(&f, &d, LANGUAGES, NULL, symbol);
	old->of_language = malloc(1);
	usleep(20000); /* the kernel's clock for ctime ticks */
	char byte = 1;
	tap_ok(pwrite(d.fd, &byte, 1, 9) == 1, "a file of the same size is written in place");
	tap_ok(!interp_files_take(&f, &d, LANGUAGES), "then what was read is not taken");
	struct interp_file *new = interp_files_add(&f, &d, LANGUAGES, NULL, symbol);
	tap_ok(interp_files_take(&f, &d, LANGUAGES) == new && !new->of_language,
	       "but read again");
	tap_ok(old->symbol[0].vaddr == 0x1000, "and the process that had it keeps it");
	interp_file_release(old);
	interp_file_release(new);
	interp_file_release(new);
	if (ftruncate(d.fd, 100) == 0)
		tap_ok(!interp_files_take(&f, &d, LANGUAGES), "nor is it after a truncation");
	tap_int(f.v.n, 0, "what nobody uses is closed at once");
	close(d.fd);
	interp_files_done(&f);
}

static void remember_glue(void)
{
	struct dso d = new_dso(7);
	struct interp_file *file = interp_files_add(NULL, &d, LANGUAGES, NULL, symbol);
	uint64_t of_main = vaddr_of((void (*)(void))main), of_other = vaddr_of(share);
	for (unsigned int i = 0; i < 3; i++) {
		tap_ok(interp_file_is_glue(file, of_main, is_known_name), "a function of glue");
		tap_ok(!interp_file_is_glue(file, of_other, is_known_name), "another function");
		tap_ok(interp_file_is_glue(file, 1, is_known_name), "one without a name");
		tap_ok(interp_file_is_glue(file, 1ull << 63, is_known_name), "a huge address");
		tap_ok(interp_file_is_glue(file, 0, is_known_name), "address 0");
	}
	tap_int(n_asked, 2, "each name is compared once");
	interp_file_release(file);
	close(d.fd);
}

static void limit(void)
{
	struct interp_files f = { 0 };
	struct dso d = new_dso(1);
	for (d.serial = 1; d.serial <= INTERP_FILES_MAX; d.serial++)
		interp_file_release(interp_files_add(&f, &d, LANGUAGES, NULL, symbol));
	tap_int(f.v.n, INTERP_FILES_MAX, "many files are shared");
	struct interp_file *more = interp_files_add(&f, &d, LANGUAGES, NULL, symbol);
	tap_ok(more && f.v.n == INTERP_FILES_MAX, "one more is not, but can be used");
	interp_file_release(more);
	interp_files_done(&f);
	close(d.fd);
}

int main(void)
{
	share();
	write_in_place();
	remember_glue();
	limit();
	return tap_done();
}
