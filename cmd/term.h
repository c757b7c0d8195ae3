#ifndef CPROF_CMD_TERM_H
#define CPROF_CMD_TERM_H

/*
 * The terminal that a report is printed to: its width, colours, characters beyond ASCII, and the
 * pager.  In a pipe or file, lines are never cut, there are no colours, and names keep their bytes.
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct term {
	FILE *out;
	bool is_terminal, has_color, has_utf8;
	int width;      /* columns; 0: unlimited */
	pid_t pager;    /* 0: none */
};

/* Examines stdout, NO_COLOR, TERM, COLUMNS and the locale.  With use_pager, and if stdout is a
 * terminal, starts PAGER or "less", with LESS=FRX unless LESS is set. */
void term_open(struct term *t, bool use_pager);

/* Flushes stdout and waits for the pager.  0, or the errno of a failed write.  Leaving the pager
 * early is not a failure. */
int term_close(struct term *t);

/* Prints a name without control characters (printable.h), cut to `columns` with an ellipsis if it
 * is longer (0: never cut).  Returns the number of columns used. */
int term_print_name(const struct term *t, const char *name, int columns);

enum term_color { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_YELLOW, TERM_GREEN, TERM_CYAN };
/* Sets the colour of the text that follows.  Does nothing without colours. */
void term_color(const struct term *t, enum term_color color);

/* The colour for a share: red from 10 %, yellow from 2 %, else plain. */
enum term_color term_heat(double share);

#endif
