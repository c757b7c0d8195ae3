#ifndef CPROF_CMD_RECORD_CONTROL_H
#define CPROF_CMD_RECORD_CONTROL_H

/*
 * The control descriptor of a recording: it receives commands and sends acknowledgements, byte for
 * byte like perf record --control (perf-record(1)).  A line is a word from the table in control.c,
 * possibly with an argument; the answer to each is "ack\n" and a NUL.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

enum control_verb {
	CONTROL_UNKNOWN,   /* acknowledged like the others, without effect */
	CONTROL_ACK,       /* an acknowledgement that came back: not answered */
	CONTROL_ENABLE, CONTROL_DISABLE, CONTROL_EVLIST, CONTROL_SNAPSHOT, CONTROL_STOP,
	CONTROL_PING,
};

struct control_command {
	enum control_verb verb;
	const char *argument;      /* the line after the word: "", " cpu-clock", " -v" */
};

/* Never fails: other lines are CONTROL_UNKNOWN.  The argument points into line. */
struct control_command control_parse(const char *line);

/* Where to read commands and write acknowledgements. */
struct control_place {
	bool is_fifo;
	int fd, ack_fd;            /* "fd:CTL[,ACK]"; ack_fd -1: none */
	char *path, *ack_path;     /* "fifo:CTL[,ACK]"; owned; ack_path NULL: none */
};

/* -EINVAL if text is not such a place, -ENOMEM. */
int control_parse_place(const char *text, struct control_place *ret);
void control_place_done(struct control_place *p);

/* Longer lines are split into unknown commands. */
#define CONTROL_LINE_MAX 1024

struct control {
	int fd, ack_fd;            /* -1: none; fd also after the last writer has left */
	bool owns;                 /* closes them at the end */
	size_t n, taken;           /* bytes in buf; how many of them control_next() has returned */
	char buf[CONTROL_LINE_MAX + 1];
};

/* Opens a place.  A FIFO must exist.  -errno with e set. */
int control_open(struct control *c, const struct control_place *p, struct err *e);
void control_close(struct control *c);

/* Takes one command without waiting; false: none.  ret->argument is valid until the next call. */
bool control_next(struct control *c, struct control_command *ret);

/* Acknowledges a command.  The acknowledgement is lost if the pipe is full. */
void control_ack(struct control *c);

#endif
