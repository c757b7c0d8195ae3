#ifndef CPROF_CMD_RECORD_CONTROL_H
#define CPROF_CMD_RECORD_CONTROL_H

/*
 * The control descriptor of a recording: lines with commands in, acknowledgements out, byte for
 * byte as perf record --control has them (perf-record(1)).  A line is a word from the table in
 * control.c, perhaps with something behind it; each is answered with "ack\n" and a NUL.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

enum control_verb {
	CONTROL_UNKNOWN,   /* is acknowledged like the others, and does nothing */
	CONTROL_ACK,       /* an acknowledgement that came back: not answered */
	CONTROL_ENABLE, CONTROL_DISABLE, CONTROL_EVLIST, CONTROL_SNAPSHOT, CONTROL_STOP,
	CONTROL_PING,
};

struct control_command {
	enum control_verb verb;
	const char *rest;          /* of the line, behind the word: "", " cpu-clock", " -v" */
};

/* Never fails: what is no command is CONTROL_UNKNOWN.  rest borrows from line. */
struct control_command control_parse(const char *line);

/* Where commands come from, and where acknowledgements go. */
struct control_place {
	bool is_fifo;
	int fd, ack_fd;            /* "fd:CTL[,ACK]"; ack_fd -1: none */
	char *path, *ack_path;     /* "fifo:CTL[,ACK]"; owned; ack_path NULL: none */
};

/* -EINVAL when text is no place, -ENOMEM. */
int control_parse_place(const char *text, struct control_place *ret);
void control_place_done(struct control_place *p);

/* Longer lines are cut into unknown commands. */
#define CONTROL_LINE_MAX 1024

struct control {
	int fd, ack_fd;            /* -1: none; fd also when nobody can write any more */
	bool owns;                 /* closes them at the end */
	size_t n, taken;           /* bytes in buf, and how many of them belong to lines told */
	char buf[CONTROL_LINE_MAX + 1];
};

/* Opens a place.  A FIFO must exist.  -errno with e set. */
int control_open(struct control *c, const struct control_place *p, struct err *e);
void control_close(struct control *c);

/* Takes one command that is there, without waiting; false when none is.  ret->rest is valid until
 * the next call. */
bool control_next(struct control *c, struct control_command *ret);

/* Acknowledges a command.  One who does not read loses what no longer fits into the pipe. */
void control_ack(struct control *c);

#endif
