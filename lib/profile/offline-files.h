#ifndef CPROF_PROFILE_OFFLINE_FILES_H
#define CPROF_PROFILE_OFFLINE_FILES_H

/* The files from which profiles get their names later, on any machine. */

#include "base/host.h"
#include "cprof-names.h"

#include <stdbool.h>

struct debugfetch;
struct dso;
struct err;
struct fetch_file;
struct symbolizer_options;

struct offline_files {
	const struct cprof_symbolize_config *config;
	struct host host;
	const char **dir;          /* for debug files, NULL-terminated */
	char *symfs;               /* "" or an absolute path */
	struct debugfetch *fetch;  /* servers; NULL: do not ask any */
};

int offline_files_open(struct offline_files *o, const struct cprof_symbolize_config *config,
		       struct err *e);
void offline_files_close(struct offline_files *o);

/* Gives d the file at d->path. */
bool offline_files_at_path(struct offline_files *o, struct dso *d);

/* Gives d the file with this build id, as text: at its recorded path, or by the id: the program, or
 * else only its debug file. */
bool offline_files_by_id(struct offline_files *o, struct dso *d, const char *build_id);

/* Adds the debug file that the program itself lacks; f is for fetch_done. */
void offline_files_debug(struct offline_files *o, const struct dso *d, struct fetch_file *f,
			 struct symbolizer_options *options);

#endif
