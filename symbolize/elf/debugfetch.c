/*
 * libdebuginfod waits 90 seconds for a slow server, and as long for the next file.  Its progress
 * function is called about once a second, and ends the transfer when the time for all files is used
 * up.  Files in its cache take no time.
 *
 * It needs thirty other libraries, one for every way to reach a server, and loading them costs more
 * CPU time than a short recording.  So it is not linked, but loaded when needed.
 */

#include "symbolize/elf/debugfetch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "symbolize/elf/dso.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS 2000000000u

/* The debug files of the largest browsers have 2 to 3 GiB.  A server that sends more would fill the
 * disk of the cache. */
#define FILE_BYTES_MAX (4L << 30)

#ifndef DEBUGINFOD_SONAME
#define DEBUGINFOD_SONAME "libdebuginfod.so.1"
#endif

/* The library's functions, without the prefix debuginfod_. */
struct api {
	__typeof__(&debuginfod_begin) begin;
	__typeof__(&debuginfod_end) end;
	__typeof__(&debuginfod_set_user_data) set_user_data;
	__typeof__(&debuginfod_set_progressfn) set_progressfn;
	__typeof__(&debuginfod_find_debuginfo) find_debuginfo;
	__typeof__(&debuginfod_get_url) get_url;
};

struct debugfetch {
	struct api api;
	debuginfod_client *client;
	const struct log *log;
	uint64_t budget_ns, used_ns;
	uint64_t start_ns, told_ns;    /* of the file being fetched */
	const char *name;
	bool too_large;                /* the file being fetched */
	char *skipped;                 /* their names */
	size_t n_skipped;
};

/* ---- the library ----------------------------------------------------------- */

static bool load_function(void *library, const char *name, void *ret_function)
{
	void *p = dlsym(library, name);
	memcpy(ret_function, &p, sizeof(p));
	return p != NULL;
}

/* The library stays loaded, because some libraries that it needs cannot be unloaded. */
static bool load_library(struct api *api)
{
	void *l = dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_LOCAL);
	return l && load_function(l, "debuginfod_begin", &api->begin) &&
	       load_function(l, "debuginfod_end", &api->end) &&
	       load_function(l, "debuginfod_set_user_data", &api->set_user_data) &&
	       load_function(l, "debuginfod_set_progressfn", &api->set_progressfn) &&
	       load_function(l, "debuginfod_find_debuginfo", &api->find_debuginfo) &&
	       load_function(l, "debuginfod_get_url", &api->get_url);
}

/* ---- fetching -------------------------------------------------------------- */

/* got and total are bytes once the size is known; before that, got counts calls and total is 0. */
static int report_progress(struct debugfetch *f, long got, long total)
{
	uint64_t now = clock_monotonic_ns(), used = f->used_ns + now - f->start_ns;
	if (used >= f->budget_ns)
		return 1;
	if (total > 0 && (total > FILE_BYTES_MAX || got > FILE_BYTES_MAX)) {
		f->too_large = true;
		return 1;
	}
	if (now - f->told_ns < PROGRESS_NS)
		return 0;
	f->told_ns = now;
	unsigned left_s = (unsigned)((f->budget_ns - used) / 1000000000u);
	if (total > 0)
		log_line(f->log, LOG_NOTE, "'%s': %ld of %ld KiB, %u s left for all files",
			 f->name, got >> 10, total >> 10, left_s);
	else
		log_line(f->log, LOG_NOTE, "'%s': waiting for the server, %u s left for all files",
			 f->name, left_s);
	return 0;
}

/* The library passes only its client, so the function for its user data is looked up again.  This
 * happens about once a second, so it costs nothing. */
static int progress(debuginfod_client *client, long got, long total)
{
	__typeof__(&debuginfod_get_user_data) get_user_data = NULL;
	void *l = dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	bool ok = l && load_function(l, "debuginfod_get_user_data", &get_user_data);
	int r = ok ? report_progress(get_user_data(client), got, total) : 1;
	if (l)
		dlclose(l);
	return r;
}

