#ifndef CPROF_TESTS_TOOLS_REFUSED_H
#define CPROF_TESTS_TOOLS_REFUSED_H

/* cprof itself with a kernel that refuses: see refused.c and refused-table.c. */

/* The main function of cprof. */
int refused_cprof(int argc, char **argv);

/* Runs the table on stdin; target: a process to attach to, as text.  Returns an exit status. */
int refused_table(const char *target);

#endif
