/* A file of this machine is used if its build id is the recorded one; without build ids, only for a
 * recording of this machine, and if the file is older.  A file below --symfs is the user's choice:
 * there, only another build id or architecture speaks against it. */

#include "importer/importfiles.h"

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/host.h"
#include "base/log.h"
#include "base/path.h"
#include "proc/dsofile.h"
#include "source/perfdata/perfdata.h"
#include "symbolize/arch/arch.h"
#include "symbolize/elf/dso.h"
#include "symbolize/kernel/symkernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

enum verdict {
	PROVEN, PLAUSIBLE, ASSUMED,    /* usable */
	UNPROVEN, WRONG, MISSING, UNANSWERED, NO_DESCRIPTOR
};

static bool is_usable(enum verdict v)
{
	return v <= ASSUMED;
}

struct wanted {
	const uint8_t *id;
	size_t n_id;                   /* 0: unknown */
};

static struct wanted wanted_id(const struct importfiles *f, const struct dso *d,
			       const char *filename)
{
	const struct perfdata_build_id *known = perfdata_build_id_of(f->source, filename);
	if (!known && d->path)
		known = perfdata_build_id_of(f->source, d->path);
	if (known)
		return (struct wanted){ known->bytes, known->n_bytes };
	return (struct wanted){ d->build_id, d->n_build_id };
}

static bool same_id(const struct wanted *w, const uint8_t *id, size_t n_id)
{
	return w->n_id && w->n_id == n_id && memcmp(w->id, id, n_id) == 0;
}

/*
 * Both times count: a package manager keeps the time of a file's contents, which may be old, but
 * the inode is new.  For the recorded inode only the contents matter: perf itself adds links to the
 * files that it has seen.
 */
static bool is_older(const struct importfiles *f, const struct dso *d, const struct stat *st)
{
	const struct dso_key *k = &d->key;
	bool same_inode = k->ino && k->ino == st->st_ino && k->maj == major(st->st_dev) &&
			  k->min == minor(st->st_dev);
	return st->st_mtime <= f->recorded_s && (same_inode || st->st_ctime <= f->recorded_s);
}

/* Compares host name and architecture; ignores those that the file does not have. */
static bool is_of_this_machine(struct importfiles *f)
{
	struct utsname own;
	if (f->origin == IMPORTFILES_UNKNOWN) {
		const struct source_facts *facts = &f->source->facts;
		bool is_own = uname(&own) == 0 &&
			      (!*facts->hostname || strcmp(facts->hostname, own.nodename) == 0) &&
			      (!*f->machine || strcmp(f->machine, own.machine) == 0);
		f->origin = is_own ? IMPORTFILES_HERE : IMPORTFILES_ELSEWHERE;
	}
	return f->origin == IMPORTFILES_HERE;
}

static bool is_of_recorded_arch(const struct importfiles *f, const struct dso *file)
{
	const struct arch *a = arch_of_name(f->machine);
	return !a || a->e_machine == file->machine;
}

/* Opens path (absolute, as this machine sees it) and judges it; *ret_fd is set if it is usable. */
static enum verdict try_path(struct importfiles *f, const struct dso *d, const char *path,
			     const struct wanted *w, int *ret_fd)
{
	struct stat st;
	const struct foreign_want want = { .dir_fd = f->host->fd[HOST_ROOT],
					   .path = path + strspn(path, "/") };
	CLEANUP_CLOSE int fd = foreign_open(f->host->foreign, &want, &st);
	if (fd < 0)
		return foreign_lacks_descriptor(fd) ? NO_DESCRIPTOR
						    : foreign_is_lost(fd) ? UNANSWERED : MISSING;
	struct dso file = { .fd = -1 };
	dso_set_file(&file, fd, NULL);
	if (w->n_id && !same_id(w, file.build_id, file.n_build_id))
		return WRONG;
	bool is_chosen = !w->n_id && *f->symfs;
	if (is_chosen && (!file.is_elf || !is_of_recorded_arch(f, &file)))
		return WRONG;
	if (!w->n_id && !is_chosen && !is_of_this_machine(f))
		return UNPROVEN;
	if (!w->n_id && !is_chosen && !is_older(f, d, &st))
		return WRONG;
	*ret_fd = TAKE_FD(fd);
	return w->n_id ? PROVEN : is_chosen ? ASSUMED : PLAUSIBLE;
}

