#include "profile/fetch.h"

#include "base/err.h"
#include "base/log.h"
#include "symbolize/elf/debugfetch.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/elf/symelf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct debugfetch *fetch_open(const struct cprof_naming *n, uint64_t used_ns,
			      const struct log *log)
{
	uint64_t budget_ns = n->debuginfod_ns ? n->debuginfod_ns : FETCH_BUDGET_NS;
	struct debugfetch *f = NULL;
	struct err why;
	if (n->debuginfod == CPROF_DEBUGINFOD_OFF || n->no_symbols ||
	    used_ns >= budget_ns)
		return NULL;
	int r = debugfetch_open(budget_ns - used_ns, log, &f, &why);
	if (r < 0 && n->debuginfod == CPROF_DEBUGINFOD_ON)
		log_line(log, LOG_WARN, "debuginfod: %s%s%s", why.what, why.hint[0] ? "; " : "",
			 why.hint);
	return r < 0 ? NULL : f;
}

static int compare_weight(const void *a, const void *b)
{
	const struct fetch_file *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->dso->id > y->dso->id) - (x->dso->id < y->dso->id);
}

/* A file that cannot be opened has no debug information, either. */
static bool has_debug_information(const struct dso *d, const struct symbolizer_options *o)
{
	const struct symdebug_place where = { .host = o->host, .dirs = o->debug_dirs,
					      .root_fd = d->root_fd };
	struct symelf elf;
	if (symelf_open(&elf, d, &where) < 0)
		return false;
	bool has = symelf_dwarf(&elf) != NULL;
	symelf_close(&elf);
	return has;
}

void fetch_files(struct debugfetch *f, const struct symbolizer_options *o, struct fetch_file *file,
		 size_t n)
{
	qsort(file, n, sizeof(*file), compare_weight);
	for (size_t i = 0; i < n; i++) {
		const struct dso *d = file[i].dso;
		file[i].fd = -1;
		if (d->key.kind == DSO_ELF && d->n_build_id && !has_debug_information(d, o))
			file[i].fd = debugfetch_get(f, d, &file[i].path);
	}
}

void fetch_done(struct fetch_file *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (file[i].fd >= 0)
			close(file[i].fd);
		free(file[i].path);
	}
}
