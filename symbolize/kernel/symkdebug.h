#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKDEBUG_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKDEBUG_H

/*
 * Debug information of the kernel and of its modules: where it is installed, whether it is of the
 * kernel that ran, and by how much addresses differ (address randomization; where a module's
 * sections were put).  What has not the right build id is never used.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symdebug_place;
struct symkernel;

/* Where the kernel that ran had a symbol of its own. */
struct symkdebug_anchor {
	const char *symbol;
	uint64_t address;
};

#define SYMKDEBUG_ANCHORS_MAX 2

/* The kernel that ran.  All is borrowed. */
struct symkdebug_kernel {
	const char *file;          /* vmlinux, or a folder with it and *.ko, which the user names;
				    * NULL: where packages put it */
	const char *release;       /* "6.1.0-18-amd64" */
	const uint8_t *build_id;
	size_t n_build_id;         /* 0: unknown, then nothing is used */
	struct symkdebug_anchor anchor[SYMKDEBUG_ANCHORS_MAX];
	size_t n_anchors;
	const struct symkernel *symbols;  /* of the kernel that runs here; NULL: it is another, and
					   * nothing is known of its modules */
};

/* A file that was found. */
struct symkdebug {
	Elf *elf;
	int fd;                    /* -1: elf is in memory */
	char *path;                /* for messages */
	uint64_t shift;            /* address - shift is an address in the file */
	uint8_t *image;            /* private: a module, linked */
};

/*
 * The file for the kernel proper (module "") or for a module.  0, or -ENOENT: there is none, and
 * `why` tells what was looked for or what was wrong with what was found; -ENOMEM.
 */
int symkdebug_open(const struct symkdebug_kernel *kernel, const struct symdebug_place *where,
		   const char *module, struct symkdebug *ret, char *why, size_t n_why_bytes);
void symkdebug_close(struct symkdebug *s);

#endif