/* Below --symfs by its path or else, as perf --symfs DIR,flat does, by its name; otherwise where it
 * was recorded.  The path that was judged is in path. */
static enum verdict try_recorded(struct importfiles *f, const struct dso *d,
				 const struct wanted *w, char path[PATH_MAX], int *ret_fd)
{
	char flat[PATH_MAX];
	enum verdict v = MISSING;
	if (snprintf(path, PATH_MAX, "%s%s", f->symfs, d->path) < PATH_MAX)
		v = try_path(f, d, path, w, ret_fd);
	if (is_usable(v) || !*f->symfs ||
	    snprintf(flat, sizeof(flat), "%s/%s", f->symfs, path_base_name(d->path)) >= PATH_MAX)
		return v;
	enum verdict by_name = try_path(f, d, flat, w, ret_fd);
	if (is_usable(by_name) || v == MISSING) {
		memcpy(path, flat, sizeof(flat));
		v = by_name;
	}
	return v;
}

static void note_absent(struct importfiles_absent *a, const char *path)
{
	if (a && a->n < IMPORTFILES_ABSENT_MAX && (a->path[a->n] = strdup(path)))
		a->n++;
}

/* DIR/.build-id/ab/cdef: the file itself, or a folder of perf's cache that holds it as "elf". */
static int try_cache(struct importfiles *f, const struct dso *d, const struct wanted *w,
		     char **ret_path)
{
	struct dso named = { .n_build_id = (uint8_t)w->n_id };
	char hex[DSO_BUILD_ID_TEXT_MAX];
	if (w->n_id < 2)
		return -ENOENT;
	memcpy(named.build_id, w->id, w->n_id);
	dso_build_id_text(&named, hex);
	for (const char *const *dir = f->debug_dirs; *dir; dir++) {
		for (int i = 0; i < 2; i++) {
			char path[PATH_MAX];
			int fd;
			int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", *dir, hex,
					 hex + 2, i == 0 ? "/elf" : "");
			if (n < (int)sizeof(path) && try_path(f, d, path, w, &fd) == PROVEN) {
				*ret_path = strdup(path);
				return fd;
			}
		}
	}
	return -ENOENT;
}

static void log_verdict(const struct importfiles *f, enum verdict v, const struct wanted *w,
			const char *path, const char *filename)
{
	if (v == PLAUSIBLE)
		log_line(f->log, LOG_EXPLAIN, "'%s': used without proof: the recording has no "
			 "build id of it, and it is older", path);
	else if (v == ASSUMED)
		log_line(f->log, LOG_NOTE, "'%s' is used without proof: the recording has no build "
			 "id of it", path);
	else if (v == UNPROVEN)
		log_line(f->log, LOG_EXPLAIN, "'%s' is not used: the recording has no build id of "
			 "it, and comes from another machine", path);
	else if (v == WRONG && *f->symfs && !w->n_id)
		log_line(f->log, LOG_NOTE, "'%s' is not a program or library of the recorded "
			 "architecture: its code has no names", path);
	else if (v == WRONG && w->n_id)
		log_line(f->log, LOG_NOTE, "'%s' is not the file that was recorded (another build "
			 "id): its code has no names", path);
	else if (v == WRONG)
		log_line(f->log, LOG_NOTE, "'%s' has changed since the recording, which has no "
			 "build id of it: its code has no names", path);
	else if (v == UNANSWERED)
		log_line(f->log, LOG_NOTE, "'%s' is not used: its file system did not answer in "
			 "time, or it is too large to copy from there", path);
	else if (v == NO_DESCRIPTOR)
		log_line(f->log, LOG_EXPLAIN, "'%s' was not opened for lack of descriptors "
			 "(ulimit -n)", path);
	else if (v == MISSING)
		log_line(f->log, LOG_EXPLAIN, "'%s' is missing", filename);
}

