#ifndef CPROF_SYMBOLIZE_ELF_DSO_H
#define CPROF_SYMBOLIZE_ELF_DSO_H

/*
 * The files (and file-like objects) from which code was mapped, each once for all processes.  A
 * file is identified by device, inode and generation, never by its path: two containers may have
 * different files of the same name.  It is opened when it is first seen, while the process lives,
 * and stays open, so that a file that is deleted or replaced later still provides names, unless too
 * many are open (dsokeep.h).
 */

#include "base/hashindex.h"
#include "symbolize/elf/dsokeep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

enum dso_kind {
	DSO_ELF,      /* a regular file, possibly not an ELF file */
	DSO_VDSO,     /* [vdso] */
	DSO_ANON,     /* executable memory without a file: JIT code; path "[jit]" or "//anon" */
	DSO_KERNEL,   /* [kernel.kallsyms]: one per session */
	DSO_MODULE,   /* a kernel module, path "[name]" */
	DSO_RUNTIME,  /* functions that an interpreter executes (agg/vfuncs.h): "[python 3.11.2]" */
	DSO_PSEUDO,   /* frames that are not code: "[truncated]", "[lost samples]" */
};

struct dso_key {
	enum dso_kind kind;
	uint32_t maj, min;        /* of the device, as in MMAP2 and /proc/PID/maps */
	uint64_t ino;
	uint64_t ino_generation;  /* 0: unknown, matches any */
	uint32_t pid;             /* DSO_ANON: the process; else 0 */
};

/* An executable PT_LOAD program header (PF_X). */
struct dso_segment {
	uint64_t vaddr, file_off, n_file_bytes, n_mem_bytes;
};

#define DSO_SEGMENTS_MAX 16
#define DSO_BUILD_ID_MAX 20

struct dso {
	uint32_t id;              /* index in the table; reused after this DSO is removed */
	uint32_t serial;          /* never reused */
	struct dso_key key;
	char *path;               /* as the process sees it, without " (deleted)" */
	char *open_path;          /* the path that was opened, for messages; NULL */
	int fd;                   /* the open file; -1: there is none, or it was closed (kept) */
	struct dsokeep_file *kept;/* the file may be closed and opened again; NULL: it may not */
	int open_errno;           /* why fd is -1; 0: never tried */
	int root_fd;              /* the root folder of its process; 0: ours. Borrowed */
	bool is_elf, is_exec_type;/* ET_EXEC: addresses are absolute */
	uint16_t machine;         /* e_machine */
	uint8_t n_build_id;       /* 0: none */
	bool is_go;               /* it has a note of Go's linker */
	bool is_plain;            /* kept by lib/interp: it contains no interpreter */
	bool is_idle;             /* kept by lib/engine: at the last look nobody had mapped it */
	bool is_go_build_id;      /* the build id is Go's own; the file has no GNU build id */
	uint8_t build_id[DSO_BUILD_ID_MAX];
	uint64_t data_start, data_end; /* around the writable segments; empty: there is none */
	uint64_t labels_vaddr;    /* of the registry of cprof-labels.h, from its note; 0: none */
	uint64_t allocs_vaddr;    /* of the registry of libcprof-alloc.so, likewise; 0: none */
	uint16_t n_segments;
	struct dso_segment segment[DSO_SEGMENTS_MAX];
	uint8_t *image;           /* DSO_VDSO: its bytes; NULL */
	size_t n_image_bytes;
};

struct dso_table {
	struct budget *budget;
	struct dso **dso;         /* by id; NULL: removed */
	uint32_t n, cap;
	uint32_t n_known;         /* entries that are not NULL */
	uint32_t n_ever;          /* private: the number of serials used */
	uint32_t next_free;       /* private: no id below it is free */
	struct hashindex index;   /* by key */
	struct dsokeep keep;      /* their open files */
};

int dso_table_init(struct dso_table *t, struct budget *budget);
void dso_table_done(struct dso_table *t);

/* The DSO with that key, or NULL.  The path is compared for DSO_MODULE, DSO_RUNTIME, DSO_PSEUDO,
 * and for DSO_ELF with inode 0 (perf.data with build ids in place of inodes). */
struct dso *dso_table_find(const struct dso_table *t, const struct dso_key *key, const char *path);

/* Adds a DSO (fd -1, contents not yet read).  NULL: out of memory. */
struct dso *dso_table_add(struct dso_table *t, const struct dso_key *key, const char *path);

/* Adds a copy of another table's DSO, with a descriptor of its own.  NULL: out of memory. */
struct dso *dso_table_copy(struct dso_table *t, const struct dso *of);

/* Removes the DSOs for whose ids used[] is false, and closes their files.  Their ids may be
 * reused. */
void dso_table_forget(struct dso_table *t, const bool *used);

static inline struct dso *dso_get(const struct dso_table *t, uint32_t id)
{
	return t->dso[id];
}

/* Gives d the open file fd (and its ownership; d's old file is closed), and reads the ELF header,
 * program headers and build id (GNU's, else Go's own) with pread: bounded, no libelf.  A file that
 * is not ELF is not an error. */
void dso_set_file(struct dso *d, int fd, const char *open_path);

/* Closes the file. */
void dso_close_file(struct dso *d);

/* Like dso_set_file, for bytes in memory (the vDSO), which are copied. */
int dso_set_image(struct dso *d, const void *bytes, size_t n_bytes);

/* The ELF virtual address of file offset file_off, by the executable program headers and the pages
 * that they are on.  If none has the offset (not an ELF file, could not be opened), returns false
 * and the offset itself. */
bool dso_vaddr(const struct dso *d, uint64_t file_off, uint64_t *ret_vaddr);

/* Lower-case hex of the build id into buf, "" if there is none. */
#define DSO_BUILD_ID_TEXT_MAX (2 * DSO_BUILD_ID_MAX + 1)
const char *dso_build_id_text(const struct dso *d, char buf[DSO_BUILD_ID_TEXT_MAX]);

#endif
