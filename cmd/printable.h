#ifndef CPROF_CMD_PRINTABLE_H
#define CPROF_CMD_PRINTABLE_H

/* Prints foreign strings (names of functions, files, threads) to a terminal or as JSON. */

#include <stdio.h>

/* Prints '?' for control characters, which a terminal would obey or which change the order of the
 * text on the screen (utf8_control), and U+FFFD for bytes that are not UTF-8. */
void printable_text(FILE *to, const char *s);

/* Prints a JSON string with its quotes, always valid UTF-8; control characters as \\u escapes. */
void printable_json(FILE *to, const char *s);

#endif
