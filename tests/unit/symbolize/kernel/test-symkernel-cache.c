#include "base/err.h"
#include "base/host.h"
#include "symbolize/kernel/symkernel.h"
#include "tests/unit/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char kallsyms[] =
	"ffffffff80e00000 T _text\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T startup_64\n"
	"ffffffff81000100 t do_it\n"
	"ffffffff81000300 T last_in_text\n"
	"ffffffff81000400 T _etext\n"
	"ffffffffc0100000 T ext4_a\t[ext4]\n";

#define BOOT "0f8fad5b-d9cb-469f-a165-70867728950e"
#define FILE_NAME "kallsyms-" BOOT

static char root[] = "/tmp/cprof-test-XXXXXX";
static char dir[128], path[256];

static void put(const char *name, const void *data, size_t n, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		printf("Bail out! cannot write %s\n", name);
	close(fd);
	chmod(name, mode);
}

static size_t get(const char *name, unsigned char *buf, size_t max)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, max);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void make_fixture(struct host *h)
{
	struct err e;
	char proc[256];
	if (!mkdtemp(root))
		printf("Bail out! no temporary folder\n");
	snprintf(proc, sizeof(proc), "mkdir -p %s/proc/sys/kernel/random %s/sys", root, root);
	if (system(proc) != 0)
		printf("Bail out! no fixture\n");
	snprintf(proc, sizeof(proc), "%s/proc/sys/kernel/random/boot_id", root);
	put(proc, BOOT "\n", sizeof(BOOT), 0644);
	snprintf(dir, sizeof(dir), "%s/cache/cprof", root);
	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	char p[256], s[256];
	snprintf(p, sizeof(p), "%s/proc", root);
	snprintf(s, sizeof(s), "%s/sys", root);
	if (host_open(h, root, p, s, &e) < 0)
		printf("Bail out! %s\n", e.what);
}

static const char *name_at(const struct symkernel *k, uint64_t address)
{
	const char *name = "-", *module;
	uint64_t start;
	symkernel_find(k, address, &name, &module, &start);
	return name;
}

static void save(const struct host *h)
{
	struct symkernel *k = NULL;
	struct err e;
	if (symkernel_open_text(kallsyms, strlen(kallsyms), &k, &e) == 0)
		symkernel_cache_save(k, h, dir);
	symkernel_close(k);
}

static void test_round_trip(const struct host *h)
{
	struct symkernel *k = NULL;
	uint64_t start = 0, end = 0;
	tap_int(symkernel_cache_open(h, dir, &k), -ENOENT, "an empty folder has no cache");
	save(h);
	struct stat st;
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
	       "only its owner can read the file");
	if (!tap_int(symkernel_cache_open(h, dir, &k), 0, "the saved file is opened"))
		return;
	symkernel_text(k, &start, &end);
	tap_ok(start == 0xffffffff81000000 && end == 0xffffffff81000400,
	       "the saved file has the bounds of the text");
	tap_ok(symkernel_base(k, "") == 0xffffffff80e00000 && symkernel_base(k, "ext4") == 0,
	       "and the kernel's first address");
	tap_str(name_at(k, 0xffffffff81000150), "do_it", "a name");
	symkernel_rest(k);
	symkernel_rest(NULL);
	tap_str(name_at(k, 0xffffffff810003ff), "last_in_text",
		"the last name, after unused pages were returned");
	tap_str(name_at(k, 0xffffffff81000401), "-", "there are no names after the text");
	tap_str(name_at(k, 0xffffffffc0100000), "-",
		"modules are not saved, because they may change");
	symkernel_close(k);
}

static void test_refusals(const struct host *h)
{
	struct symkernel *k = NULL;
	chmod(path, 0620);
	tap_int(symkernel_cache_open(h, dir, &k), -EPERM,
		"a file that others can write is refused");
	chmod(path, 0600);
	char other[300], boot[300];
	snprintf(other, sizeof(other), "%s.away", path);
	rename(path, other);
	if (symlink(other, path) < 0)
		printf("Bail out! no symbolic link\n");
	tap_int(symkernel_cache_open(h, dir, &k), -ELOOP, "a symbolic link is refused");
	unlink(path);
	rename(other, path);
	snprintf(boot, sizeof(boot), "%s/proc/sys/kernel/random/boot_id", root);
	put(boot, "1f8fad5b-d9cb-469f-a165-70867728950e\n", 37, 0644);
	tap_int(symkernel_cache_open(h, dir, &k), -ENOENT, "a file of another boot is not used");
	save(h);
	tap_ok(access(path, F_OK) < 0, "saving removes the file of another boot");
	put(boot, "../../../../../../../../etc/shadow-x\n", 37, 0644);
	tap_int(symkernel_cache_open(h, dir, &k), -EINVAL, "an invalid boot id is refused");
	put(boot, BOOT "\n", sizeof(BOOT), 0644);
	save(h);
}

/* Whatever its contents, the file is refused or looked up without harm (run with ASan). */
static void test_damage(const struct host *h)
{
	static unsigned char good[4096], bad[4096];
	size_t n = get(path, good, sizeof(good)), n_opened = 0, n_refused = 0, n_nameless = 0;
	tap_ok(n > 100 && n < sizeof(good), "a small file to damage");
	for (size_t i = 0; i < n * 8 + n; i++) {
		struct symkernel *k = NULL;
		size_t len = n;
		memcpy(bad, good, n);
		if (i < n * 8)
			bad[i / 8] ^= (unsigned char)(1u << (i % 8));
		else
			len = i - n * 8;
		put(path, bad, len, 0600);
		if (symkernel_cache_open(h, dir, &k) < 0) {
			n_refused++;
			continue;
		}
		n_opened++;
		for (uint64_t a = 0xffffffff80fffff0; a < 0xffffffff81000420; a += 8)
			n_nameless += !*name_at(k, a);
		symkernel_close(k);
	}
	tap_ok(n_refused > n, "cut and inconsistent files are refused (%zu)", n_refused);
	tap_ok(n_nameless == 0, "no symbol without a name is found (%zu)", n_nameless);
	tap_ok(n_opened > 0, "other damage gives wrong names at worst (%zu)", n_opened);
}

int main(void)
{
	struct host h;
	make_fixture(&h);
	test_round_trip(&h);
	test_refusals(&h);
	test_damage(&h);
	host_close(&h);
	char clean[300];
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
