#ifndef CPROF_INTERP_INTERP_LANGUAGE_H
#define CPROF_INTERP_INTERP_LANGUAGE_H

/* What a language adds to interp-process.h. */

#include "interp/interp-file.h"
#include "interp/interp-process.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/runtime-symbols.h"

struct cfi;
struct dso;
struct interp_language;

/* The beginning of each language's own struct. */
struct interp_process {
	const struct interp_language *language;
	struct interp_tables t;
	uint32_t tid;                   /* a living thread of the process */
	uint32_t pid;
	uint32_t uid;                   /* its effective user; UINT32_MAX: unknown */
	uint32_t dso, dso_serial;       /* of its functions */
	uint64_t start;                 /* of the mapping of its file */
	struct interp_file *file;
	int code;                       /* why memory could not be read, -errno; 0: it could */
	bool is_other_namespace;
	struct runtime_memory memory;
	struct runtime_pages pages;
	struct interp_code interp;      /* the language sets is_loop and is_glue */
	struct interp_runtime ops;      /* set by the language, with its name and version */
};

/* The file that contains the interpreter. */
struct interp_place {
	const struct dso *dso;
	struct interp_file *file;
	struct cfi *cfi;                /* private: see interp_language_cfi */
	uint64_t bias;                  /* address in the process = vaddr + bias */
	const struct runtime_symbol *symbol;    /* those of the language */
};

#define INTERP_LANGUAGE_SYMBOLS_MAX INTERP_FILE_SYMBOLS_MAX

struct interp_language {
	const char *name, *other;       /* libraries are named so, unless they are named `other` */
	/* Exported by the file; without those marked it is no interpreter of this language. */
	struct {
		const char *name;
		bool is_function, is_needed;
	} symbol[INTERP_LANGUAGE_SYMBOLS_MAX];
	size_t n_bytes;                 /* of its struct, which is zero after its beginning */
	/* -errno with e.  at is valid until it returns. */
	int (*open)(struct interp_process *p, struct interp_place *at, struct err *e);
	void (*close)(struct interp_process *p);
	/* As interp_process_read. */
	bool (*read)(struct interp_process *p, uint32_t tid, struct interp_frames *ret);
};

extern const struct interp_language interp_python, interp_php, interp_ruby;

/* The CFI of the file, until the language's open returns; NULL: it cannot be read. */
struct cfi *interp_language_cfi(struct interp_place *at);

/* Why the program's memory cannot be read: sets e. */
int interp_language_unreadable(const struct interp_process *p, struct err *e);

/* The id of a thread in its own namespace. */
uint32_t interp_language_tid(const struct interp_process *p, uint32_t tid);

/* Functions get a DSO, which may have been collected since it was used last; -ENOMEM. */
int interp_language_set_dso(struct interp_process *p);

/* The frame of a function, also without a line (0).  FRAMES_NONE: no memory. */
uint32_t interp_language_frame(const struct interp_process *p, uint32_t function, uint32_t line);

/* That of callers that are not known; for struct interp_runtime, with the process as ctx. */
uint32_t interp_language_unknown(void *ctx);

/* Is a native function without a name, or does is_name know its name? */
bool interp_language_is_glue(struct interp_process *p, uint64_t vaddr,
			     bool (*is_name)(const char *name));

/* A drain begins: so many pages may be read in it. */
void interp_language_renew(struct interp_process *p);

#endif
