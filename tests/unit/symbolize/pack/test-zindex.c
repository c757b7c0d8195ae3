/* Access points of a compressed section, kept between recordings. */

#include "symbolize/pack/zindex.h"

#include "symbolize/pack/unpack.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define N_BYTES (4u << 20)

static char root[] = "/tmp/cprof-test-XXXXXX";
static char dir[64], packed_path[64];
static uint8_t bytes[N_BYTES];
static uLong n_packed;

static void make_packed(void)
{
	static uint8_t packed[2 * N_BYTES];
	uint32_t seed = 1;
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

struct reader {
	int fd;
	struct unpack *u;
};

static struct reader open_packed(void)
{
	struct reader r = { .fd = open(packed_path, O_RDONLY) };
	struct unpack_from from = { .fd = r.fd, .n_bytes = n_packed, .cache_dir = dir };
	if (unpack_open(UNPACK_ZLIB, &from, N_BYTES, 0, &r.u) != 0)
		printf("Bail out! cannot open the packed bytes\n");
	return r;
}

static void close_packed(struct reader *r)
{
	unpack_close(r->u);
	close(r->fd);
}

static bool same(struct reader *r, size_t off, size_t n)
{
	static uint8_t part[N_BYTES];
	return unpack_copy(r->u, off, part, n) == n && memcmp(part, bytes + off, n) == 0;
}

/* Parts in no order. */
static bool all_same(struct reader *r)
{
	bool ok = true;
	for (size_t off = N_BYTES - 100; off < N_BYTES; off -= 400007)
		ok &= same(r, off, 100);
	for (size_t i = 0; i < 6; i++)
		ok &= same(r, i * 7654321 % (N_BYTES - 5000), 5000);
	return ok;
}

static struct zindex *open_index(void)
{
	struct zindex_key key = { .n_packed = n_packed, .n_bytes = N_BYTES };
	struct zindex *ix = NULL;
	int fd = open(packed_path, O_RDONLY);
	tap_ok(zindex_key_set_file(&key, fd), "the key of a file");
	close(fd);
	if (zindex_open(dir, &key, &ix) != 0)
		printf("Bail out! no index\n");
	return ix;
}

static size_t n_points(void)
{
	struct zindex *ix = open_index();
	size_t n = zindex_count_before(ix, N_BYTES);
	for (size_t i = 1; i < n; i++)
		if (zindex_get(ix, i).off <= zindex_get(ix, i - 1).off)
			n = 0;
	zindex_close(ix);
	return n;
}

/* The only file in the cache. */
static const char *path(void)
{
	static char p[400];
	DIR *d = opendir(dir);
	p[0] = '\0';
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (e->d_name[0] != '.')
			snprintf(p, sizeof(p), "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
	return p;
}

static void read_all(void)
{
	struct reader r = open_packed();
	tap_ok(same(&r, 0, N_BYTES), "reading the whole section");
	close_packed(&r);
}

static void test_kept(void)
{
	struct stat st;
	struct reader r = open_packed();
	tap_ok(same(&r, 1000000, 1000), "reading without an index");
	close_packed(&r);
	size_t n_first = n_points();
	tap_ok(n_first >= 2 && n_first <= 4, "the index covers what was read (%zu)", n_first);
	tap_ok(stat(path(), &st) == 0 && (st.st_mode & 0777) == 0600, "only its owner can read it");
	read_all();
	size_t n = n_points();
	tap_ok(n >= 12 && n <= 16, "then the whole section (%zu points)", n);
	r = open_packed();
	tap_ok(all_same(&r), "reading from access points");
	close_packed(&r);
	tap_ok(n_points() == n, "adds no points");
}

/* Tries to add a point; true if it is there. */
static bool add(struct zindex *ix, struct zindex_point point)
{
	static const uint8_t zeros[ZINDEX_WINDOW_BYTES];
	size_t n = zindex_count_before(ix, UINT64_MAX);
	zindex_add(ix, &point, zeros);
	return zindex_count_before(ix, UINT64_MAX) == n + 1;
}

/* The contents of the file are trusted: only its owner could write them. */
static void test_used(void)
{
	struct zindex *ix = open_index();
	struct zindex_point point = zindex_get(ix, zindex_count_before(ix, N_BYTES) - 1);
	uint64_t off = point.off;
	zindex_close(ix);
	unlink(path());
	ix = open_index();
	tap_ok(zindex_count_before(ix, N_BYTES) == 0, "without a file the index is empty");
	tap_ok(add(ix, point), "adds a point (with a wrong window)");
	tap_ok(!add(ix, point), "refuses the same point again");
	point.off += 1000;
	tap_ok(!add(ix, point), "refuses a point too close to the last one");
	point.off = ZINDEX_WINDOW_BYTES - 1;
	tap_ok(!add(ix, point), "refuses a point without a whole window");
	point.off = N_BYTES;
	tap_ok(!add(ix, point), "refuses a point after the section");
	zindex_close(ix);
	struct reader r = open_packed();
	tap_ok(!same(&r, off, 5000), "starts at the point");
	tap_ok(same(&r, 0, 5000), "but not for bytes before it");
	close_packed(&r);
	unlink(path());
}

/* Without a cache folder, points last until close. */
static void test_in_memory(void)
{
	struct zindex_key key = { .n_packed = n_packed, .n_bytes = 16 * (uint64_t)N_BYTES };
	uint8_t window[ZINDEX_WINDOW_BYTES] = { 1 };
	for (int i = 0; i < 2; i++) {
		struct zindex *ix = NULL;
		tap_int(zindex_open(i ? "/dev/null" : NULL, &key, &ix), 0, "no folder");
		tap_ok(!add(ix, (struct zindex_point){ 1000000, 5, 1 }),
		       "points are further from each other than in a file");
		tap_ok(add(ix, (struct zindex_point){ 3000000, 5, 1 }), "first point");
		tap_ok(add(ix, (struct zindex_point){ 6000000, 9, 0 }), "second point");
		tap_int((long)zindex_count_before(ix, 5999999), 1, "one is before the second");
		tap_ok(zindex_window(ix, 1, window) && window[0] == 0, "window of the second");
		zindex_close(ix);
	}
}

static void flip(size_t off)
{
	uint8_t b = 0;
	int fd = open(path(), O_RDWR);
	if (pread(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot read the index\n");
	b ^= 0x10;
	if (pwrite(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot write the index\n");
	close(fd);
}

static void test_damage(void)
{
	struct stat st;
	unsigned n_wrong = 0, n_runs = 0;
	read_all();
	size_t n = n_points();
	stat(path(), &st);
	for (size_t off = 0; off < (size_t)st.st_size; off += off < 200 ? 7 : 19973, n_runs++) {
		flip(off);
		struct reader r = open_packed();
		n_wrong += !all_same(&r);
		close_packed(&r);
		unlink(path());
		r = open_packed();
		same(&r, N_BYTES - 1, 1);
		close_packed(&r);
	}
	tap_ok(n_runs > 40 && n_wrong == 0, "a flipped bit does no harm (%u of %u)", n_wrong,
	       n_runs);
	for (off_t size = st.st_size - 1; size > 0; size = size * 2 / 3) {
		read_all();
		if (truncate(path(), size) != 0)
			printf("Bail out! cannot truncate the index\n");
		size_t n_left = n_points();
		tap_ok(n_left < n && n_left + 1 >= (size_t)size * n / (size_t)st.st_size,
		       "truncated to %lld bytes the index has its whole records", (long long)size);
		struct reader r = open_packed();
		tap_ok(all_same(&r), "which are right");
		close_packed(&r);
	}
	read_all();
	tap_ok(n_points() == n, "the index is complete again");
}

static void test_two(void)
{
	unlink(path());
	struct reader r[2] = { open_packed(), open_packed() };
	bool ok = true;
	for (size_t off = 0; off < N_BYTES; off += N_BYTES / 8)
		ok &= same(&r[off / (N_BYTES / 8) % 2], off, N_BYTES / 8);
	ok &= all_same(&r[0]) && all_same(&r[1]);
	tap_ok(ok, "two readers at the same time");
	close_packed(&r[0]);
	close_packed(&r[1]);
	tap_ok(n_points() >= 12, "leave points in order");
	r[0] = open_packed();
	tap_ok(all_same(&r[0]), "which are right");
	close_packed(&r[0]);
}

static void test_refused(void)
{
	size_t n = n_points();
	chmod(path(), 0620);
	tap_ok(n_points() == 0, "refuses a file that others may write to");
	read_all();
	chmod(path(), 0600);
	tap_ok(n_points() == n, "and does not change it");
	char away[100], name[400];
	snprintf(away, sizeof(away), "%s/away", root);
	snprintf(name, sizeof(name), "%s", path());
	if (rename(name, away) != 0 || symlink(away, name) != 0)
		printf("Bail out! no symbolic link\n");
	tap_ok(n_points() == 0, "refuses a symbolic link");
	read_all();
	unlink(name);
	if (mkfifo(name, 0600) != 0)
		printf("Bail out! no FIFO\n");
	tap_ok(n_points() == 0, "refuses a FIFO");
	read_all();
	unlink(name);
}

int main(void)
{
	char clean[64];
	if (!mkdtemp(root))
		printf("Bail out! no temporary folder\n");
	snprintf(dir, sizeof(dir), "%s/deep/cache", root);
	snprintf(packed_path, sizeof(packed_path), "%s/packed", root);
	make_packed();
	test_kept();
	test_used();
	test_in_memory();
	test_damage();
	test_two();
	test_refused();
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
