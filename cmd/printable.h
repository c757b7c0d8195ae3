#ifndef CPROF_CMD_PRINTABLE_H
#define CPROF_CMD_PRINTABLE_H

/* Foreign strings (names of functions, files, threads) on their way to a terminal or into JSON. */

#include <stdio.h>

/* Control characters, which a terminal would obey, become '?'; bytes that are not UTF-8 become
 * U+FFFD. */
void printable_text(FILE *to, const char *s);

/* As a JSON string, with its quotes; always valid UTF-8. */
void printable_json(FILE *to, const char *s);

#endif
