/*
 * Compatible with perf, including its accidents, since clients rely on them:
 *  - a word may be followed directly by other characters ("pings" is a ping)
 *  - a line may end in a NUL
 *  - unknown words and empty lines are acknowledged
 *  - an acknowledgement has five bytes, with a NUL at the end (seen with strace on perf 6.1).
 * Unlike perf, it waits for the rest of an incomplete line.
 *
 * The descriptors may be shared with the client, so their flags must not change: poll(2) before
 * each read and write replaces O_NONBLOCK.
 */
#include "cmd/record/control.h"

#include "base/err.h"
#include "base/pathwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *word;
	enum control_verb verb;
} words[] = {
	{ "enable", CONTROL_ENABLE }, { "disable", CONTROL_DISABLE }, { "ack", CONTROL_ACK },
	{ "snapshot", CONTROL_SNAPSHOT }, { "evlist", CONTROL_EVLIST }, { "stop", CONTROL_STOP },
	{ "ping", CONTROL_PING },
};

struct control_command control_parse(const char *line)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i].word);
		if (strncmp(line, words[i].word, n) == 0)
			return (struct control_command){ words[i].verb, line + n };
	}
	return (struct control_command){ CONTROL_UNKNOWN, line };
}

/* ---- places ------------------------------------------------------------------------- */

static bool parse_fd(const char *text, size_t n, int *ret)
{
	int fd = 0;
	if (n == 0 || n > 7)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		fd = fd * 10 + (text[i] - '0');
	}
	*ret = fd;
	return true;
}

