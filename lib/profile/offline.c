/*
 * A profile is read whole, its nameless locations are sorted by mapping, and each mapping becomes a
 * DSO whose names are looked up as after a recording.  A file is trusted only if it has the
 * mapping's build id.
 *
 * In our own profiles addresses are ELF virtual addresses; in others they are addresses of the
 * process.  The mapping turns both into file offsets, and the file's program headers turn these
 * into virtual addresses.  A separate debug file has no offsets; there only the first kind works.
 */

#include "cprof-names.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/foreign.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "proto/pprof-read.h"
#include "proto/pprof.h"
#include "profile/fetch.h"
#include "profile/names.h"
#include "symbolize/elf/debugfetch.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_LEVEL 1
#define LINES_MAX 64

struct offline {
	const struct cprof_symbolize_config *config;
	struct host host;
	struct profile *p;
	struct strtab strings;
	struct symlines lines;
	const char **dir;              /* for debug files, NULL-terminated */
	char *symfs;                   /* "" or an absolute path */
	struct symaddr *named;         /* by location: n_lines 0: not looked up */
	struct symbolizer_has *has;    /* by mapping: what was found */
	struct cprof_symbolize_stats stats;
	struct debugfetch *fetch;      /* servers; NULL: do not ask any */
	struct pprof *out;
	VEC(struct offline_function) function;
	struct hashindex by_function;
};

struct offline_function {
	const char *name, *linkage, *file;
};

/* ---- files ----------------------------------------------------------------- */

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
static bool try_file(struct offline *o, struct dso *d, const char *path)
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

static bool find_named_file(struct offline *o, struct dso *d)
{
	char path[PATH_MAX];
	return d->path[0] == '/' &&
	       snprintf(path, sizeof(path), "%s%s", o->symfs, d->path) < (int)sizeof(path) &&
	       try_file(o, d, path);
}

