/* Where unpacking can begin, kept for the next time. */

#include "symbolize/pack/packmarks.h"

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

/* All over the place. */
static bool all_same(struct reader *r)
{
	bool ok = true;
	for (size_t off = N_BYTES - 100; off < N_BYTES; off -= 400007)
		ok &= same(r, off, 100);
	for (size_t i = 0; i < 6; i++)
		ok &= same(r, i * 7654321 % (N_BYTES - 5000), 5000);
	return ok;
}

static struct packmarks *open_marks(void)
{
	struct packcache_key key = { .n_packed = n_packed, .n_bytes = N_BYTES,
				     .kind = UNPACK_ZLIB };
	struct packmarks *m = NULL;
	int fd = open(packed_path, O_RDONLY);
	packcache_set_file(&key, fd);
	close(fd);
	if (packmarks_open(dir, &key, &m) != 0)
		printf("Bail out! no marks\n");
	return m;
}

static size_t n_marks(void)
{
	struct packmarks *m = open_marks();
	size_t n = packmarks_n(m);
	for (size_t i = 1; i < n; i++)
		if (packmarks_get(m, i).off <= packmarks_get(m, i - 1).off)
			n = 0;
	packmarks_close(m);
	return n;
}

/* The one file that is there. */
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
	tap_ok(same(&r, 0, N_BYTES), "all of the section");
	close_packed(&r);
}

static void test_kept(void)
{
	struct stat st;
	struct reader r = open_packed();
	tap_ok(same(&r, 1000000, 1000), "from the packed bytes");
	close_packed(&r);
	size_t n_first = n_marks();
	tap_ok(n_first >= 2 && n_first <= 4, "so far there are marks (%zu)", n_first);
	tap_ok(stat(path(), &st) == 0 && (st.st_mode & 0777) == 0600, "for their owner");
	read_all();
	size_t n = n_marks();
	tap_ok(n >= 12 && n <= 16, "then for all of it (%zu)", n);
	r = open_packed();
	tap_ok(all_same(&r), "beginning at marks");
	close_packed(&r);
	tap_ok(n_marks() == n, "of which there are no more then");
}

/* What stands in the file counts, which only its owner could write. */
static void test_used(void)
{
	static const uint8_t zeros[PACKMARKS_WINDOW_BYTES];
	struct packmarks *m = open_marks();
	size_t n = packmarks_n(m);
	struct packmarks_place place = packmarks_get(m, n - 1);
	uint64_t off = place.off;
	packmarks_close(m);
	unlink(path());
	m = open_marks();
	tap_ok(packmarks_n(m) == 0, "no file, no marks");
	tap_ok(packmarks_add(m, &place, zeros), "one that is wrong");
	tap_ok(!packmarks_add(m, &place, zeros), "not the same again");
	place.off = PACKMARKS_WINDOW_BYTES - 1;
	tap_ok(!packmarks_add(m, &place, zeros), "none without a whole window");
	place.off = N_BYTES;
	tap_ok(!packmarks_add(m, &place, zeros), "none behind the section");
	packmarks_close(m);
	struct reader r = open_packed();
	tap_ok(!same(&r, off, 5000), "is begun at");
	tap_ok(same(&r, 0, 5000), "but not for what is before");
	close_packed(&r);
	unlink(path());
}

static void flip(size_t off)
{
	uint8_t b = 0;
	int fd = open(path(), O_RDWR);
	if (pread(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot read the marks\n");
	b ^= 0x10;
	if (pwrite(fd, &b, 1, (off_t)off) != 1)
		printf("Bail out! cannot write the marks\n");
	close(fd);
}

static void test_damage(void)
{
	struct stat st;
	unsigned n_wrong = 0, n_runs = 0;
	read_all();
	size_t n = n_marks();
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
	tap_ok(n_runs > 40 && n_wrong == 0, "a bit that flipped does no harm (%u of %u)", n_wrong,
	       n_runs);
	for (off_t size = st.st_size - 1; size > 0; size = size * 2 / 3) {
		read_all();
		if (truncate(path(), size) != 0)
			printf("Bail out! cannot cut the marks\n");
		size_t n_left = n_marks();
		tap_ok(n_left < n && n_left + 1 >= (size_t)size * n / (size_t)st.st_size,
		       "cut to %lld bytes it has whole marks", (long long)size);
		struct reader r = open_packed();
		tap_ok(all_same(&r), "that are right");
		close_packed(&r);
	}
	read_all();
	tap_ok(n_marks() == n, "all is there again");
}

static void test_two(void)
{
	unlink(path());
	struct reader r[2] = { open_packed(), open_packed() };
	bool ok = true;
	for (size_t off = 0; off < N_BYTES; off += N_BYTES / 8)
		ok &= same(&r[off / (N_BYTES / 8) % 2], off, N_BYTES / 8);
	ok &= all_same(&r[0]) && all_same(&r[1]);
	tap_ok(ok, "two at a time");
	close_packed(&r[0]);
	close_packed(&r[1]);
	tap_ok(n_marks() >= 12, "leave marks in order");
	r[0] = open_packed();
	tap_ok(all_same(&r[0]), "that are right");
	close_packed(&r[0]);
}

static void test_refused(void)
{
	size_t n = n_marks();
	chmod(path(), 0620);
	tap_ok(n_marks() == 0, "not what others may write to");
	read_all();
	chmod(path(), 0600);
	tap_ok(n_marks() == n, "which is left as it is");
	char away[100], name[400];
	snprintf(away, sizeof(away), "%s/away", root);
	snprintf(name, sizeof(name), "%s", path());
	if (rename(name, away) != 0 || symlink(away, name) != 0)
		printf("Bail out! no symbolic link\n");
	tap_ok(n_marks() == 0, "not behind a symbolic link");
	read_all();
	unlink(name);
	if (mkfifo(name, 0600) != 0)
		printf("Bail out! no FIFO\n");
	tap_ok(n_marks() == 0, "not from a FIFO");
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
	test_damage();
	test_two();
	test_refused();
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