static int parse_fifos(const char *text, struct control_place *ret)
{
	const char *comma = strchr(text, ',');
	size_t n = comma ? (size_t)(comma - text) : strlen(text);
	if (n == 0)
		return -EINVAL;
	struct control_place p = { .is_fifo = true, .fd = -1, .ack_fd = -1 };
	p.path = strndup(text, n);
	/* "fifo:CTL," has no second FIFO. */
	if (comma && comma[1])
		p.ack_path = strdup(comma + 1);
	if (!p.path || (comma && comma[1] && !p.ack_path)) {
		control_place_done(&p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

int control_parse_place(const char *text, struct control_place *ret)
{
	if (strncmp(text, "fifo:", 5) == 0)
		return parse_fifos(text + 5, ret);
	if (strncmp(text, "fd:", 3) != 0)
		return -EINVAL;
	struct control_place p = { .fd = -1, .ack_fd = -1 };
	text += 3;
	size_t n = strcspn(text, ",");
	if (!parse_fd(text, n, &p.fd) ||
	    (text[n] && !parse_fd(text + n + 1, strlen(text + n + 1), &p.ack_fd)))
		return -EINVAL;
	*ret = p;
	return 0;
}

void control_place_done(struct control_place *p)
{
	free(p->path);
	free(p->ack_path);
	p->path = p->ack_path = NULL;
}

/* ---- descriptors ---------------------------------------------------------------------- */

static int refuse(const char *path, const char *what, uid_t uid, struct err *e)
{
	err_set(e, EPERM, "--control: %s '%s' belongs to another user (uid %u), and others can "
		"write to its directory", what, path, (unsigned)uid);
	err_hint(e, "make it yourself: mkfifo, in a directory where only you can");
	return -EPERM;
}

/* In a folder of their own, users do as they like: it was the caller who named it. */
static bool is_foreign(uid_t owner, const struct stat *folder)
{
	return owner != folder->st_uid && pathwalk_is_foreign(owner, folder);
}

static int check_link(void *path, const struct pathwalk_link *link, struct err *e)
{
	return is_foreign(link->st->st_uid, link->folder)
	       ? refuse(path, "a link on the path", link->st->st_uid, e) : 0;
}

/* With O_RDWR there is always a reader and a writer: opening does not wait for the other side, and
 * reading does not end when it leaves. */
static int open_found(const char *path, const struct pathwalk *w, struct err *e)
{
	if (w->fd >= 0 && !S_ISFIFO(w->st.st_mode))
		return err_set(e, EINVAL, "--control: '%s' is not a FIFO", path);
	if (w->fd >= 0 && is_foreign(w->st.st_uid, &w->folder))
		return refuse(path, "the FIFO", w->st.st_uid, e);
	return w->fd < 0 ? -ENOENT : pathwalk_open_found(w, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* A descriptor, or -1 with e set. */
static int open_fifo(char *path, struct err *e)
{
	const struct pathwalk_policy policy = { .root_fd = -1, .link = check_link, .ctx = path };
	struct pathwalk w;
	e->code = 0;
	int fd = pathwalk_open(path, &policy, &w, e);
	if (fd == 0) {
		fd = open_found(path, &w, e);
		pathwalk_close(&w);
	}
	if (fd >= 0)
		return fd;
	if (e->code == 0) {
		err_errno(e, -fd, "--control: cannot open '%s'", path);
		err_hint(e, "create it first: mkfifo %s", path);
	}
	return -1;
}

static int check_open(int fd, struct err *e)
{
	if (fd < 0 || fcntl(fd, F_GETFD) >= 0)
		return 0;
	err_errno(e, EBADF, "--control: descriptor %d", fd);
	err_hint(e, "it must be open in the shell or program that starts cprof: exec %d<>FIFO", fd);
	return -EBADF;
}

static int open_fifos(struct control *c, const struct control_place *p, struct err *e)
{
	c->fd = open_fifo(p->path, e);
	if (c->fd < 0)
		return e->code;
	if (!p->ack_path)
		return 0;
	c->ack_fd = open_fifo(p->ack_path, e);
	return c->ack_fd < 0 ? e->code : 0;
}

static int check_fds(const struct control_place *p, struct err *e)
{
	int r = check_open(p->fd, e);
	return r < 0 ? r : check_open(p->ack_fd, e);
}

int control_open(struct control *c, const struct control_place *p, struct err *e)
{
	*c = (struct control){ .fd = p->fd, .ack_fd = p->ack_fd, .owns = p->is_fifo };
	int r = p->is_fifo ? open_fifos(c, p, e) : check_fds(p, e);
	if (r < 0)
		control_close(c);
	return r;
}

void control_close(struct control *c)
{
	if (c->owns && c->fd >= 0)
		close(c->fd);
	if (c->owns && c->ack_fd >= 0)
		close(c->ack_fd);
	c->fd = c->ack_fd = -1;
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	return poll(&p, 1, 0) == 1 && (p.revents & (events | POLLHUP | POLLERR | POLLNVAL));
}

/* Reads available bytes; false: none.  Closes the descriptor at the end of the stream. */
static bool fill_buffer(struct control *c)
{
	memmove(c->buf, c->buf + c->taken, c->n - c->taken);
	c->n -= c->taken;
	c->taken = 0;
	if (c->fd < 0 || c->n == CONTROL_LINE_MAX || !is_ready(c->fd, POLLIN))
		return false;
	ssize_t n = read(c->fd, c->buf + c->n, CONTROL_LINE_MAX - c->n);
	if (n > 0) {
		c->n += (size_t)n;
		return true;
	}
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (c->owns)
		close(c->fd);
	c->fd = -1;
	return false;
}

/* Takes a complete line from c->taken on; its end becomes a NUL. */
static bool take_line(struct control *c, const char **ret)
{
	for (size_t i = c->taken; i < c->n; i++) {
		if (c->buf[i] != '\n' && c->buf[i] != '\0')
			continue;
		c->buf[i] = '\0';
		*ret = c->buf + c->taken;
		c->taken = i + 1;
		return true;
	}
	return false;
}

bool control_next(struct control *c, struct control_command *ret)
{
	const char *line;
	bool more = true;
	while (!take_line(c, &line)) {
		if (c->taken == 0 && c->n == CONTROL_LINE_MAX) {
			c->buf[c->n] = '\0';
			c->taken = c->n;
			line = c->buf;
			break;
		}
		if (!more)
			return false;
		more = fill_buffer(c);
	}
	*ret = control_parse(line);
	return true;
}

void control_ack(struct control *c)
{
	static const char ack[] = "ack\n";
	if (c->ack_fd < 0 || !is_ready(c->ack_fd, POLLOUT))
		return;
	if (write(c->ack_fd, ack, sizeof(ack)) >= 0 || errno == EAGAIN || errno == EINTR)
		return;
	if (c->owns)
		close(c->ack_fd);
	c->ack_fd = -1;
}