/* The file at its recorded path, or by its build id: the program, or else only its debug file. */
static bool find_file(struct offline *o, struct dso *d)
{
	static const char *const suffix[] = { "", "/elf", ".debug" };
	char id[DSO_BUILD_ID_TEXT_MAX], path[PATH_MAX];
	if (!d->n_build_id)
		return false;
	if (find_named_file(o, d))
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

/* Adds the debug file that the program itself lacks. */
static void fetch_debug_file(struct offline *o, const struct dso *d, struct fetch_file *f,
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

/* ---- names ----------------------------------------------------------------- */

/* "[libfoo.so]+0x1234" is a substitute for a missing name. */
static bool is_nameless(const struct profile_location *l)
{
	if (l->n_lines != 1)
		return l->n_lines == 0;
	const struct profile_function *f = l->line[0].function;
	return !f || (f->name[0] == '[' && strstr(f->name, "]+0x") && !*f->filename);
}

static uint64_t vaddr_of(const struct dso *d, const struct profile_mapping *m, uint64_t address)
{
	uint64_t vaddr;
	for (uint16_t i = 0; i < d->n_segments; i++)
		if (d->segment[i].vaddr == m->memory_start)
			return address;
	dso_vaddr(d, address - m->memory_start + m->file_offset, &vaddr);
	return vaddr;
}

struct wanted {
	uint64_t vaddr;
	size_t location;
};

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int resolve(struct offline *o, const struct dso *d, size_t mapping, struct wanted *w,
		   size_t n)
{
	struct fetch_file fetched;
	struct symbolizer_counts counts = {0};
	struct symbolizer_options options = {
		.host = &o->host, .debug_dirs = o->dir, .log = o->config->log,
		.demangle = (uint8_t)o->config->naming.demangle, .counts = &counts,
		.cache_dir = o->config->naming.no_cache ? NULL : o->config->cache_dir,
		.timeout_ns = o->config->symbol_timeout_ns ? o->config->symbol_timeout_ns
							   : NAMES_TIMEOUT_NS,
	};
	CLEANUP_FREE struct symaddr *addr = calloc(n, sizeof(*addr));
	if (!addr)
		return -ENOMEM;
	fetch_debug_file(o, d, &fetched, &options);
	qsort(w, n, sizeof(*w), compare_wanted);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr = w[i].vaddr;
	int r = symbolizer_resolve(&options, d, addr, n, &o->lines, &o->strings,
				      &o->has[mapping]);
	for (size_t i = 0; i < n && r == 0; i++) {
		o->named[w[i].location] = addr[i];
		o->stats.n_named += addr[i].source != SYMBOLIZER_NONE;
	}
	o->stats.n_symbol_timeouts += counts.n_timeouts;
	o->stats.n_debug_misfits += counts.n_misfits;
	o->stats.n_unanswered += counts.n_lost;
	o->stats.n_no_descriptors += counts.n_no_descriptor;
	fetch_done(&fetched, 1);
	return r;
}

static int resolve_mapping(struct offline *o, size_t mapping)
{
	const struct profile_mapping *m = &o->p->mapping[mapping];
	VEC(struct wanted) w = { 0 };
	struct dso d = { .fd = -1, .path = strdup(m->filename) };
	int r = d.path ? 0 : -ENOMEM;
	bool is_file = *m->filename && m->filename[0] != '[';
	for (size_t i = 0; r == 0 && is_file && i < o->p->n_locations; i++) {
		const struct profile_location *l = &o->p->location[i];
		struct wanted one = { .location = i };
		if (l->mapping == m && is_nameless(l) && !VEC_PUSH(&w, one))
			r = -ENOMEM;
	}
	if (r == 0 && w.n) {
		bool by_path = o->config->by_path && !*m->build_id;
		bool found = by_path ? find_named_file(o, &d)
				     : parse_id(m->build_id, &d) && find_file(o, &d);
		o->stats.n_addresses += w.n;
		o->stats.n_files++;
		o->stats.n_files_found += found;
		if (!found && !d.open_errno)
			log_line(o->config->log, LOG_NOTE, *m->build_id
				 ? "'%s': no file with build id %s: its code has no names"
				 : by_path ? "'%s': there is no such file%s: its code has no names"
				 : "'%s': the profile has no build id of it%s: its code has no "
				   "names", m->filename, m->build_id);
		if (found)
			d.open_errno = 0;
		else if (!d.open_errno)
			d.open_errno = ENOENT;
		for (size_t i = 0; i < w.n; i++)
			w.v[i].vaddr = vaddr_of(&d, m, o->p->location[w.v[i].location].address);
		r = resolve(o, &d, mapping, w.v, w.n);
	}
	VEC_FREE(&w);
	dso_close_file(&d);
	free(d.path);
	free(d.open_path);
	return r;
}

/* ---- writing --------------------------------------------------------------- */

static uint64_t id_in(const void *base, const void *item, size_t n_bytes)
{
	return item ? (uint64_t)((const char *)item - (const char *)base) / n_bytes + 1 : 0;
}

static uint64_t hash_function(const struct offline_function *f)
{
	uint64_t h = hash_bytes(f->name, strlen(f->name));
	h = hash_pair(h, hash_bytes(f->linkage, strlen(f->linkage)));
	return hash_pair(h, hash_bytes(f->file, strlen(f->file)));
}

static bool same_function(const struct offline_function *x, const struct offline_function *y)
{
	return strcmp(x->name, y->name) == 0 && strcmp(x->linkage, y->linkage) == 0 &&
	       strcmp(x->file, y->file) == 0;
}

/* The id of a function: one for each combination of name, linkage name and file. */
static int function_id(struct offline *o, const struct pprof_function *f, uint64_t *ret_id)
{
	struct offline_function one = { f->name, f->system_name, f->filename };
	uint64_t hash = hash_function(&one);
	uint32_t at = HASHINDEX_FIND(&o->by_function, hash, i,
				     same_function(&o->function.v[i], &one));
	if (at != HASHINDEX_NONE) {
		*ret_id = at + UINT64_C(1);
		return 0;
	}
	if (!VEC_RESERVE(&o->function, 1) ||
	    !hashindex_add(&o->by_function, hash, (uint32_t)o->function.n))
		return -ENOMEM;
	o->function.v[o->function.n++] = one;
	*ret_id = pprof_function(o->out, f);
	return 0;
}

/* Line k of location i, old or newly found. */
static void get_line(const struct offline *o, size_t i, size_t k, struct pprof_function *f,
		     struct pprof_line *l)
{
	const struct symaddr *a = &o->named[i];
	if (a->n_lines) {
		const struct symline *s = &o->lines.v[a->first_line + k];
		*f = (struct pprof_function){
			.name = strtab_get(&o->strings, s->name),
			.system_name = strtab_get(&o->strings, s->linkage),
			.filename = strtab_get(&o->strings, s->file), .start_line = s->start_line,
		};
		*l = (struct pprof_line){ .line = s->line, .column = s->column };
		return;
	}
	const struct profile_line *was = &o->p->location[i].line[k];
	*l = (struct pprof_line){ .line = was->line, .column = was->column };
	*f = (struct pprof_function){ .name = "", .system_name = "", .filename = "" };
	if (was->function)
		*f = (struct pprof_function){
			.name = was->function->name, .system_name = was->function->system_name,
			.filename = was->function->filename,
			.start_line = was->function->start_line,
		};
}

static int write_locations(struct offline *o)
{
	const struct profile *p = o->p;
	int r = 0;
	for (size_t i = 0; i < p->n_locations && r == 0; i++) {
		const struct profile_location *l = &p->location[i];
		size_t n = o->named[i].n_lines ? o->named[i].n_lines : l->n_lines;
		size_t n_written = o->named[i].n_lines && n > LINES_MAX ? LINES_MAX : n;
		CLEANUP_FREE struct pprof_line *line = calloc(n ? n : 1, sizeof(*line));
		if (!line)
			return -ENOMEM;
		for (size_t k = 0; k < n_written && r == 0; k++) {
			/* As in recordings: long chains lose middle frames, never the function. */
			struct pprof_function f;
			get_line(o, i, k + 1 == n_written ? n - 1 : k, &f, &line[k]);
			r = function_id(o, &f, &line[k].function_id);
		}
		pprof_location(o->out, id_in(p->mapping, l->mapping, sizeof(*p->mapping)),
			       l->address, line, n_written, l->is_folded);
	}
	return r;
}

static void write_mappings(struct offline *o)
{
	const struct profile *p = o->p;
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mapping[i];
		const struct symbolizer_has *h = &o->has[i];
		pprof_mapping(o->out, &(struct pprof_mapping){
			.memory_start = m->memory_start, .memory_limit = m->memory_limit,
			.file_offset = m->file_offset, .filename = m->filename,
			.build_id = m->build_id,
			.has_functions = m->has_functions || h->functions,
			.has_filenames = m->has_filenames || h->filenames,
			.has_line_numbers = m->has_line_numbers || h->line_numbers,
			.has_inline_frames = m->has_inline_frames || h->inline_frames,
		});
	}
}

static int write_samples(struct offline *o)
{
	const struct profile *p = o->p;
	VEC(uint64_t) id = { 0 };
	VEC(struct pprof_label) label = { 0 };
	int r = 0;
	for (size_t i = 0; i < p->n_samples && r == 0; i++) {
		const struct profile_sample *s = &p->sample[i];
		id.n = label.n = 0;
		if (!VEC_RESERVE(&id, s->n_locations + 1) || !VEC_RESERVE(&label, s->n_labels + 1))
			r = -ENOMEM;
		for (size_t k = 0; k < s->n_locations && r == 0; k++)
			id.v[id.n++] = id_in(p->location, s->location[k], sizeof(*p->location));
		for (size_t k = 0; k < s->n_labels && r == 0; k++)
			label.v[label.n++] = (struct pprof_label){
				.key = s->label[k].key, .str = s->label[k].str,
				.num = s->label[k].num, .num_unit = s->label[k].num_unit,
			};
		if (r == 0)
			pprof_sample(o->out, id.v, id.n, s->value, p->n_sample_types, label.v,
				     label.n);
	}
	VEC_FREE(&id);
	VEC_FREE(&label);
	return r;
}

static int write_all(struct offline *o, struct err *e)
{
	const struct profile *p = o->p;
	for (size_t i = 0; i < p->n_sample_types; i++)
		pprof_sample_type(o->out, p->sample_type[i].type, p->sample_type[i].unit);
	if (*p->default_sample_type)
		pprof_default_sample_type(o->out, p->default_sample_type);
	pprof_filters(o->out, p->drop_frames, p->keep_frames, p->doc_url);
	if (*p->period_type.type)
		pprof_period(o->out, p->period_type.type, p->period_type.unit, p->period);
	pprof_times(o->out, p->time_nanos, p->duration_nanos);
	for (size_t i = 0; i < p->n_comments; i++)
		pprof_comment(o->out, p->comment[i]);
	write_mappings(o);
	int r = write_locations(o);
	if (r == 0)
		r = write_samples(o);
	return r < 0 ? err_errno(e, -r, "cannot write the profile") : pprof_finish(o->out, e);
}

/* ---- the whole profile ---------------------------------------------------------- */

static int set_folders(struct offline *o, struct err *e)
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

struct hot {
	uint64_t weight;
	size_t mapping;
};

static int compare_hot(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->mapping > y->mapping) - (x->mapping < y->mapping);
}

