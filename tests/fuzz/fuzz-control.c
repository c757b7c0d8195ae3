/* Text that controls a recording: sockets and pipes, commands, rotation, conditions. */

#include "cmd/record/control.h"
#include "cmd/record/rotate.h"
#include "cmd/record/trigger.h"

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

static void feed_commands(const uint8_t *data, size_t size)
{
	int fd[2];
	struct control c = { .ack_fd = -1 };
	struct control_command command;
	size_t n_lines = 0, n_ends = 0;
	if (size > 4096 || pipe2(fd, O_CLOEXEC) < 0)
		return;
	check(write(fd[1], data, size) == (ssize_t)size);
	close(fd[1]);
	c.fd = fd[0];
	for (size_t i = 0; i < size; i++)
		n_ends += data[i] == '\n' || data[i] == '\0';
	while (control_next(&c, &command)) {
		check(strlen(command.argument) <= CONTROL_LINE_MAX);
		n_lines++;
	}
	/* Each line is reported once; lines that are too long arrive in pieces. */
	check(n_lines >= n_ends && n_lines <= n_ends + size / CONTROL_LINE_MAX);
	check(c.fd < 0);
	close(fd[0]);
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
