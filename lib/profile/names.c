/*
 * Frames are grouped by DSO, and each group is sorted by address and resolved in one batch, so that
 * the symbols and debug information of only one file at a time are in memory.
 */

#include "profile/names.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/host.h"
#include "base/log.h"
#include "base/path.h"
#include "base/radix.h"
#include "base/remotemem.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "profile/fetch.h"
#include "profile/names-kept.h"
#include "profile/names-mapping.h"
#include "symbolize/elf/debugfetch.h"
#include "symbolize/elf/dso.h"
#include "symbolize/kernel/symkdebug.h"
#include "symbolize/kernel/symkernel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many lines that no frame uses are kept. */
#define STALE_LINES 4096

/* ---- frames with samples ------------------------------------------------- */

/* Marks the frames of counted stacks; a parent's index is below its children's. */
static int mark_used(const struct engine *g, bool *used)
{
	CLEANUP_FREE bool *node = calloc(g->stacks.n, sizeof(*node));
	if (!node)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->counts.n; i++)
		node[g->counts.v[i].stack] = true;
	for (size_t i = 0; i < g->wakees.stack.n; i++)
		node[g->wakees.stack.v[i]] = true;
	for (uint32_t i = g->stacks.n; i-- > 1;) {
		if (!node[i])
			continue;
		node[g->stacks.v[i].parent] = true;
		used[g->stacks.v[i].frame] = true;
	}
	return 0;
}

struct by_dso {
	uint32_t dso, frame;
	uint64_t vaddr;
};

/* By DSO, and within a DSO by address. */
static bool sort_by_dso(const struct engine *g, struct radix_item *item, size_t n)
{
	for (size_t i = 0; i < n; i++)
		item[i].key = g->frames.v[item[i].value].vaddr;
	if (!radix_sort(item, n))
		return false;
	for (size_t i = 0; i < n; i++)
		item[i].key = g->frames.v[item[i].value].dso;
	return radix_sort(item, n);
}

