#include "base/err.h"
#include "cmd/agent/keyvalue.h"
#include "cmd/agent/spool-write.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static struct spool_writer opened(uint64_t bytes_max, uint64_t files_max, int want)
{
	struct spool_writer w = { .dir_fd = -1, .bytes_max = bytes_max, .files_max = files_max };
	struct err e = { 0 };
	tap_int(spool_writer_open(&w, folder, NULL, &e), want, "the spool is opened, or not");
	return w;
}

static int add(struct spool_writer *w, uint64_t i, size_t n)
{
	char *data = calloc(n + 1, 1);
	int r = spool_writer_add(w, &(struct spool_name){ i, i, 1 }, data, n, "event=x\n", 8);
	free(data);
	return r;
}

static bool exists(const struct spool_writer *w, uint64_t i, const char *suffix)
{
	char file[SPOOL_NAME_MAX];
	spool_name_text(&(struct spool_name){ i, i, 1 }, suffix, file);
	return faccessat(w->dir_fd, file, F_OK, 0) == 0;
}

static void limits(void)
{
	struct spool_writer w = opened(10 * (3000 + SPOOL_META_BYTES), 1000, 0);
	struct spool_list l = { 0 };
	struct err e = { 0 };
	bool holds = true;
	for (uint64_t i = 1; i <= 50; i++) {
		tap_int(add(&w, i, 3000), 0, "a profile is added");
		spool_list(w.dir_fd, &l, &e);
		holds &= l.n_bytes + l.entry.n * SPOOL_META_BYTES <= w.bytes_max;
		spool_list_done(&l);
	}
	tap_ok(holds, "the limit of bytes holds all the time");
	tap_ok(exists(&w, 50, SPOOL_PROFILE) && exists(&w, 50, SPOOL_META), "the newest is there");
	tap_ok(!exists(&w, 1, SPOOL_PROFILE) && !exists(&w, 1, SPOOL_META), "the oldest is not");
	tap_int((long long)(w.n.profiles_lost + w.n_files), 50, "what was removed is counted");
	tap_int((long long)w.n.bytes_lost, (long long)w.n.profiles_lost * 3000, "in bytes, too");
	tap_int(add(&w, 51, 60000), -ENOSPC, "a profile that is larger than the spool fails");
	tap_int((long long)w.n.profiles_failed, 1, "and is counted");
	tap_int(spool_writer_count(&w), 0, "the counters are written");
	spool_writer_close(&w);
	w = opened(1 << 20, 5, 0);
	tap_int((long long)w.n.profiles, 50, "the next recorder goes on counting");
	holds = true;
	for (uint64_t i = 60; i < 80; i++) {
		add(&w, i, 10);
		spool_list(w.dir_fd, &l, &e);
		holds &= i == 60 || l.entry.n <= 5;
		spool_list_done(&l);
	}
	tap_ok(holds, "the limit of files holds, from the first profile on");
	/* The pusher removes what it has sent. */
	for (uint64_t i = 60; i < 80; i++)
		spool_remove(w.dir_fd, &(struct spool_name){ i, i, 1 });
	uint64_t lost = w.n.profiles_lost;
	tap_ok(add(&w, 90, 10) == 0 && w.n.profiles_lost == lost, "there is room: nothing is lost");
	spool_writer_close(&w);
}

static void leftovers(void)
{
	struct spool_writer w = opened(1 << 20, 100, 0);
	char meta[SPOOL_NAME_MAX];
	spool_name_text(&(struct spool_name){ 500, 500, 1 }, SPOOL_META, meta);
	close(openat(w.dir_fd, meta, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(openat(w.dir_fd, ".tmp-x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(openat(w.dir_fd, "notes", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	add(&w, 600, 10);
	opened(1 << 20, 100, -EBUSY);
	spool_writer_close(&w);
	w = opened(1 << 20, 100, 0);
	tap_ok(faccessat(w.dir_fd, meta, F_OK, 0) < 0, "a .meta without its profile is removed");
	tap_ok(faccessat(w.dir_fd, ".tmp-x", F_OK, 0) < 0, "and so is half a file");
	tap_ok(faccessat(w.dir_fd, "notes", F_OK, 0) == 0, "other files stay");
	tap_ok(w.n.windows == 601, "numbers are not used again");
	spool_writer_close(&w);
	chmod(folder, 0777);
	opened(1 << 20, 100, -EPERM);
	chmod(folder, 0700);
}

static uint64_t shown(const struct spool_writer *w, const char *key)
{
	struct keyvalues k;
	struct err e = { 0 };
	if (keyvalues_read(w->dir_fd, SPOOL_COUNTERS, &k, &e) < 0)
		return UINT64_MAX;
	uint64_t n = keyvalues_get_u64(&k, key);
	keyvalues_done(&k);
	return n;
}

static void kills(void)
{
	struct spool_writer w = opened(1 << 20, 100, 0);
	uint64_t failed = w.n.windows_failed, windows = w.n.windows;
	spool_writer_begin(&w);
	tap_int((long long)shown(&w, "recording"), 1, "a recorder is running");
	spool_writer_close(&w);
	w = opened(1 << 20, 100, 0);
	tap_int((long long)(w.n.windows_failed - failed), 0, "a check counts nothing");
	spool_writer_begin(&w);
	tap_int((long long)(shown(&w, "windows_failed") - failed), 1, "the one before was killed");
	tap_int((long long)(shown(&w, "windows") - windows), 1, "with one window");
	spool_writer_end(&w);
	spool_writer_close(&w);
	w = opened(1 << 20, 100, 0);
	spool_writer_begin(&w);
	tap_int((long long)(w.n.windows_failed - failed), 1, "this one was not");
	spool_writer_end(&w);
	spool_writer_close(&w);
}

/* The pusher can write to the folder: what it links there stays as it is. */
static void links(void)
{
	struct spool_writer w = opened(1 << 20, 100, 0);
	struct stat st = { 0 };
	const struct { const char *name; bool is_hard; } kind[] = { { "soft", 0 }, { "hard", 1 } };
	for (size_t i = 0; i < 2; i++) {
		close(openat(w.dir_fd, "victim", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
		unlinkat(w.dir_fd, ".tmp-lost", 0);
		int r = kind[i].is_hard ? linkat(w.dir_fd, "victim", w.dir_fd, ".tmp-lost", 0)
					: symlinkat("victim", w.dir_fd, ".tmp-lost");
		tap_ok(r == 0 && spool_writer_count(&w) == 0 && spool_writer_count(&w) == 0,
		       "counters are written beside a %s link", kind[i].name);
		tap_ok(fstatat(w.dir_fd, "victim", &st, 0) == 0 && st.st_size == 0,
		       "whose file stays as it was");
	}
	spool_writer_close(&w);
}

int main(void)
{
	char command[100];
	snprintf(folder, sizeof(folder), "/tmp/test-spool-write-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	limits();
	leftovers();
	kills();
	links();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	tap_int(system(command), 0, "the folder is removed");
	return tap_done();
}
