#ifndef CPROF_SYMBOLIZE_RUNTIME_PHP_PROGRAM_H
#define CPROF_SYMBOLIZE_RUNTIME_PHP_PROGRAM_H

/* A running PHP: its version, the functions that it executes, and what they are called. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/php-layout.h"
#include "symbolize/runtime/runtime-frames.h"

struct runtime_pages;

#define PHP_VERSION_BYTES 24u

struct php_program {
	char version[PHP_VERSION_BYTES]; /* "8.2.36"; "": unknown */
	const struct php_layout *layout;
	uint64_t globals;               /* executor_globals, in the process */
};

enum php_program_result {
	PHP_PROGRAM_OK,
	PHP_PROGRAM_UNREADABLE,         /* its memory cannot be read */
	PHP_PROGRAM_STARTING,           /* it has no modules yet */
	PHP_PROGRAM_UNSUPPORTED,        /* of an unknown version; ret->version is set */
	PHP_PROGRAM_THREADS,            /* built for several threads: likewise */
	PHP_PROGRAM_DEBUG,              /* built with --enable-debug: likewise */
};

/* Addresses of module_registry, and of executor_globals (0: there is none). */
enum php_program_result php_program_open(struct runtime_pages *pages, uint64_t modules,
					 uint64_t globals, struct php_program *ret);

/* The innermost frame; 0: no function is executed.  False: it cannot be read. */
bool php_program_innermost(const struct php_program *p, struct runtime_pages *pages, uint64_t *ret);

/* The frames from the one at an address on, without functions of C; false: no memory. */
bool php_program_frames(struct runtime_pages *pages, uint64_t at, struct runtime_frames *ret);

/* What describes the function of the frame at an address; false: it cannot be read. */
bool php_program_code(struct runtime_pages *pages, uint64_t at, uint64_t *ret);

/* What identifies a function, and the function itself; the caller frees ret->lines.line.  False: it
 * is no function of PHP, or cannot be read. */
bool php_function_key(const struct php_program *p, struct runtime_pages *pages, uint64_t at,
		      struct runtime_function_key *ret);
bool php_function_read(const struct php_program *p, struct runtime_pages *pages, uint64_t at,
		       struct runtime_function *ret);

#endif
