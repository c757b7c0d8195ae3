#ifndef CPROF_CMD_TOP_TOP_SCREEN_H
#define CPROF_CMD_TOP_TOP_SCREEN_H

/*
 * The terminal of cprof top: the alternate screen, and keys one by one.  The terminal is restored
 * however the program ends, except by SIGKILL.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct top_screen {
	int signal_fd;             /* readable at SIGTSTP, SIGCONT, SIGWINCH */
	int width, height;
	bool is_open;
	char pending[16];          /* the beginning of an escape sequence */
	size_t n_pending;
};

/* Keys that are not characters. */
enum top_screen_key {
	TOP_SCREEN_NONE = 0, TOP_SCREEN_UP = 256, TOP_SCREEN_DOWN, TOP_SCREEN_PAGE_UP,
	TOP_SCREEN_PAGE_DOWN, TOP_SCREEN_HOME, TOP_SCREEN_OTHER,
	TOP_SCREEN_EOF,            /* the terminal is gone */
};

/* Stdin and stdout must be a terminal that can move its cursor, else -ENOTTY with e set. */
int top_screen_check(struct err *e);

/* Blocks the signals above, and changes the terminal. */
int top_screen_open(struct top_screen *s, struct err *e);
void top_screen_close(struct top_screen *s);

/* Restores the terminal before the program ends.  Async-signal-safe. */
void top_screen_abandon(void);

/* The next key pressed; TOP_SCREEN_NONE: none. */
int top_screen_key(struct top_screen *s);

/* Handles the signals above: stops the program at SIGTSTP, until it is continued.  Returns whether
 * the screen must be redrawn. */
bool top_screen_signals(struct top_screen *s);

/* Replaces the screen's content by the text: lines with '\n', no more than fit. */
void top_screen_draw(struct top_screen *s, const char *text);

#endif
