#ifndef CPROF_TESTS_TOOLS_REFUSED_H
#define CPROF_TESTS_TOOLS_REFUSED_H

/* cprof with a kernel that refuses events: see refused.c and refused-table.c. */

/* The main function of cprof. */
int refused_cprof(int argc, char **argv);

/* Runs the table on stdin; target is the pid of a process to attach to.  Returns an exit status. */
int refused_table(const char *target);

#endif
