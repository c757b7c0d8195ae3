#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKDEBUG_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKDEBUG_H

/*
 * Debug information of the kernel and of its modules: where it is installed, whether it belongs to
 * the kernel that ran, and by how much addresses differ (address randomization; places of a
 * module's sections).  A file without the right build id is never used.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symdebug_place;
struct symkernel;

/* The address of a symbol in the kernel that ran. */
struct symkdebug_anchor {
	const char *symbol;
	uint64_t address;
};

#define SYMKDEBUG_ANCHORS_MAX 2

/* The kernel that ran.  All pointers are borrowed. */
struct symkdebug_kernel {
	const char *file;          /* vmlinux, or a folder with it and *.ko; NULL: search */
	const char *release;       /* "6.1.0-18-amd64" */
	const uint8_t *build_id;
	size_t n_build_id;         /* 0: unknown; no file is used then */
	struct symkdebug_anchor anchor[SYMKDEBUG_ANCHORS_MAX];
	size_t n_anchors;
	const struct symkernel *symbols;  /* NULL: another kernel ran; its modules are unknown */
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
 * The file for the kernel proper (module "") or for a module.  0; -ENOENT: there is none, and `why`
 * lists the places that were searched, or says why a file was refused; -ENOMEM.
 */
int symkdebug_open(const struct symkdebug_kernel *kernel, const struct symdebug_place *where,
		   const char *module, struct symkdebug *ret, char *why, size_t n_why_bytes);
void symkdebug_close(struct symkdebug *s);

#endif
