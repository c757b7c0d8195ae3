#ifndef CPROF_CMD_SIGNALS_H
#define CPROF_CMD_SIGNALS_H

/*
 * The signals of a recording.  While it runs, SIGINT, SIGTERM, SIGHUP and SIGCHLD arrive through a
 * descriptor.  While the profile is written, a further SIGINT, SIGTERM or SIGHUP removes the
 * unfinished files and ends the program at once, unless it comes within a tenth of a second of the
 * first one: timeout(1) sends each signal twice.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct mapguard_table;
struct outfile;

struct signals {
	int fd;           /* signalfd(2) */
	sigset_t before;  /* the mask for child processes */
};

/* extra: one more signal for the descriptor; 0: none. */
int signals_open(struct signals *s, int extra, struct err *e);
void signals_close(struct signals *s);

/* For programs without a terminal: a descriptor for SIGINT, SIGTERM and SIGHUP, also where the
 * parent ignored them, and SIGCHLD if it has children; SIGPIPE is ignored.  -errno with e set. */
int signals_open_service(bool has_children, struct err *e);

/* Takes a pending signal and returns its number; 0: none.  *ret_from_terminal: the terminal sent it
 * to the whole foreground process group. */
int signals_next(struct signals *s, bool *ret_from_terminal);

/* A signal has ended what is recorded.  May be called by its handler. */
void signals_note_end(void);

/* From now on a signal removes these files and ends the program.  Borrowed until the next call. */
void signals_abort_on(const struct outfile *const *unfinished, size_t n);

/* From now on a file in this table that is truncated while it is mapped does not end the program
 * (base/mapguard.h). */
struct mapguard_table *signals_guard_maps(void);

/* Work that may take long, in a program that has nothing to save: SIGINT, SIGTERM or SIGHUP then
 * ends it after two seconds, unless signals_work_end comes first, and a second one at once.
 * unfinished (NULL: none) is removed then, and cleanup is called, in the handler. */
void signals_work_begin(const struct outfile *const *unfinished, void (*cleanup)(void));
bool signals_work_end(void);  /* has a signal come? */

/* Blocks SIGINT, SIGTERM and SIGHUP again, while files get their names. */
void signals_hold(void);

#endif