int debugfetch_open(uint64_t budget_ns, const struct log *log, struct debugfetch **ret_fetch,
		    struct err *e)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	if (!urls || !urls[strspn(urls, " ")]) {
		err_set(e, ENOENT, "DEBUGINFOD_URLS is not set, so there is no server to ask");
		err_hint(e, "such as DEBUGINFOD_URLS=https://debuginfod.debian.net");
		return -ENOENT;
	}
	struct debugfetch *f = calloc(1, sizeof(*f));
	if (f && !load_library(&f->api)) {
		free(f);
		return err_set(e, ENOSYS, "cannot load " DEBUGINFOD_SONAME);
	}
	if (f)
		f->client = f->api.begin();
	if (!f || !f->client) {
		free(f);
		return err_errno(e, ENOMEM, "cannot start debuginfod");
	}
	f->log = log;
	f->budget_ns = budget_ns;
	f->api.set_user_data(f->client, f);
	f->api.set_progressfn(f->client, progress);
	*ret_fetch = f;
	return 0;
}

void debugfetch_close(struct debugfetch *f)
{
	if (!f)
		return;
	if (f->n_skipped)
		log_line(f->log, LOG_WARN,
			 "debuginfod: %zu file%s skipped, because the %u s for all files are used "
			 "up:%s", f->n_skipped, f->n_skipped == 1 ? " was" : "s were",
			 (unsigned)(f->budget_ns / 1000000000u), f->skipped ? f->skipped : "");
	f->api.end(f->client);
	free(f->skipped);
	free(f);
}

static void skip(struct debugfetch *f, const char *name)
{
	char *more;
	f->n_skipped++;
	if (asprintf(&more, "%s %s", f->skipped ? f->skipped : "", name) < 0)
		return;
	free(f->skipped);
	f->skipped = more;
}

/* Did the server send the requested file? */
static bool is_wanted(int fd, const struct dso *d)
{
	struct dso file = { .fd = -1 };
	dso_set_file(&file, fd, NULL);
	return file.is_elf && file.n_build_id == d->n_build_id &&
	       memcmp(file.build_id, d->build_id, d->n_build_id) == 0;
}

int debugfetch_get(struct debugfetch *f, const struct dso *d, char **ret_path)
{
	char id[DSO_BUILD_ID_TEXT_MAX];
	if (f->used_ns >= f->budget_ns) {
		skip(f, d->path);
		return -ETIME;
	}
	f->name = d->path;
	f->too_large = false;
	f->start_ns = f->told_ns = clock_monotonic_ns();
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int fd =
		f->api.find_debuginfo(f->client, d->build_id, d->n_build_id, &path);
	uint64_t took_ns = clock_monotonic_ns() - f->start_ns;
	f->used_ns += took_ns;
	const char *url = f->api.get_url(f->client);
	if (fd < 0 && f->too_large) {
		log_line(f->log, LOG_WARN,
			 "debuginfod: the debug file that the server sends for '%s' is larger than "
			 "%ld GiB and is not used", d->path, FILE_BYTES_MAX >> 30);
		return -EFBIG;
	}
	if (fd < 0 && f->used_ns >= f->budget_ns) {
		skip(f, d->path);
		return -ETIME;
	}
	if (fd < 0) {
		log_line(f->log, fd == -ENOENT ? LOG_EXPLAIN : LOG_WARN,
			 "debuginfod: no debug file of '%s' (build id %s): %s", d->path,
			 dso_build_id_text(d, id), strerror(-fd));
		return fd;
	}
	if (!is_wanted(fd, d)) {
		log_line(f->log, LOG_WARN,
			 "debuginfod: the file that the server sent for '%s' does not have build "
			 "id %s and is not used", d->path, dso_build_id_text(d, id));
		return -ESTALE;
	}
	log_line(f->log, LOG_NOTE, "debuginfod: debug file of '%s' in %.1f s from %s", d->path,
		 (double)took_ns / 1e9, url ? url : "the cache");
	*ret_path = TAKE_PTR(path);
	return TAKE_FD(fd);
}
