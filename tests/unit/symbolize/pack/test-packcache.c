/* What was unpacked, kept for the next time; and files that are kept in general. */

#include "symbolize/pack/packcache.h"

#include "symbolize/pack/cachefile.h"
#include "symbolize/pack/unpack.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define N_BYTES (1u << 20)

static char root[] = "/tmp/cprof-test-XXXXXX";
static char dir[64], packed_path[64];
static uint8_t bytes[N_BYTES];
static uLong n_packed;
static int packed_fd;

/* Writes the packed bytes of what begins with another seed. */
static void make_packed(uint32_t seed)
{
	static uint8_t packed[2 * N_BYTES];
	for (size_t i = 0; i < N_BYTES; i++) {
		seed = seed * 1103515245 + 12345;
		bytes[i] = i % 3 ? (uint8_t)(seed >> 16 & 15) : (uint8_t)(i >> 9);
	}
	n_packed = sizeof(packed);
	int fd = open(packed_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (compress(packed, &n_packed, bytes, N_BYTES) != Z_OK ||
	    write(fd, packed, n_packed) != (ssize_t)n_packed)
		printf("Bail out! no packed file\n");
	close(fd);
}

static struct unpack *open_packed(const char *cache)
{
	packed_fd = open(packed_path, O_RDONLY);
	struct unpack_from from = { .fd = packed_fd, .n_bytes = n_packed, .cache_dir = cache };
	struct unpack *u = NULL;
	tap_int(unpack_open(UNPACK_ZLIB, &from, N_BYTES, UNPACK_KEEP_BYTES, &u), 0, "opened");
	return u;
}

static void close_packed(struct unpack *u)
{
	unpack_close(u);
	close(packed_fd);
}

static bool same(struct unpack *u, size_t off, size_t n)
{
	static uint8_t part[N_BYTES];
	return unpack_copy(u, off, part, n) == n && memcmp(part, bytes + off, n) == 0;
}

static struct packcache *open_cache(void)
{
	struct packcache_key key = { .n_packed = n_packed, .n_bytes = N_BYTES,
				     .kind = UNPACK_ZLIB };
	struct packcache *c = NULL;
	int fd = open(packed_path, O_RDONLY);
	packcache_set_file(&key, fd);
	close(fd);
	return packcache_open(dir, &key, &c) == 0 ? c : NULL;
}

static uint64_t n_cached(void)
{
	struct packcache *c = open_cache();
	uint64_t n = c ? packcache_bytes(c) : 0;
	packcache_close(c);
	return n;
}

/* The one file that is there. */
static const char *cached_path(void)
{
	static char path[400];
	DIR *d = opendir(dir);
	path[0] = '\0';
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (e->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
	return path;
}

/* ---- growing ------------------------------------------------------------- */

static void test_growing(void)
{
	struct stat st;
	struct unpack *u = open_packed(NULL);
	tap_ok(same(u, 0, 200000), "without a folder");
	close_packed(u);
	u = open_packed(dir);
	tap_ok(same(u, 100, 5000), "a little");
	close_packed(u);
	tap_str(cached_path(), "", "which is not worth being kept");
	u = open_packed(dir);
	tap_ok(same(u, 100000, 100000), "more, from the packed bytes");
	close_packed(u);
	uint64_t n = n_cached();
	tap_ok(n >= 200000 && n < N_BYTES, "is kept to the end of a block (%llu)",
	       (unsigned long long)n);
	tap_ok(stat(cached_path(), &st) == 0 && (st.st_mode & 0777) == 0600, "for its owner");
	u = open_packed(dir);
	tap_ok(same(u, 199000, 1000) && same(u, 0, 200000), "comes from the cache");
	close_packed(u);
	tap_ok(n_cached() == n, "which stays as it is");
	u = open_packed(dir);
	tap_ok(same(u, n - 10, 30000), "beyond, where the cache ends");
	close_packed(u);
	tap_ok(n_cached() == N_BYTES, "then all is kept");
	u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "and is right");
	close_packed(u);
}

/* ---- what must not be believed ------------------------------------------- */

static void flip(size_t off)
{
	uint8_t b = 0;
	int fd = open(cached_path(), O_RDWR);
	if (pread(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot read the cache\n");
	b ^= 0x10;
	if (pwrite(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot write the cache\n");
	close(fd);
}

static void test_damage(void)
{
	struct stat st;
	unsigned n_wrong = 0, n_runs = 0;
	stat(cached_path(), &st);
	for (size_t off = 0, step; off < (size_t)st.st_size; off += step, n_runs++) {
		step = off < 130 ? 1 : off < 500 ? 37 : 199999;
		flip(off);
		packed_fd = open(packed_path, O_RDONLY);
		struct unpack_from from = { .fd = packed_fd, .n_bytes = n_packed,
					    .cache_dir = dir };
		struct unpack *u = NULL;
		if (unpack_open(UNPACK_ZLIB, &from, N_BYTES, UNPACK_KEEP_BYTES, &u) < 0 ||
		    !same(u, 0, N_BYTES))
			n_wrong++;
		close_packed(u);
		n_wrong += n_cached() != N_BYTES;
	}
	tap_ok(n_runs > 140 && n_wrong == 0, "a bit that flipped does no harm, and is mended");
	for (off_t n = st.st_size - 1; n >= 0; n -= 99 + n / 5) {
		if (truncate(cached_path(), n) != 0)
			printf("Bail out! cannot cut the cache\n");
		tap_ok(n_cached() == 0, "cut to %lld bytes it is refused", (long long)n);
	}
	unlink(cached_path());
}

static void fill_cache(void)
{
	struct unpack *u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "all of it");
	close_packed(u);
	tap_ok(n_cached() == N_BYTES, "is kept");
}

static void test_refused(void)
{
	fill_cache();
	make_packed(77);
	tap_ok(n_cached() == 0, "not of a file that was written anew");
	struct unpack *u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "which is unpacked instead");
	close_packed(u);
	chmod(packed_path, 0640);
	tap_ok(n_cached() == 0, "nor of one whose inode changed at all");
	char clean[100];
	snprintf(clean, sizeof(clean), "rm -f %s/*", dir);
	tap_int(system(clean), 0, "(the cache is emptied)");
	fill_cache();
	chmod(cached_path(), 0620);
	tap_ok(n_cached() == 0, "not what others may write to");
	chmod(cached_path(), 0600);
	char away[100], name[400];
	snprintf(away, sizeof(away), "%s/away", root);
	snprintf(name, sizeof(name), "%s", cached_path());
	if (rename(name, away) != 0 || symlink(away, name) != 0)
		printf("Bail out! no symbolic link\n");
	tap_ok(n_cached() == 0, "not behind a symbolic link");
	unlink(name);
	if (mkfifo(name, 0600) != 0)
		printf("Bail out! no FIFO\n");
	tap_ok(n_cached() == 0, "not from a FIFO");
	unlink(name);
	rename(away, name);
	tap_ok(n_cached() == N_BYTES, "the file itself is good still");
}

static void test_no_folder(void)
{
	static const char *const none[] = { "/proc/self/none", "/dev/null", "" };
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct unpack *u = open_packed(none[i]);
		tap_ok(same(u, 0, N_BYTES), "'%s' is no folder, and nothing is lost", none[i]);
		close_packed(u);
	}
}

/* ---- how many are kept --------------------------------------------------- */

static void put(const char *name, size_t n, long age_s)
{
	static uint8_t zeros[1000];
	struct timespec times[2] = { { .tv_sec = time(NULL) - age_s }, { 0 } };
	char path[200];
	times[1] = times[0];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, zeros, n) != (ssize_t)n || futimens(fd, times) != 0)
		printf("Bail out! cannot write %s\n", path);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[200];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void test_limit(void)
{
	put("a-old", 500, 90000);
	put("a-new", 500, 10);
	put("a-mid", 500, 5000);
	put("b-old", 500, 99999);
	put(".a-dead.1", 100, 99999);
	put(".a-busy.2", 100, 10);
	int fd = cachefile_open_dir(dir);
	tap_ok(fd >= 0, "the folder");
	cachefile_limit(fd, "a-", NULL, 1500);
	tap_ok(is_there("a-old") && is_there("a-new") && is_there("a-mid"), "all fit");
	tap_ok(!is_there(".a-dead.1") && is_there(".a-busy.2"), "what was never finished goes");
	cachefile_limit(fd, "a-", "a-old", 999);
	tap_ok(is_there("a-old") && is_there("a-new") && !is_there("a-mid"),
	       "the one that was of no use for longest goes, but not the one to keep");
	tap_ok(is_there("b-old"), "others are left alone");
	char path[200];
	uint64_t n_bytes = 0;
	struct stat st;
	snprintf(path, sizeof(path), "%s/a-old", dir);
	int file = cachefile_open(dir, "a-old", &n_bytes);
	tap_int((long long)n_bytes, 500, "how long a file is");
	cachefile_touch(file);
	tap_ok(stat(path, &st) == 0 && st.st_mtime > time(NULL) - 5000, "used now");
	close(file);
	const struct cachefile_part part = { "text", 4 };
	tap_int(cachefile_write(fd, "a-file", &part, 1), 0, "a file is written");
	tap_int(cachefile_write(fd, "none/a-file", &part, 1), -ENOENT, "not elsewhere");
	close(fd);
}

int main(void)
{
	char clean[64];
	if (!mkdtemp(root))
		printf("Bail out! no temporary folder\n");
	snprintf(dir, sizeof(dir), "%s/deep/cache", root);
	snprintf(packed_path, sizeof(packed_path), "%s/packed", root);
	make_packed(1);
	test_growing();
	test_damage();
	test_refused();
	test_no_folder();
	test_limit();
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
