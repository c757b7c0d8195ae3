/* Decompressed bytes that are cached for the next recording. */

#include "symbolize/pack/zcache.h"

#include "symbolize/pack/unpack.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define N_BYTES (1u << 20)

static char root[] = "/tmp/cprof-test-XXXXXX";
static char dir[64], packed_path[64];
static uint8_t bytes[N_BYTES];
static uLong n_packed;
static int packed_fd;

/* Writes compressed bytes that depend on the seed. */
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
	tap_int(unpack_open(UNPACK_ZLIB, &from, N_BYTES, N_BYTES, &u), 0, "opened");
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

static struct zcache *open_cache(void)
{
	struct zindex_key key = { .n_packed = n_packed, .n_bytes = N_BYTES };
	struct zcache *c = NULL;
	int fd = open(packed_path, O_RDONLY);
	zindex_key_set_file(&key, fd);
	close(fd);
	return zcache_open(dir, &key, &c) == 0 ? c : NULL;
}

static uint64_t n_cached(void)
{
	struct zcache *c = open_cache();
	uint64_t n = c ? zcache_rest(c).off : 0;
	zcache_close(c);
	return n;
}

/* The only file in the cache. */
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
	tap_ok(same(u, 100, 5000), "a few bytes");
	close_packed(u);
	tap_str(cached_path(), "", "are not cached");
	u = open_packed(dir);
	tap_ok(same(u, 100000, 100000), "more, decompressed");
	close_packed(u);
	uint64_t n = n_cached();
	tap_ok(n >= 200000 && n < N_BYTES, "are cached up to a block boundary (%llu)",
	       (unsigned long long)n);
	tap_ok(stat(cached_path(), &st) == 0 && (st.st_mode & 0777) == 0600, "for the owner only");
	u = open_packed(dir);
	tap_ok(same(u, 199000, 1000) && same(u, 0, 200000), "are read from the cache");
	close_packed(u);
	tap_ok(n_cached() == n, "which does not change");
	u = open_packed(dir);
	tap_ok(same(u, n - 10, 30000), "bytes across the end of the cache");
	close_packed(u);
	tap_ok(n_cached() == N_BYTES, "then everything is cached");
	u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "and is right");
	close_packed(u);
}

/* ---- files that must not be used ------------------------------------------- */

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
		if (unpack_open(UNPACK_ZLIB, &from, N_BYTES, N_BYTES, &u) < 0 ||
		    !same(u, 0, N_BYTES))
			n_wrong++;
		close_packed(u);
		n_wrong += n_cached() != N_BYTES;
	}
	tap_ok(n_runs > 140 && n_wrong == 0, "a flipped bit does no harm and is repaired");
	for (off_t n = st.st_size - 1; n >= 0; n -= 99 + n / 5) {
		if (truncate(cached_path(), n) != 0)
			printf("Bail out! cannot cut the cache\n");
		tap_ok(n_cached() == 0, "truncated to %lld bytes it is refused", (long long)n);
	}
	unlink(cached_path());
}

static void fill_cache(void)
{
	struct unpack *u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "all bytes");
	close_packed(u);
	tap_ok(n_cached() == N_BYTES, "are cached");
}

static void test_refused(void)
{
	fill_cache();
	make_packed(77);
	tap_ok(n_cached() == 0, "the cache of a rewritten file is not used");
	struct unpack *u = open_packed(dir);
	tap_ok(same(u, 0, N_BYTES), "the file is decompressed instead");
	close_packed(u);
	chmod(packed_path, 0640);
	tap_ok(n_cached() == 0, "nor for a file whose inode changed");
	char clean[100];
	snprintf(clean, sizeof(clean), "rm -f %s/*", dir);
	tap_int(system(clean), 0, "(clear the cache)");
	fill_cache();
	chmod(cached_path(), 0620);
	tap_ok(n_cached() == 0, "a file that others may write to is not used");
	chmod(cached_path(), 0600);
	char away[100], name[400];
	snprintf(away, sizeof(away), "%s/away", root);
	snprintf(name, sizeof(name), "%s", cached_path());
	if (rename(name, away) != 0 || symlink(away, name) != 0)
		printf("Bail out! no symbolic link\n");
	tap_ok(n_cached() == 0, "nor a symbolic link");
	unlink(name);
	if (mkfifo(name, 0600) != 0)
		printf("Bail out! no FIFO\n");
	tap_ok(n_cached() == 0, "nor a FIFO");
	unlink(name);
	rename(away, name);
	tap_ok(n_cached() == N_BYTES, "the file itself is still good");
}

static void test_no_folder(void)
{
	static const char *const none[] = { "/proc/self/none", "/dev/null", "" };
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct unpack *u = open_packed(none[i]);
		tap_ok(same(u, 0, N_BYTES), "'%s' is not a folder, and nothing is lost", none[i]);
		close_packed(u);
	}
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
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
