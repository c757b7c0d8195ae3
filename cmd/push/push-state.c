/*
 * A slot is "key=value" lines and a checksum, padded with NULs.  The one with the larger generation
 * counts if its checksum is right.  A kill can interrupt pwrite(2) between pages, never the slot
 * that is not being written.
 */

#include "cmd/push/push-state.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/units.h"
#include "cmd/agent/keyvalue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_NAME "state"
#define HEAD "cprof-push=1\n"

const char *const push_loss_names[PUSH_LOSS_KINDS] = {
	[PUSH_LOST_REFUSED] = "refused",
	[PUSH_LOST_TOO_LARGE] = "too_large",
	[PUSH_LOST_UNSURE] = "unsure",
	[PUSH_LOST_UNREADABLE] = "unreadable",
};

static const char *const batch_word[] = { "idle", "sending", "answered" };

/* ---- text ---------------------------------------------------------------------------- */

/* Not hash_bytes, whose result may change: FNV-1a. */
static uint64_t checksum(const char *text, size_t n_bytes)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < n_bytes; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return h;
}

size_t push_state_print(const struct push_state *s, char text[PUSH_STATE_SLOT])
{
	FILE *to = fmemopen(text, PUSH_STATE_SLOT, "w");
	if (!to)
		return 0;
	fputs(HEAD, to);
	keyvalue_print_u64(to, "generation", s->generation);
	keyvalue_print_u64(to, "delivered", s->delivered);
	keyvalue_print_u64(to, "delivered_bytes", s->delivered_bytes);
	keyvalue_print_u64(to, "requests", s->requests);
	keyvalue_print_u64(to, "reported_at_ns", s->reported_at_ns);
	for (size_t i = 0; i < s->n_losses; i++)
		fprintf(to, "loss.%s=%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->loss[i].name,
			s->loss[i].total, s->loss[i].reported, s->loss[i].seen);
	keyvalue_print(to, "batch", batch_word[s->batch]);
	keyvalue_print_u64(to, "report", s->has_report);
	for (size_t i = 0; i < s->n_files; i++) {
		char name[SPOOL_NAME_MAX];
		spool_name_text(&s->file[i], "", name);
		keyvalue_print(to, "file", name);
	}
	long n = ftell(to);
	fflush(to);
	fprintf(to, "checksum=%016" PRIx64 "\n", n > 0 ? checksum(text, (size_t)n) : 0);
	n = ftell(to);
	return fclose(to) == 0 && n > 0 ? (size_t)n : 0;
}

static bool parse_loss(struct push_state *s, const char *name, const char *value)
{
	struct push_loss l = { .name = "" };
	if (s->n_losses == PUSH_LOSSES_MAX || strlen(name) >= sizeof(l.name) ||
	    sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64, &l.total, &l.reported,
		   &l.seen) != 3 || l.reported > l.total)
		return false;
	snprintf(l.name, sizeof(l.name), "%s", name);
	s->loss[s->n_losses++] = l;
	return true;
}

static bool parse_batch(struct push_state *s, const char *word)
{
	for (size_t i = 0; i < sizeof(batch_word) / sizeof(*batch_word); i++)
		if (strcmp(word, batch_word[i]) == 0) {
			s->batch = (enum push_batch)i;
			return true;
		}
	return false;
}

static bool parse_pair(struct push_state *s, const struct keyvalue *p)
{
	uint64_t n = 0;
	const struct { const char *key; uint64_t *to; } number[] = {
		{ "generation", &s->generation }, { "delivered", &s->delivered },
		{ "delivered_bytes", &s->delivered_bytes }, { "requests", &s->requests },
		{ "reported_at_ns", &s->reported_at_ns },
		{ "report", &n }, { "cprof-push", &n },
	};
	if (strncmp(p->key, "loss.", 5) == 0)
		return parse_loss(s, p->key + 5, p->value);
	if (strcmp(p->key, "batch") == 0)
		return parse_batch(s, p->value);
	if (strcmp(p->key, "file") == 0)
		return s->n_files < PUSH_BATCH_MAX &&
		       spool_name_parse(p->value, "", &s->file[s->n_files++]);
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (strcmp(p->key, number[i].key) == 0) {
			if (units_parse_u64(p->value, number[i].to) < 0)
				return false;
			s->has_report |= number[i].to == &n && strcmp(p->key, "report") == 0 && n;
			return true;
		}
	return strcmp(p->key, "checksum") == 0;
}