static int list_used(const struct engine *g, struct by_dso **ret_list, size_t *ret_n)
{
	CLEANUP_FREE bool *used = calloc(g->frames.n, sizeof(*used));
	CLEANUP_FREE struct radix_item *item = calloc(g->frames.n, sizeof(*item));
	if (!used || !item || mark_used(g, used) < 0)
		return -ENOMEM;
	size_t n = 0;
	for (uint32_t i = 0; i < g->frames.n; i++)
		if (used[i])
			item[n++].value = i;
	struct by_dso *list = calloc(n + 1, sizeof(*list));
	if (!list || !sort_by_dso(g, item, n)) {
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct frame *f = &g->frames.v[item[i].value];
		list[i] = (struct by_dso){ f->dso, item[i].value, f->vaddr };
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

/* ---- functions --------------------------------------------------------------------- */

static uint64_t function_hash(const struct symline *l)
{
	return hash_pair(hash_pair(l->name, l->linkage), l->file);
}

static bool is_function_of(const struct names_function *f, const struct symline *l)
{
	return f->name == l->name && f->linkage == l->linkage && f->file == l->file;
}

static int intern_functions(struct names *n)
{
	if (!VEC_RESERVE(&n->line_functions, n->lines.n - n->line_functions.n))
		return -ENOMEM;
	for (size_t i = n->line_functions.n; i < n->lines.n; i++) {
		const struct symline *l = &n->lines.v[i];
		uint64_t hash = function_hash(l);
		uint32_t at = HASHINDEX_FIND(&n->by_function, hash, k,
					     is_function_of(&n->functions.v[k], l));
		if (at == HASHINDEX_NONE) {
			at = (uint32_t)n->functions.n;
			if (!VEC_RESERVE(&n->functions, 1) ||
			    !hashindex_add(&n->by_function, hash, at))
				return -ENOMEM;
			n->functions.v[n->functions.n++] = (struct names_function){
				.name = l->name, .linkage = l->linkage, .file = l->file,
				.start_line = l->start_line,
			};
		}
		n->line_functions.v[n->line_functions.n++] = at;
	}
	return 0;
}

/* ---- all frames ---------------------------------------------------------------------- */

static void count_named(const struct engine *g, struct names *n, const struct by_dso *list,
			size_t n_list)
{
	n->n_frames_user = n->n_frames_user_named = 0;
	n->n_frames_kernel = n->n_frames_kernel_named = 0;
	for (size_t i = 0; i < n_list; i++) {
		enum dso_kind kind = dso_get(&g->dsos, list[i].dso)->key.kind;
		bool named = n->frames.v[list[i].frame].source != SYMBOLIZER_NONE;
		if (kind == DSO_KERNEL || kind == DSO_MODULE) {
			n->n_frames_kernel++;
			n->n_frames_kernel_named += named;
		} else if (kind != DSO_PSEUDO) {
			n->n_frames_user++;
			n->n_frames_user_named += named;
		}
	}
}

/* The functions of an interpreter; the engine knows their names. */
static int name_vfuncs(struct engine *g, struct names *n, struct symaddr *addr, size_t n_addr,
		       struct symbolizer_has *ret_has)
{
	for (size_t i = 0; i < n_addr; i++) {
		uint32_t line;
		const struct vfunc *f = vfuncs_at(&g->vfuncs, addr[i].vaddr, &line);
		struct symline l = { .line = line };
		if (!f || n->lines.n >= UINT32_MAX || !VEC_RESERVE(&n->lines, 1))
			return -ENOMEM;
		l.name = l.linkage = strtab_add_cstr(&g->strings,
						     strtab_get(&g->vfuncs.strings, f->name));
		l.file = strtab_add_cstr(&g->strings, strtab_get(&g->vfuncs.strings, f->file));
		l.start_line = f->first_line;
		if (!l.name)
			return -ENOMEM;
		addr[i].first_line = (uint32_t)n->lines.n;
		addr[i].n_lines = 1;
		addr[i].source = SYMBOLIZER_RUNTIME;
		n->lines.v[n->lines.n++] = l;
	}
	*ret_has = (struct symbolizer_has){
		.functions = true, .filenames = true, .line_numbers = true,
	};
	return 0;
}

/* A made-up name of kernel code has the address in the profile, and its mapping's name. */
static bool set_made_up_name(struct engine *g, struct names *n, const char *file,
			     const struct symaddr *a, uint64_t address)
{
	char text[512];
	const char *base = path_base_name(file);
	bool has_brackets = base[0] == '[';
	if (a->n_lines == 0)
		return true;
	int n_text = snprintf(text, sizeof(text), "%s%.400s%s", has_brackets ? "" : "[", base,
			      has_brackets ? "" : "]");
	if (address)
		snprintf(text + n_text, sizeof(text) - (size_t)n_text, "+0x%" PRIx64, address);
	struct symline *line = &n->lines.v[a->first_line + a->n_lines - 1];
	line->name = line->linkage = strtab_add_cstr(&g->strings, text);
	return line->name != 0;
}

static uint32_t distance(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static const char *mapping_name(const struct engine *g, const struct names *n, uint32_t m)
{
	return m == NAMES_NO_MAPPING ? "[unknown]"
				     : strtab_get(&g->strings, n->mappings.v[m].filename);
}

static int resolve_dso(struct engine *g, const struct names_options *options,
		       const struct symbolizer_options *o, struct names *n,
		       const struct by_dso *list, size_t n_list)
{
	const struct dso *d = dso_get(&g->dsos, list->dso);
	CLEANUP_FREE struct symaddr *addr = calloc(n_list, sizeof(*addr));
	if (!addr)
		return -ENOMEM;
	for (size_t i = 0; i < n_list; i++)
		addr[i].vaddr = list[i].vaddr;
	struct symbolizer_has has = { 0 };
	struct jitcode_view jit[JITCODE_VIEWS_MAX];
	struct symbolizer_options own = *o;
	own.jit = jit;
	own.kernel_code = &g->kernel_code;
	own.n_jit = jit_views(&g->jit, d, jit);
	for (size_t i = 0; i < n->n_fetched; i++) {
		if (n->fetched[i].dso != d || n->fetched[i].fd < 0)
			continue;
		own.fetched_fd = n->fetched[i].fd;
		own.fetched_path = n->fetched[i].path ? n->fetched[i].path : "debuginfod";
	}
	int r = d->key.kind == DSO_RUNTIME ?
			name_vfuncs(g, n, addr, n_list, &has) :
			symbolizer_resolve(&own, d, addr, n_list, &n->lines, &g->strings, &has);
	if (r < 0)
		return r;
	uint32_t m = NAMES_NO_MAPPING;
	for (size_t i = 0; i < n_list; i++) {
		/* Sorted by address, so most are in the mapping of their predecessor. */
		uint64_t address = addr[i].vaddr;
		if (names_mapping_holds(n, m, d->key.kind, address))
			address -= n->mappings.v[m].shift;
		else if (d->key.kind == DSO_KERNEL)
			m = names_mapping_kernel(g, n, options, o->kernel, &address);
		else if (d->key.kind != DSO_PSEUDO)
			m = names_mapping_dso(g, n, d, addr[i].vaddr);
		if (address != addr[i].vaddr && addr[i].source == SYMBOLIZER_NONE &&
		    !set_made_up_name(g, n, mapping_name(g, n, m), &addr[i], address))
			return -ENOMEM;
		if (m != NAMES_NO_MAPPING) {
			struct symbolizer_has *h = &n->mappings.v[m].has;
			h->functions |= has.functions;
			h->filenames |= has.filenames;
			h->line_numbers |= has.line_numbers;
			h->inline_frames |= has.inline_frames;
		}
		n->frames.v[list[i].frame] = (struct names_frame){
			.first_line = addr[i].first_line, .n_lines = addr[i].n_lines,
			.mapping = m, .source = addr[i].source, .address = address,
		};
		if (!addr[i].same_end)
			continue;
		struct names_frame *f = &n->frames.v[list[i].frame];
		f->same_before = distance(addr[i].vaddr - addr[i].same_start);
		f->same_after = distance(addr[i].same_end - addr[i].vaddr);
	}
	return 0;
}

/* mapping[0] is the main binary even if it has no samples of its own.  For a whole machine it is an
 * empty one: readers would take the kernel for its program. */
static void add_main_binary(struct engine *g, struct names *n)
{
	if (g->procs.no_first_exe)
		names_mapping_none(g, n);
	if (g->procs.first_exe == UINT32_MAX)
		return;
	const struct dso *d = dso_get(&g->dsos, g->procs.first_exe);
	names_mapping_dso(g, n, d, d->n_segments ? d->segment[0].vaddr : 0);
}

/* The kernel's part of the list; 0: there is none. */
static size_t kernel_part(const struct engine *g, const struct by_dso *list, size_t n_list,
			  const struct by_dso **ret)
{
	size_t first = 0, n = 0;
	while (first < n_list && list[first].dso != g->walk.kernel_dso)
		first++;
	while (first + n < n_list && list[first + n].dso == g->walk.kernel_dso)
		n++;
	*ret = list + first;
	return n;
}

static const char *cache_dir(const struct names_options *o)
{
	bool is_wanted = !o->naming || !o->naming->no_cache;
	return is_wanted && o->symbols.host ? host_cache_dir(o->symbols.host, o->cache_dir) : NULL;
}

/* Asking takes a tenth of the time of reading the whole table for so many. */
#define ASKED_MAX 4096u

/* Asks the running kernel for the names of its own frames.  Code that was loaded or removed during
 * the recording has its names already.  Debug information of modules needs more symbols. */
static struct symkernel *ask_kernel(const struct engine *g, const struct names_options *o,
				    const struct names *names, const struct by_dso *frame, size_t n)
{
	struct symkernel *k = NULL;
	if (!o->may_ask_kernel || n > ASKED_MAX || (o->naming && o->naming->kernel_debug))
		return NULL;
	CLEANUP_FREE uint64_t *address = malloc(n * sizeof(*address));
	size_t n_asked = 0;
	for (size_t i = 0; address && i < n; i++)
		if (!jitcode_find(&g->kernel_code, frame[i].vaddr, UINT64_MAX))
			address[n_asked++] = frame[i].vaddr;
	return address && symkernel_ask_open(o->symbols.host, address, n_asked,
					     names_mapping_kernel_shift(g, names, o), &k) == 0
		       ? k : NULL;
}

/* The kernel's names if they are wanted; NULL if there are none. */
static struct symkernel *open_kernel(const struct engine *g, const struct names_options *o,
				     const struct names *names, const struct by_dso *list,
				     size_t n_list, bool *ret_hidden)
{
	struct symkernel *k = NULL;
	struct err why;
	uint64_t start, end;
	const struct by_dso *frame;
	const struct host *host = o->symbols.host;
	size_t n = kernel_part(g, list, n_list, &frame);
	if (n == 0 || !o->running_kernel || !host)
		return NULL;
	uint64_t first = frame[0].vaddr, last = frame[n - 1].vaddr;  /* sorted */
	const char *dir = cache_dir(o);
	if (dir && symkernel_cache_open(host, dir, &k) == 0) {
		symkernel_text(k, &start, &end);
		if (first >= start && last < end)
			return k;
		symkernel_close(k);
		k = NULL;
	}
	if ((k = ask_kernel(g, o, names, frame, n)))
		return k;
	if (symkernel_open_for(host, first, last, &k, &why) < 0) {
		*ret_hidden = true;
		log_line(o->symbols.log, LOG_WARN, "kernel functions have no names: %s%s%s",
			 why.what, why.hint[0] ? "; " : "", why.hint);
		return NULL;
	}
	if (dir)
		symkernel_cache_save(k, host, dir);
	return k;
}

/* The kernel whose debug information is wanted, id: its build id; false: none. */
static bool describe_kernel(const struct names_options *o, const struct symkernel *k,
			    uint8_t id[DSO_BUILD_ID_MAX], struct symkdebug_kernel *ret)
{
	if (!o->naming || !o->naming->kernel_debug || !o->symbols.host || o->symbols.no_inlines)
		return false;
	*ret = (struct symkdebug_kernel){
		.file = o->naming->kernel_debug_file, .symbols = k, .build_id = id,
		.release = o->kernel_release ? o->kernel_release : "",
	};
	if (k) {
		uint64_t start, end;
		symkernel_text(k, &start, &end);
		ret->n_build_id = symkernel_build_id(o->symbols.host, id, DSO_BUILD_ID_MAX);
		ret->anchor[0] = (struct symkdebug_anchor){ "_stext", start };
		ret->anchor[1] = (struct symkdebug_anchor){ "_etext", end };
		ret->n_anchors = start && end ? 2 : 0;
		return true;
	}
	/* Nothing is known about a kernel that runs here but hides its addresses. */
	for (size_t i = 0; i < o->n_kernel_maps && !o->running_kernel; i++) {
		const struct names_kernel_map *map = &o->kernel_map[i];
		if (!*map->symbol || !map->symbol_address || !map->n_build_id)
			continue;
		ret->build_id = map->build_id;
		ret->n_build_id = map->n_build_id;
		ret->anchor[0] = (struct symkdebug_anchor){ map->symbol, map->symbol_address };
		ret->n_anchors = 1;
		return true;
	}
	return !o->running_kernel;
}

/* The number of samples whose innermost frame is in each DSO. */
static uint64_t *weigh_dsos(const struct engine *g)
{
	uint64_t *weight = calloc(g->dsos.n ? g->dsos.n : 1, sizeof(*weight));
	for (uint32_t i = 0; weight && i < g->counts.n; i++) {
		const struct count *c = &g->counts.v[i];
		if (c->stack != STACKS_EMPTY)
			weight[g->frames.v[g->stacks.v[c->stack].frame].dso] += c->n_samples;
	}
	return weight;
}

/* Fetches debug files from servers for the DSOs of the list. */
static int fetch(struct engine *g, const struct names_options *o, struct names *n,
		 const struct by_dso *list, size_t n_list)
{
	struct debugfetch *f =
		o->naming ? fetch_open(o->naming, n->fetch_ns, o->symbols.log) : NULL;
	if (!f)
		return 0;
	uint64_t start_ns = clock_monotonic_ns();
	CLEANUP_FREE uint64_t *weight = weigh_dsos(g);
	n->fetched = calloc(n_list ? n_list : 1, sizeof(*n->fetched));
	if (weight && n->fetched) {
		for (size_t i = 0; i < n_list; i++)
			if (i == 0 || list[i].dso != list[i - 1].dso)
				n->fetched[n->n_fetched++] = (struct fetch_file){
					.dso = dso_get(&g->dsos, list[i].dso),
					.weight = weight[list[i].dso], .fd = -1,
				};
		fetch_files(f, &o->symbols, n->fetched, n->n_fetched);
	}
	debugfetch_close(f);
	n->fetch_ns += clock_monotonic_ns() - start_ns;
	return weight && n->fetched ? 0 : -ENOMEM;
}

/* ---- earlier results ------------------------------------------------------- */

/* Makes room for frames that are new since the last call, and starts over if old results do not
 * apply. */
static int reuse(const struct engine *g, struct names *n)
{
	fetch_done(n->fetched, n->n_fetched);
	free(n->fetched);
	n->fetched = NULL;
	n->n_fetched = 0;
	/* The main binary may have changed; and JIT code is looked up each time. */
	if (n->main_dso != g->procs.first_exe || n->n_stale_lines > n->lines.n / 2 + STALE_LINES) {
		uint64_t fetch_ns = n->fetch_ns;
		names_done(n);
		n->fetch_ns = fetch_ns;
	}
	n->main_dso = g->procs.first_exe;
	return VEC_EXTEND(&n->frames, g->frames.n) ? 0 : -ENOMEM;
}

/* Lists the frames whose names must be looked up; those in files keep theirs. */
static size_t list_unknown(const struct engine *g, struct names *n, const struct by_dso *list,
			   size_t n_list, struct by_dso *ret)
{
	size_t n_ret = 0;
	for (size_t i = 0; i < n_list; i++) {
		const struct names_frame *f = &n->frames.v[list[i].frame];
		bool changes = dso_get(&g->dsos, list[i].dso)->key.kind == DSO_ANON;
		if (f->n_lines && !changes)
			continue;
		n->n_stale_lines += f->n_lines;
		ret[n_ret++] = list[i];
	}
	return n_ret;
}

/* Names of earlier profiles.  Returns the number of frames that are left in the list. */
static size_t take_known(struct engine *g, const struct names_options *o, struct names *n,
			 struct by_dso *list, size_t n_list)
{
	char key[NAMES_KEPT_KEY_MAX];
	size_t n_left = 0;
	if (!o->known || !namecache_bytes_used(o->known))
		return n_list;
	for (size_t i = 0, next; i < n_list; i = next) {
		uint32_t dso = list[i].dso;  /* list[i] may be overwritten */
		const struct dso *d = dso_get(&g->dsos, dso);
		struct namecache_file file = { 0 };
		if (names_kept_key(g, o, d, key))
			file = namecache_file(o->known, key);
		for (next = i; next < n_list && list[next].dso == dso; next++)
			if (!names_kept_take(g, n, o->known, d, file, list[next].frame))
				list[n_left++] = list[next];
	}
	return n_left;
}

static int resolve_list(struct engine *g, const struct names_options *options, struct names *n,
			struct elfcache *kept, struct by_dso *list, size_t n_list)
{
	struct symbolizer_options o = options->symbols;
	struct symkernel *kernel = open_kernel(g, options, n, list, n_list,
					       &n->kernel_hidden);
	uint8_t kernel_id[DSO_BUILD_ID_MAX];
	struct symkdebug_kernel kernel_debug;
	o.counts = &n->files;
	o.cache_dir = cache_dir(options);
	o.kept = kept;
	o.kernel = kernel;
	if (!o.timeout_ns)
		o.timeout_ns = NAMES_TIMEOUT_NS;
	if (describe_kernel(options, kernel, kernel_id, &kernel_debug))
		o.kernel_debug = &kernel_debug;
	uint64_t *replaced = NULL;
	jitcode_settle(&g->kernel_code, &replaced);
	free(replaced);
	int r = fetch(g, options, n, list, n_list);
	for (size_t i = 0, next; r == 0 && i < n_list; i = next) {
		for (next = i; next < n_list && list[next].dso == list[i].dso;)
			next++;
		r = resolve_dso(g, options, &o, n, list + i, next - i);
		/* its 3 MB are not needed while the largest file is read */
		if (dso_get(&g->dsos, list[i].dso)->key.kind == DSO_KERNEL)
			symkernel_rest(kernel);
	}
	symkernel_close(kernel);
	jit_explain(&g->jit, o.log);
	if (g->options.host)
		remotemem_explain(g->options.host->memory, o.log);
	/* The number falls when a file can be opened later. */
	uint64_t n_jit = jit_n_no_descriptor(&g->jit);
	n->files.n_no_descriptor += n_jit - n->n_jit_no_descriptor;
	n->n_jit_no_descriptor = n_jit;
	return r;
}

static int resolve(struct engine *g, const struct names_options *options, struct names *n)
{
	CLEANUP_FREE struct by_dso *used = NULL, *list = NULL;
	size_t n_used = 0;
	/* A second look-up means periodic ones: keep files open. */
	struct elfcache *kept = n->frames.n ? &n->kept : NULL;
	int r = list_used(g, &used, &n_used);
	if (r < 0 || (r = reuse(g, n)) < 0)
		return r;
	list = calloc(n_used + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	size_t n_list = list_unknown(g, n, used, n_used, list);
	add_main_binary(g, n);
	n_list = take_known(g, options, n, list, n_list);
	r = resolve_list(g, options, n, kept, list, n_list);
	if (r < 0 || (r = intern_functions(n)) < 0)
		return r;
	count_named(g, n, used, n_used);
	r = locknames_resolve(g, &options->symbols, &n->locks);
	return r < 0 ? r : wakeelabels_resolve(g, n, &n->wakees);
}

int names_resolve(struct engine *g, const struct names_options *options, struct names *names,
		  struct err *e)
{
	struct names n = *names;
	*names = (struct names){ 0 };
	int r = resolve(g, options, &n);
	if (r < 0) {
		names_done(&n);
		return err_errno(e, -r, "cannot look up names");
	}
	*names = n;
	return 0;
}

void names_done(struct names *n)
{
	elfcache_done(&n->kept);
	fetch_done(n->fetched, n->n_fetched);
	free(n->fetched);
	free(n->lines.v);
	VEC_FREE(&n->line_functions);
	VEC_FREE(&n->functions);
	hashindex_done(&n->by_function);
	VEC_FREE(&n->mappings);
	VEC_FREE(&n->frames);
	locknames_done(&n->locks);
	wakeelabels_done(&n->wakees);
	*n = (struct names){ 0 };
}
