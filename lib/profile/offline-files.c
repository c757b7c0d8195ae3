/*
 * A file is trusted only if it has the build id of the profile's mapping.  It is searched for at
 * its recorded path, in folders by build id, and at debuginfod servers.
 */

#include "profile/offline-files.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign.h"
#include "base/log.h"
#include "profile/fetch.h"
#include "symbolize/elf/debugfetch.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_id(const char *text, struct dso *d)
{
	size_t n = strlen(text);
	if (n < 4 || n % 2 || n > 2 * DSO_BUILD_ID_MAX ||
	    strspn(text, "0123456789abcdef") != n)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		char byte[3] = { text[2 * i], text[2 * i + 1], '\0' };
		d->build_id[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	d->n_build_id = (uint8_t)(n / 2);
	return true;
}

/* Gives d the file if it has d's build id, or d has none. */
static bool try_file(struct offline_files *o, struct dso *d, const char *path)
{
	const struct foreign_want want = { .dir_fd = o->host.fd[HOST_ROOT],
					   .path = path + strspn(path, "/") };
	CLEANUP_CLOSE int fd = foreign_open(o->host.foreign, &want, NULL);
	if (foreign_is_lost(fd) || foreign_lacks_descriptor(fd))
		d->open_errno = -fd;
	if (foreign_lacks_descriptor(fd))
		log_line(o->config->log, LOG_WARN, "'%s' was not opened for lack of descriptors "
			 "(ulimit -n)", path);
	if (foreign_is_lost(fd))
		log_line(o->config->log, LOG_WARN, "'%s' is not used: its file system did not "
			 "answer in time, or it is too large to copy from there", path);
	if (fd < 0)
		return false;
	struct dso file = { .fd = -1 };
	dso_set_file(&file, fd, NULL);
	bool fits = !d->n_build_id || (file.n_build_id == d->n_build_id &&
				       memcmp(file.build_id, d->build_id, d->n_build_id) == 0);
	if (!file.is_elf || !fits) {
		if (file.is_elf)
			log_line(o->config->log, LOG_EXPLAIN,
				 "'%s' is not the file that was recorded (another build id)", path);
		return false;
	}
	dso_set_file(d, TAKE_FD(fd), path);
	return true;
}

bool offline_files_at_path(struct offline_files *o, struct dso *d)
{
	char path[PATH_MAX];
	return d->path[0] == '/' &&
	       snprintf(path, sizeof(path), "%s%s", o->symfs, d->path) < (int)sizeof(path) &&
	       try_file(o, d, path);
}

bool offline_files_by_id(struct offline_files *o, struct dso *d, const char *build_id)
{
	static const char *const suffix[] = { "", "/elf", ".debug" };
	char id[DSO_BUILD_ID_TEXT_MAX], path[PATH_MAX];
	if (!parse_id(build_id, d))
		return false;
	if (offline_files_at_path(o, d))
		return true;
	dso_build_id_text(d, id);
	for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++)
		for (const char **dir = o->dir; *dir; dir++)
			if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", *dir, id,
				     id + 2, suffix[i]) < (int)sizeof(path) &&
			    try_file(o, d, path))
				return true;
	if (!o->fetch)
		return false;
	char *cached = NULL;
	int fd = debugfetch_get(o->fetch, d, &cached);
	if (fd >= 0)
		dso_set_file(d, fd, cached);
	free(cached);
	return fd >= 0;
}

void offline_files_debug(struct offline_files *o, const struct dso *d, struct fetch_file *f,
			 struct symbolizer_options *options)
{
	*f = (struct fetch_file){ .dso = d, .fd = -1 };
	if (!o->fetch || !dsokeep_has_file(d))
		return;
	fetch_files(o->fetch, options, f, 1);
	if (f->fd < 0)
		return;
	options->fetched_fd = f->fd;
	options->fetched_path = f->path ? f->path : "debuginfod";
}

static int set_folders(struct offline_files *o, struct err *e)
{
	const struct cprof_symbolize_config *c = o->config;
	o->symfs = c->symfs ? realpath(c->symfs, NULL) : strdup("");
	if (!o->symfs)
		return err_errno(e, errno, "cannot use '%s' (--symfs)", c->symfs);
	if (strcmp(o->symfs, "/") == 0)
		o->symfs[0] = '\0';
	o->dir = calloc(c->n_debug_dirs + 3, sizeof(*o->dir));
	if (!o->dir)
		return err_errno(e, ENOMEM, "cannot look up names");
	size_t n = 0;
	for (size_t i = 0; i < c->n_debug_dirs; i++) {
		o->dir[n] = realpath(c->debug_dir[i], NULL);
		if (!o->dir[n++])
			return err_errno(e, errno, "cannot use '%s' (--debug-dir)",
					 c->debug_dir[i]);
	}
	char *below = NULL;
	if (*o->symfs && asprintf(&below, "%s/usr/lib/debug", o->symfs) > 0)
		o->dir[n++] = below;
	o->dir[n] = strdup("/usr/lib/debug");
	return o->dir[n] ? 0 : err_errno(e, ENOMEM, "cannot look up names");
}

int offline_files_open(struct offline_files *o, const struct cprof_symbolize_config *config,
		       struct err *e)
{
	*o = (struct offline_files){ .config = config };
	int r = host_open(&o->host, NULL, NULL, NULL, e);
	if (r < 0)
		return r;
	r = set_folders(o, e);
	if (r < 0)
		offline_files_close(o);
	else
		o->fetch = fetch_open(&config->naming, 0, config->log);
	return r;
}

void offline_files_close(struct offline_files *o)
{
	debugfetch_close(o->fetch);
	for (const char **dir = o->dir; dir && *dir; dir++)
		free((char *)*dir);
	free(o->dir);
	free(o->symfs);
	host_close(&o->host);
}