bool push_state_parse(struct push_state *s, const char *text, size_t n_bytes)
{
	static const char mark[] = "\nchecksum=";
	struct push_state got = { .fd = s->fd };
	struct keyvalues k;
	const char *end = memmem(text, n_bytes, mark, sizeof(mark) - 1);
	uint64_t sum = 0;
	if (!end || n_bytes < sizeof(HEAD) || memcmp(text, HEAD, sizeof(HEAD) - 1) != 0)
		return false;
	size_t n = (size_t)(end - text) + 1;
	if (n + sizeof(mark) - 2 + 17 > n_bytes || keyvalues_parse(text, n + sizeof(mark) - 2 + 17,
								   &k) < 0)
		return false;
	const char *value = keyvalues_get(&k, "checksum");
	bool ok = value && strlen(value) == 16 && sscanf(value, "%" SCNx64, &sum) == 1 &&
		  sum == checksum(text, n);
	for (size_t i = 0; i < k.pair.n && ok; i++)
		ok = parse_pair(&got, &k.pair.v[i]);
	keyvalues_done(&k);
	if (ok)
		*s = got;
	return ok;
}

/* ---- the file ------------------------------------------------------------------------ */

static int create(int fd, struct push_state *s, struct err *e)
{
	int r = posix_fallocate(fd, 0, 2 * PUSH_STATE_SLOT);
	return r ? err_errno(e, r, "cannot create the state") : push_state_write(s, e);
}

static int load(int fd, struct push_state *s, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot read the state");
	if (st.st_size == 0)
		return create(fd, s, e);
	CLEANUP_FREE char *text = calloc(2, PUSH_STATE_SLOT);
	if (!text)
		return err_errno(e, ENOMEM, "cannot read the state");
	ssize_t n = pread(fd, text, 2 * PUSH_STATE_SLOT, 0);
	if (n < 0)
		return err_errno(e, errno, "cannot read the state");
	struct push_state slot[2] = { { .fd = fd }, { .fd = fd } };
	bool ok[2];
	for (size_t i = 0; i < 2; i++)
		ok[i] = push_state_parse(&slot[i], text + i * PUSH_STATE_SLOT, PUSH_STATE_SLOT);
	if (ok[0] || ok[1]) {
		*s = ok[1] && (!ok[0] || slot[1].generation > slot[0].generation) ? slot[1]
										  : slot[0];
		return 0;
	}
	/* killed while it was created: nothing was sent yet */
	for (size_t i = 0; i < 2 * PUSH_STATE_SLOT; i++)
		if (text[i])
			return err_set(e, EINVAL, "the state is damaged");
	return create(fd, s, e);
}

int push_state_open(struct push_state *s, const char *folder, struct err *e)
{
	CLEANUP_CLOSE int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSE int fd = dir_fd < 0 ? -1 : openat(dir_fd, STATE_NAME, O_RDWR | O_CREAT |
							 O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, errno, "cannot open the state in '%s'", folder);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			? err_set(e, EBUSY, "another pusher uses the state in '%s'", folder)
			: err_errno(e, errno, "cannot lock the state in '%s'", folder);
	*s = (struct push_state){ .fd = fd };
	int r = load(fd, s, e);
	if (r < 0) {
		err_prefix(e, "'%s'", folder);
		return r;
	}
	s->fd = TAKE_FD(fd);
	return 0;
}

void push_state_close(struct push_state *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int push_state_write(struct push_state *s, struct err *e)
{
	CLEANUP_FREE char *text = calloc(1, PUSH_STATE_SLOT);
	s->generation++;
	if (!text || push_state_print(s, text) == 0)
		return err_errno(e, ENOMEM, "cannot write the state");
	ssize_t n = pwrite(s->fd, text, PUSH_STATE_SLOT,
			   (off_t)(s->generation % 2 * PUSH_STATE_SLOT));
	if (n != (ssize_t)PUSH_STATE_SLOT || fdatasync(s->fd) < 0)
		return err_errno(e, n >= 0 && n != (ssize_t)PUSH_STATE_SLOT ? EIO : errno,
				 "cannot write the state");
	return 0;
}

/* ---- losses -------------------------------------------------------------------------- */

static struct push_loss *find_loss(struct push_state *s, const char *name, size_t max)
{
	for (size_t i = 0; i < s->n_losses; i++)
		if (strcmp(s->loss[i].name, name) == 0)
			return &s->loss[i];
	if (s->n_losses >= max)
		return NULL;
	struct push_loss *l = &s->loss[s->n_losses++];
	*l = (struct push_loss){ .total = 0 };
	snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

void push_state_lose(struct push_state *s, enum push_loss_kind kind, uint64_t n)
{
	struct push_loss *l = n ? find_loss(s, push_loss_names[kind], PUSH_LOSSES_MAX) : NULL;
	if (l)
		l->total += n;
}

void push_state_lost_by_recorder(struct push_state *s, const char *name, uint64_t counter)
{
	struct push_loss *l = strlen(name) < PUSH_LOSS_NAME_MAX
		? find_loss(s, name, PUSH_LOSSES_MAX - PUSH_LOSS_KINDS) : NULL;
	if (!l)
		return;
	/* A smaller counter begins again: the spool is a new one. */
	l->total += counter >= l->seen ? counter - l->seen : counter;
	l->seen = counter;
}

uint64_t push_state_unreported(const struct push_state *s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s->n_losses; i++)
		n += s->loss[i].total - s->loss[i].reported;
	return n;
}
