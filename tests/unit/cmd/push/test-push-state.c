#include "cmd/push/push-state.h"

#include "base/err.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct push_loss *loss(struct push_state *s, const char *name)
{
	for (size_t i = 0; i < s->n_losses; i++)
		if (strcmp(s->loss[i].name, name) == 0)
			return &s->loss[i];
	return NULL;
}

static void test_losses(void)
{
	struct push_state s = { .fd = -1 };
	push_state_lose(&s, PUSH_LOST_REFUSED, 3);
	push_state_lose(&s, PUSH_LOST_REFUSED, 2);
	push_state_lost_by_recorder(&s, "profiles_lost", 7);
	push_state_lost_by_recorder(&s, "profiles_lost", 10);
	tap_int((long long)loss(&s, "refused")->total, 5, "losses are added");
	tap_int((long long)loss(&s, "profiles_lost")->total, 10, "a counter of the recorder");
	tap_int((long long)push_state_unreported(&s), 15, "none was reported");
	push_state_lost_by_recorder(&s, "profiles_lost", 4);
	tap_int((long long)loss(&s, "profiles_lost")->total, 14, "a counter that begins again");
	push_state_lost_by_recorder(&s, "a_name_that_is_longer_than_the_others_are", 4);
	for (int i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", i);
		push_state_lost_by_recorder(&s, name, 1);
	}
	push_state_lose(&s, PUSH_LOST_UNSURE, 1);
	push_state_lose(&s, PUSH_LOST_UNREADABLE, 1);
	push_state_lose(&s, PUSH_LOST_TOO_LARGE, 1);
	tap_ok(s.n_losses <= PUSH_LOSSES_MAX && loss(&s, "unsure") && loss(&s, "too_large"),
	       "a recorder with many counters leaves room for ours");
}

static void test_text(void)
{
	struct push_state s = { .fd = -1, .generation = 5, .delivered = 10, .batch = PUSH_SENDING };
	struct push_state got = { .fd = 77 };
	static char text[PUSH_STATE_SLOT];
	for (uint64_t i = 0; i < PUSH_BATCH_MAX; i++)
		s.file[s.n_files++] = (struct spool_name){ UINT64_MAX - i, UINT64_MAX, i };
	for (int i = 0; i < (int)PUSH_LOSSES_MAX; i++) {
		struct push_loss *l = &s.loss[s.n_losses++];
		snprintf(l->name, sizeof(l->name), "a_counter_with_a_long_name_%d", i);
		l->total = l->reported = l->seen = UINT64_MAX;
	}
	size_t n = push_state_print(&s, text);
	tap_ok(n > 0 && n < PUSH_STATE_SLOT, "the largest state fits into a slot: %zu bytes", n);
	tap_ok(push_state_parse(&got, text, sizeof(text)), "it is read");
	got.fd = -1;
	tap_ok(memcmp(&got, &s, sizeof(s)) == 0, "and the same");
	bool taken = false;
	for (size_t i = 0; i < n; i++) {
		text[i] ^= 1;
		taken |= push_state_parse(&got, text, sizeof(text));
		text[i] ^= 1;
		taken |= push_state_parse(&got, text, i);
	}
	tap_ok(!taken, "with a byte changed, or truncated, it is not valid");
}

static void write_at(const char *path, off_t at, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	tap_ok(fd >= 0 && pwrite(fd, data, n, at) == (ssize_t)n, "the file is damaged");
	close(fd);
}

static void test_file(const char *folder)
{
	char path[200];
	struct push_state s, t;
	struct err e = { 0 };
	struct stat st;
	static const char zero[2 * PUSH_STATE_SLOT];
	snprintf(path, sizeof(path), "%s/state", folder);
	tap_int(push_state_open(&s, folder, &e), 0, "a new state");
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "of its own");
	tap_int(push_state_open(&t, folder, &e), -EBUSY, "for one pusher");
	s.delivered = 1;
	tap_int(push_state_write(&s, &e), 0, "written");
	s.delivered = 2;
	tap_int(push_state_write(&s, &e), 0, "written again");
	push_state_close(&s);
	tap_int(push_state_open(&s, folder, &e), 0, "opened again");
	tap_int((long long)s.delivered, 2, "the newest one");
	uint64_t newest = s.generation;
	push_state_close(&s);
	write_at(path, (off_t)(newest % 2 * PUSH_STATE_SLOT + 100), "torn", 4);
	tap_int(push_state_open(&s, folder, &e), 0, "a torn slot");
	tap_int((long long)s.delivered, 1, "the one before it");
	push_state_close(&s);
	write_at(path, 30, "torn", 4);
	write_at(path, PUSH_STATE_SLOT + 30, "torn", 4);
	tap_int(push_state_open(&s, folder, &e), -EINVAL, "two torn ones");
	write_at(path, 0, zero, sizeof(zero));
	tap_int(push_state_open(&s, folder, &e), 0, "killed at the first write");
	push_state_close(&s);
	unlink(path);
	tap_ok(symlink("/dev/null", path) == 0 && push_state_open(&s, folder, &e) < 0, "no link");
	unlink(path);
}

int main(void)
{
	char folder[] = "/tmp/cprof-test-push.XXXXXX";
	test_losses();
	test_text();
	tap_ok(mkdtemp(folder) != NULL, "a folder");
	test_file(folder);
	rmdir(folder);
	return tap_done();
}
