/* Text that controls a recording: sockets and pipes, commands, rotation, conditions. */

#include "base/err.h"
#include "cmd/record/control.h"
#include "cmd/record/rotate.h"
#include "cmd/record/trigger.h"
#include "fuzzdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Each line is reported once; lines that are too long arrive in pieces.  Acknowledges all. */
static size_t take_commands(struct control *c, const uint8_t *data, size_t size)
{
	struct control_command command;
	size_t n_lines = 0, n_ends = 0;
	for (size_t i = 0; i < size; i++)
		n_ends += data[i] == '\n' || data[i] == '\0';
	while (control_next(c, &command)) {
		check(strlen(command.argument) <= CONTROL_LINE_MAX);
		control_ack(c);
		n_lines++;
	}
	check(n_lines >= n_ends && n_lines <= n_ends + size / CONTROL_LINE_MAX);
	return n_lines;
}

static void check_acks(int fd, size_t n_lines)
{
	static char text[65536];
	ssize_t n = read(fd, text, sizeof(text));
	check((n < 0 ? 0 : (size_t)n) == 5 * n_lines);
	for (size_t i = 0; i < n_lines; i++)
		check(memcmp(text + 5 * i, "ack\n", 5) == 0);
}

/* By two pipes.  Returns the number of commands. */
static size_t feed_pipe(const uint8_t *data, size_t size)
{
	int fd[2], ack_fd[2];
	struct control c;
	struct err e = { 0 };
	check(pipe2(fd, O_CLOEXEC) == 0 && pipe2(ack_fd, O_CLOEXEC | O_NONBLOCK) == 0);
	check(write(fd[1], data, size) == (ssize_t)size);
	close(fd[1]);
	const struct control_place place = { .fd = fd[0], .ack_fd = ack_fd[1] };
	check(control_open(&c, &place, &e) == 0);
	size_t n_lines = take_commands(&c, data, size);
	check(c.fd < 0);
	check_acks(ack_fd[0], n_lines);
	control_close(&c);
	close(fd[0]);
	close(ack_fd[0]);
	close(ack_fd[1]);
	return n_lines;
}

/* By two FIFOs, which do not end. */
static size_t feed_fifos(const uint8_t *data, size_t size)
{
	char path[256], ack_path[256];
	struct control_place place = { .is_fifo = true, .path = path, .ack_path = ack_path };
	struct control c;
	struct err e = { 0 };
	snprintf(path, sizeof(path), "%s", fuzzdir_path("control"));
	snprintf(ack_path, sizeof(ack_path), "%s", fuzzdir_path("acks"));
	check(control_open(&c, &place, &e) == 0);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	int ack_fd = open(ack_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	check(fd >= 0 && ack_fd >= 0 && write(fd, data, size) == (ssize_t)size);
	size_t n_lines = take_commands(&c, data, size);
	check_acks(ack_fd, n_lines);
	control_close(&c);
	close(fd);
	close(ack_fd);
	return n_lines;
}

static void feed_commands(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return;
	if (!fuzzdir[0]) {
		fuzzdir_make("/dev/shm");
		check(mkfifo(fuzzdir_path("control"), 0600) == 0 &&
		      mkfifo(fuzzdir_path("acks"), 0600) == 0);
	}
	check(feed_pipe(data, size) == feed_fifos(data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_place place;
	struct rotate_spec spec;
	struct trigger trigger;
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (control_parse_place(text, &place) == 0) {
		check(place.is_fifo ? place.path && *place.path : place.fd >= 0);
		control_place_done(&place);
	}
	if (rotate_parse(text, &spec) == 0)
		check(spec.kind == ROTATE_SIGNAL || spec.limit > 0);
	if (trigger_parse(text, &trigger) == 0)
		check(trigger.limit >= 0 && trigger.limit < 1e20);
	feed_commands(data, size);
	free(text);
	return 0;
}