/* This process's vDSO is the recorded one only if its build id says so. */
static int open_vdso(const struct importfiles *f, struct dso *d, const struct wanted *w)
{
	CLEANUP_FREE void *image = NULL;
	long n = d->key.min ? -ENOENT : dsofile_own_vdso(&image);
	if (n <= 0)
		return -ENOENT;
	struct dso own = { .fd = -1 };
	int r = dso_set_image(&own, image, (size_t)n);
	bool is_same = r == 0 && same_id(w, own.build_id, own.n_build_id);
	free(own.image);
	if (is_same)
		r = dso_set_image(d, image, (size_t)n);
	log_line(f->log, LOG_EXPLAIN, "[vdso]: %s", is_same ? "this kernel's" : "another kernel's");
	return r < 0 ? r : -ENOENT;
}

int importfiles_open(void *ctx, struct dso *d, const char *filename, char **ret_path)
{
	struct importfiles *f = ctx;
	struct wanted w = wanted_id(f, d, filename);
	char path[PATH_MAX];
	int fd = -ENOENT;
	if (d->key.kind == DSO_VDSO)
		return open_vdso(f, d, &w);
	enum verdict v = try_recorded(f, d, &w, path, &fd);
	if (is_usable(v)) {
		*ret_path = strdup(path);
	} else {
		fd = try_cache(f, d, &w, ret_path);
		v = fd >= 0 ? PROVEN : v;
	}
	log_verdict(f, v, &w, path, filename);
	f->n_opened += fd >= 0;
	f->n_proven += v == PROVEN;
	f->n_wrong += v == WRONG || v == UNPROVEN;
	if (v == MISSING || v == UNPROVEN)
		note_absent(f->absent, filename);
	f->n_missing += v == MISSING || v == UNANSWERED || v == NO_DESCRIPTOR;
	if (fd < 0 && w.n_id && w.n_id <= sizeof(d->build_id) && w.id != d->build_id) {
		memcpy(d->build_id, w.id, w.n_id);
		d->n_build_id = (uint8_t)w.n_id;
	}
	if (fd >= 0)
		return fd;
	return v == MISSING ? -ENOENT : v == UNANSWERED ? -ETIMEDOUT
			    : v == NO_DESCRIPTOR ? -EMFILE : -ESTALE;
}

/* A stream has its build ids at its end. */
void importfiles_recheck(struct importfiles *f, const struct dso_table *dsos)
{
	for (uint32_t i = 0; i < dsos->n; i++) {
		struct dso *d = dsos->dso[i];
		const struct perfdata_build_id *known =
			d->key.kind == DSO_ELF ? perfdata_build_id_of(f->source, d->path) : NULL;
		if (!known || !dsokeep_has_file(d))
			continue;
		struct wanted w = { known->bytes, known->n_bytes };
		if (same_id(&w, d->build_id, d->n_build_id))
			continue;
		log_line(f->log, LOG_NOTE, "'%s' is not the file that was recorded (another build "
			 "id): its code has no names", d->open_path ? d->open_path : d->path);
		dso_close_file(d);
		d->open_errno = ESTALE;
		d->is_elf = false;
		memcpy(d->build_id, known->bytes, known->n_bytes);
		d->n_build_id = known->n_bytes;
		f->n_opened--;
		f->n_wrong++;
	}
}

/* ---- the kernel ---------------------------------------------------------------------- */

#define KERNEL_NAME "[kernel.kallsyms]"

static bool is_kernel_proper(const char *filename)
{
	return strncmp(filename, KERNEL_NAME, strlen(KERNEL_NAME)) == 0;
}

/* If perf found a vmlinux, it wrote the build id under that file's name. */
static bool is_kernel_file(const char *filename)
{
	return is_kernel_proper(filename) ||
	       strncmp(path_base_name(filename), "vmlinux", 7) == 0;
}

static const struct perfdata_build_id *kernel_build_id(const struct importfiles *f,
						       const char *filename)
{
	size_t n;
	const struct perfdata_build_id *id = perfdata_build_ids(f->source, &n);
	for (size_t i = 0; i < n; i++)
		if (id[i].is_kernel &&
		    (is_kernel_proper(filename) ? is_kernel_file(id[i].filename)
						: strcmp(id[i].filename, filename) == 0))
			return &id[i];
	return NULL;
}