/* Sorts mappings by their number of samples, since time may run out. */
static struct hot *hottest_first(const struct profile *p)
{
	struct hot *hot = calloc(p->n_mappings ? p->n_mappings : 1, sizeof(*hot));
	if (!hot)
		return NULL;
	for (size_t i = 0; i < p->n_mappings; i++)
		hot[i].mapping = i;
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		const struct profile_mapping *m = s->n_locations ? s->location[0]->mapping : NULL;
		if (m && p->n_sample_types && s->value[0] > 0)
			hot[m - p->mapping].weight += (uint64_t)s->value[0];
	}
	qsort(hot, p->n_mappings, sizeof(*hot), compare_hot);
	return hot;
}

static int look_up_names(struct offline *o, struct err *e)
{
	o->named = calloc(o->p->n_locations ? o->p->n_locations : 1, sizeof(*o->named));
	o->has = calloc(o->p->n_mappings ? o->p->n_mappings : 1, sizeof(*o->has));
	int r = o->named && o->has ? strtab_init(&o->strings, NULL) : -ENOMEM;
	o->fetch = fetch_open(&o->config->naming, 0, o->config->log);
	CLEANUP_FREE struct hot *hot = r == 0 ? hottest_first(o->p) : NULL;
	if (!hot)
		r = -ENOMEM;
	for (size_t i = 0; i < o->p->n_mappings && r == 0; i++)
		r = resolve_mapping(o, hot[i].mapping);
	debugfetch_close(o->fetch);
	return r < 0 ? err_errno(e, -r, "cannot look up names") : 0;
}

