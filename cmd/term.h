#ifndef CPROF_CMD_TERM_H
#define CPROF_CMD_TERM_H

/*
 * Where a report goes: how wide it is, whether colours and characters beyond ASCII may be used,
 * and through which pager it goes.  Nothing of that applies to a pipe or a file: there lines
 * are whole, plain, and the bytes of names are kept.
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct term {
	FILE *out;
	bool is_terminal, has_color, has_utf8;
	int width;      /* columns; 0: any */
	pid_t pager;    /* 0: none */
};

/* Looks at stdout, NO_COLOR, TERM, COLUMNS and the locale; with use_pager starts PAGER (else
 * "less", with LESS=FRX unless it is set), if stdout is a terminal. */
void term_open(struct term *t, bool use_pager);

/* Flushes and waits for the pager.  0, or the errno of a failed write; a pager that was left
 * early is no failure. */
int term_close(struct term *t);

/* The name made harmless (printable.h), cut to `columns` with an ellipsis if it is longer (0:
 * never). Returns the columns that it took. */
int term_print_name(const struct term *t, const char *name, int columns);

enum term_color { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_YELLOW, TERM_GREEN, TERM_CYAN };
/* Switches on from here; TERM_PLAIN switches off.  Nothing without colours. */
void term_color(const struct term *t, enum term_color color);

/* The colour for a part of the whole: red from 10 %, yellow from 2 %, else plain. */
enum term_color term_heat(double share);

#endif