/* The address of a symbol in kallsyms; 0 if it is unknown or hidden.  Reads line by line, since the
 * kernel produces the text as it is read, and the symbol is among the first. */
static uint64_t kallsyms_address(const struct host *h, const char *symbol)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "kallsyms");
	CLEANUP_FCLOSE FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[512], name[256], kind;
	unsigned long long address;
	if (!file)
		return 0;
	fd = -1;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %255s", &address, &kind, name) == 3 &&
		    strcmp(name, symbol) == 0)
			return address;
	return 0;
}

/* Address randomization moves the same kernel at each boot: the symbol in perf's name for the
 * mapping ("[kernel.kallsyms]_text") must still have the same address. */
static bool same_addresses(const struct importfiles *f)
{
	size_t n;
	const struct perfdata_kernel_map *map = perfdata_kernel_maps(f->source, &n);
	for (size_t i = 0; i < n; i++) {
		const char *symbol = map[i].filename + strlen(KERNEL_NAME);
		if (is_kernel_proper(map[i].filename) && *symbol)
			return map[i].symbol_vaddr &&
			       kallsyms_address(f->host, symbol) == map[i].symbol_vaddr;
	}
	return false;
}

/* When this machine was booted, by its own clock; 0: unknown. */
static long long boot_s(const struct host *h)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "stat") < 0)
		return 0;
	const char *p = strstr(text, "\nbtime ");
	return p ? atoll(p + 7) : 0;
}

/* Streams, and files of perf record -z, have no build ids: then the machine's name and the time
 * decide, as with other files. */
static const char *why_not_without_id(struct importfiles *f)
{
	if (!is_of_this_machine(f))
		return "the recording has no build id of it, and is of another machine";
	long long boot = boot_s(f->host);
	return boot && boot <= f->recorded_s
		? NULL : "the recording has no build id of it, and is older than the last boot";
}

bool importfiles_check_kernel(struct importfiles *f)
{
	const struct source_facts *facts = &f->source->facts;
	const struct perfdata_build_id *id = kernel_build_id(f, KERNEL_NAME);
	CLEANUP_FREE char *release = NULL;
	uint8_t own[DSO_BUILD_ID_MAX];
	const char *why = NULL;
	if (host_read_file(f->host, HOST_PROC, &release, NULL, "sys/kernel/osrelease") < 0)
		return false;
	release[strcspn(release, "\n")] = '\0';
	if (strcmp(release, facts->kernel_release) != 0)
		why = "another release";
	else if (!id)
		why = why_not_without_id(f);
	else if (id->n_bytes != symkernel_build_id(f->host, own, sizeof(own)) ||
		 memcmp(id->bytes, own, id->n_bytes) != 0)
		why = "another build id";
	if (!why && !same_addresses(f))
		why = "its addresses differ (another boot) or are hidden (kernel.kptr_restrict)";
	f->running_kernel = !why;
	f->why_not_kernel = why;
	log_line(f->log, LOG_EXPLAIN, "recorded under %s%s",
		 why ? "another kernel than this one: " : "this kernel", why ? why : "");
	return f->running_kernel;
}

int importfiles_kernel_maps(const struct importfiles *f, struct names_kernel_map **ret_maps,
			    size_t *ret_n)
{
	size_t n;
	const struct perfdata_kernel_map *map = perfdata_kernel_maps(f->source, &n);
	struct names_kernel_map *out = calloc(n + 1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct perfdata_build_id *id = kernel_build_id(f, map[i].filename);
		out[i] = (struct names_kernel_map){
			.start = map[i].start, .end = map[i].end,
			.filename = is_kernel_proper(map[i].filename) ? KERNEL_NAME
								      : map[i].filename,
			.build_id = id ? id->bytes : NULL, .n_build_id = id ? id->n_bytes : 0,
			.symbol = is_kernel_proper(map[i].filename)
				  ? map[i].filename + strlen(KERNEL_NAME) : "",
			.symbol_address = map[i].symbol_vaddr,
		};
	}
	*ret_maps = out;
	*ret_n = n;
	return 0;
}