static void free_offline(struct offline *o)
{
	pprof_free(o->out);
	profile_free(o->p);
	strtab_done(&o->strings);
	for (const char **dir = o->dir; dir && *dir; dir++)
		free((char *)*dir);
	free(o->dir);
	free(o->symfs);
	free(o->named);
	free(o->has);
	free(o->lines.v);
	VEC_FREE(&o->function);
	hashindex_done(&o->by_function);
	host_close(&o->host);
}

static int read_profile(const struct cprof_symbolize_config *c, struct profile **ret,
			struct err *e)
{
	return c->data ? profile_read(c->data, c->n_bytes, 0, ret, e)
		       : profile_read_file(c->path, ret, e);
}

static int symbolize(struct offline *o, int (*write)(void *ctx, const void *data, size_t n_bytes),
		     void *ctx, struct err *e)
{
	int r;
	if ((r = set_folders(o, e)) < 0 ||
	    (r = read_profile(o->config, &o->p, e)) < 0 ||
	    (r = look_up_names(o, e)) < 0 ||
	    (r = pprof_new(write, ctx, ZLIB_LEVEL, &o->out, e)) < 0)
		return r;
	return write_all(o, e);
}

int cprof_symbolize(const struct cprof_symbolize_config *config,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct cprof_symbolize_stats *ret_stats, struct err *e)
{
	struct offline o = { .config = config };
	int r = host_open(&o.host, NULL, NULL, NULL, e);
	if (r < 0)
		return r;
	r = symbolize(&o, write, ctx, e);
	if (r == 0)
		*ret_stats = o.stats;
	free_offline(&o);
	return r;
}
