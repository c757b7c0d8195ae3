#include "profile/export.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/radix.h"
#include "base/vec.h"
#include "engine/engine-allocs.h"
#include "profile/allocframes.h"
#include "profile/lessdetail.h"
#include "profile/names.h"
#include "profile/timesets.h"
#include "profile/waitlabel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The state of writing one event. */
struct export {
	const struct engine *g;
	const struct names *names;
	const struct export_info *info;
	struct pprof *out;
	uint32_t *entry;         /* indices of the event's counts, root-first order */
	size_t n_entries;
	bool *is_folded;         /* by entry: its values belong to the one before; NULL: no */
	uint32_t *location;      /* by frame: id in this file; 0: not in it */
	uint32_t *by_frequency;  /* frames in this file, most frequent first */
	size_t n_locations;
	uint32_t *function;      /* by function: id in this file */
	uint32_t *mapping;       /* by mapping: id in this file; 0: not in it */
	uint32_t dropped[16];    /* keys of labels that are left out */
	unsigned n_dropped;
	struct pprof_label more[EXPORT_PART_LABELS_MAX];  /* of each sample */
	char *more_keys;         /* the text of their keys */
	unsigned n_more;
	uint32_t *shown;         /* by stack: without frames that only allocate; NULL: as it is */
	bool merges;             /* some counts differ only in what no file contains */
	struct timesets times;
	uint32_t lock_key;       /* of the label lock; 0: there is none */
	uint32_t number_key[EXPORT_NUMBERS_MAX]; /* keys of info->number; 0: not in the profile */
};

static void export_done(struct export *x)
{
	pprof_free(x->out);
	timesets_done(&x->times);
	free(x->shown);
	free(x->more_keys);
	free(x->entry);
	free(x->is_folded);
	free(x->location);
	free(x->by_frequency);
	free(x->function);
	free(x->mapping);
}

/* ---- order ----------------------------------------------------------------------- */

/*
 * Numbers the nodes of the stack tree in preorder, callers before callees, so that stacks with the
 * same outer frames are neighbours.  A parent's index is below its children's, so two passes do it
 * without recursion.
 */
uint32_t *export_order(const struct engine *g)
{
	const struct stacks *s = &g->stacks;
	CLEANUP_FREE uint32_t *size = calloc(s->n, sizeof(*size));
	uint32_t *pos = calloc(s->n, sizeof(*pos));
	if (!size || !pos) {
		free(pos);
		return NULL;
	}
	for (uint32_t i = s->n; i-- > 1;)
		size[s->v[i].parent] += ++size[i];
	/* From here on size[i] is the position of the next child of i. */
	size[0] = 1;
	for (uint32_t i = 1; i < s->n; i++) {
		uint32_t own = size[i], parent = s->v[i].parent;
		pos[i] = size[parent];
		size[parent] += own;
		size[i] = pos[i] + 1;
	}
	return pos;
}

/* The label set of a count, as it is written. */
static uint32_t set_of(const struct export *x, uint32_t count)
{
	return timesets_of(&x->times, wakeelabels_of(&x->names->wakees,
						     x->g->counts.v[count].labels));
}

/* Likewise its stack. */
static uint32_t stack_of(const struct export *x, uint32_t count)
{
	uint32_t stack = x->g->counts.v[count].stack;
	return x->shown ? x->shown[stack] : stack;
}

static bool is_in_part(const struct export *x, const struct count *c)
{
	return !x->info->part || x->info->part->has_set[c->labels];
}

static int thin(struct export *x)
{
	const struct export_part *part = x->info->part;
	if (!part || part->keep <= 0 || part->keep >= 1)
		return 0;
	CLEANUP_FREE uint64_t *n_samples = calloc(x->n_entries + 1, sizeof(*n_samples));
	x->is_folded = calloc(x->n_entries + 1, sizeof(*x->is_folded));
	if (!n_samples || !x->is_folded)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_entries; i++)
		n_samples[i] = x->g->counts.v[x->entry[i]].n_samples;
	uint64_t n = lessdetail_thin(x->entry, x->n_entries, n_samples, part->keep, part->seed,
				     x->is_folded);
	if (part->n_folded)
		*part->n_folded += n;
	return 0;
}

static int order_entries(struct export *x, uint32_t event)
{
	const struct counts *c = &x->g->counts;
	CLEANUP_FREE uint32_t *own = NULL;
	const uint32_t *pos = x->info->part ? x->info->part->order : NULL;
	if (!pos)
		pos = own = export_order(x->g);
	CLEANUP_FREE struct radix_item *placed = calloc(c->n ? c->n : 1, sizeof(*placed));
	if (!pos || !placed)
		return -ENOMEM;
	size_t n = 0;
	for (uint32_t i = 0; i < c->n; i++)
		if (engine_output_of(x->g, c->v[i].event) == event &&
		    c->v[i].n_samples | c->v[i].value && is_in_part(x, &c->v[i]))
			placed[n++] = (struct radix_item){ set_of(x, i), i };
	/* Equal samples become neighbours. */
	if (x->merges && !radix_sort(placed, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		placed[i].key = pos[stack_of(x, placed[i].value)];
	x->entry = calloc(n ? n : 1, sizeof(*x->entry));
	if (!x->entry || !radix_sort(placed, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		x->entry[i] = placed[i].value;
	x->n_entries = n;
	return thin(x);
}

/* How many samples have each frame.  A part has few of all stacks. */
static int count_frames(const struct export *x, uint64_t *frequency)
{
	const struct stacks *s = &x->g->stacks;
	for (size_t i = 0; x->info->part && i < x->n_entries; i++) {
		if (x->is_folded && x->is_folded[i])
			continue;
		uint32_t node = stack_of(x, x->entry[i]);
		for (; node != STACKS_EMPTY; node = s->v[node].parent)
			frequency[s->v[node].frame]++;
	}
	if (x->info->part)
		return 0;
	CLEANUP_FREE uint64_t *on_node = calloc(s->n, sizeof(*on_node));
	if (!on_node)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_entries; i++)
		on_node[stack_of(x, x->entry[i])]++;
	for (uint32_t i = s->n; i-- > 1;) {
		on_node[s->v[i].parent] += on_node[i];
		frequency[s->v[i].frame] += on_node[i];
	}
	return 0;
}

static bool has_only_functions(const struct export *x)
{
	return x->info->part && x->info->part->only_functions;
}

/* Numbers the locations: the most frequent frames get small ids, which take one byte. */
static int number_locations(struct export *x)
{
	const struct engine *g = x->g;
	CLEANUP_FREE uint64_t *frequency = calloc(g->frames.n, sizeof(*frequency));
	x->location = calloc(g->frames.n, sizeof(*x->location));
	if (!frequency || !x->location || count_frames(x, frequency) < 0)
		return -ENOMEM;
	uint64_t most = 0;
	for (uint32_t i = 0; i < g->frames.n; i++) {
		most = frequency[i] > most ? frequency[i] : most;
		x->n_locations += frequency[i] > 0;
	}
	CLEANUP_FREE struct radix_item *by_frequency = calloc(x->n_locations + 1,
							      sizeof(*by_frequency));
	x->by_frequency = calloc(x->n_locations + 1, sizeof(*x->by_frequency));
	if (!by_frequency || !x->by_frequency)
		return -ENOMEM;
	size_t n = 0;
	for (uint32_t i = 0; i < g->frames.n; i++)
		if (frequency[i])
			by_frequency[n++] = (struct radix_item){ most - frequency[i], i };
	if (!radix_sort(by_frequency, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		x->by_frequency[i] = by_frequency[i].value;
		x->location[by_frequency[i].value] = (uint32_t)i + 1;
	}
	if (has_only_functions(x))
		x->n_locations = lessdetail_fold(x->names, x->by_frequency, n, x->location);
	return x->n_locations == SIZE_MAX ? -ENOMEM : 0;
}

/* ---- messages -------------------------------------------------------------------------- */

static const char *text(const struct export *x, uint32_t id)
{
	return strtab_get(&x->g->strings, id);
}

/* What the frame's lines show about the names of its mapping. */
static void add_shown(const struct export *x, const struct names_frame *nf,
		      struct symbolizer_has *shown)
{
	shown->functions |= nf->source != SYMBOLIZER_NONE;
	shown->inline_frames |= nf->source != SYMBOLIZER_NONE;
	for (uint32_t i = 0; i < nf->n_lines; i++) {
		const struct symline *l = &x->names->lines.v[nf->first_line + i];
		shown->filenames |= l->file != 0;
		shown->line_numbers |= l->line != 0;
	}
}

/*
 * The main binary, which comes first, and the mappings of this event's locations.  Names are looked
 * up for all events, but a mapping must not claim what only the samples of other events showed.
 */
static int write_mappings(struct export *x)
{
	size_t n = x->names->mappings.n ? x->names->mappings.n : 1;
	CLEANUP_FREE struct symbolizer_has *shown = calloc(n, sizeof(*shown));
	CLEANUP_FREE bool *used = calloc(n, sizeof(*used));
	x->mapping = calloc(n, sizeof(*x->mapping));
	if (!shown || !used || !x->mapping)
		return -ENOMEM;
	used[0] = true;
	for (size_t i = 0; i < x->n_locations; i++) {
		const struct names_frame *nf = &x->names->frames.v[x->by_frequency[i]];
		if (nf->mapping == NAMES_NO_MAPPING)
			continue;
		used[nf->mapping] = true;
		add_shown(x, nf, &shown[nf->mapping]);
	}
	for (size_t i = 0; i < x->names->mappings.n; i++) {
		const struct names_mapping *m = &x->names->mappings.v[i];
		if (!used[i])
			continue;
		x->mapping[i] = (uint32_t)pprof_mapping(x->out, &(struct pprof_mapping){
			.memory_start = m->start, .memory_limit = m->limit,
			.file_offset = m->file_off, .filename = text(x, m->filename),
			.build_id = text(x, m->build_id),
			.has_functions = m->has.functions && shown[i].functions,
			.has_filenames = m->has.filenames && shown[i].filenames,
			.has_line_numbers = m->has.line_numbers && shown[i].line_numbers,
			.has_inline_frames = m->has.inline_frames && shown[i].inline_frames,
		});
	}
	return 0;
}

static uint64_t function_id(struct export *x, uint32_t index)
{
	if (!x->function[index]) {
		const struct names_function *f = &x->names->functions.v[index];
		x->function[index] = (uint32_t)pprof_function(x->out, &(struct pprof_function){
			.name = text(x, f->name),
			.system_name = has_only_functions(x) ? "" : text(x, f->linkage),
			.filename = text(x, f->file), .start_line = f->start_line,
		});
	}
	return x->function[index];
}

static void write_locations(struct export *x)
{
	for (size_t i = 0; i < x->n_locations; i++) {
		uint32_t frame = x->by_frequency[i];
		const struct names_frame *nf = &x->names->frames.v[frame];
		struct pprof_line line[64];
		size_t n = 0;
		for (; n < nf->n_lines && n < 64; n++) {
			/* An inline chain deeper than 64 loses middle frames, never the function
			 * itself. */
			uint32_t k = nf->first_line + (uint32_t)n;
			if (n == 63)
				k = nf->first_line + nf->n_lines - 1;
			const struct symline *l = &x->names->lines.v[k];
			line[n] = (struct pprof_line){
				.function_id = function_id(x, x->names->line_functions.v[k]),
				.line = l->line, .column = l->column,
			};
		}
		bool pseudo = nf->mapping == NAMES_NO_MAPPING;
		pprof_location(x->out, pseudo ? 0 : x->mapping[nf->mapping],
			       pseudo ? 0 : nf->address, line, n, false);
	}
}

/* Do all samples, which have the given sets, have the same value of that label (given by id)? */
static bool is_useless(const struct export *x, const bool *has_set, uint32_t key)
{
	uint32_t seen = 0;
	for (uint32_t set = 0; set < x->g->labels.n; set++) {
		uint32_t n;
		if (!has_set[set])
			continue;
		const struct label *l = labels_get(&x->g->labels, set, &n);
		for (uint32_t k = 0; k < n; k++) {
			if (l[k].key != key)
				continue;
			if (seen && seen != l[k].value)
				return false;
			seen = l[k].value;
		}
	}
	return true;
}

static void drop_label(struct export *x, uint32_t key)
{
	if (key && x->n_dropped < sizeof(x->dropped) / sizeof(*x->dropped))
		x->dropped[x->n_dropped++] = key;
}

/* Decides which of the optional built-in labels are left out. */
static int drop_useless_labels(struct export *x)
{
	CLEANUP_FREE bool *has_set = calloc(x->g->labels.n + 1, sizeof(*has_set));
	if (!has_set)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_entries; i++)
		has_set[x->g->counts.v[x->entry[i]].labels] = true;
	for (unsigned bit = 1; bit <= SAMPLELABEL_CGROUP; bit <<= 1) {
		const char *name = samplelabels_key(bit);
		uint32_t key = strtab_find(&x->g->strings, name, strlen(name));
		if (key && (x->info->optional_labels & bit) && is_useless(x, has_set, key))
			drop_label(x, key);
	}
	return 0;
}

static bool is_dropped(const struct export *x, uint32_t key)
{
	for (unsigned i = 0; i < x->n_dropped; i++)
		if (x->dropped[i] == key)
			return true;
	return false;
}

static int64_t scaled(uint64_t value, double scale)
{
	double product = (double)value * scale;
	if (scale == 0 || scale == 1)
		return value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return product >= (double)INT64_MAX ? INT64_MAX : (int64_t)(product + 0.5);
}

/* Locks in a file have the names of their variables. */
static uint32_t shown_value(const struct export *x, const struct label *l)
{
	return x->lock_key && l->key == x->lock_key ? locknames_of(&x->names->locks, l->value)
						    : l->value;
}

/* Does an entry belong to the sample of the one before?  Counts that differ only in what no file
 * contains are one sample. */
static bool is_joined(const struct export *x, size_t i)
{
	if (x->is_folded && x->is_folded[i])
		return true;
	uint32_t a = x->entry[i - 1], b = x->entry[i];
	return x->merges && stack_of(x, a) == stack_of(x, b) && set_of(x, a) == set_of(x, b);
}

static uint32_t find_key(const struct export *x, const char *key)
{
	return strtab_find(&x->g->strings, key, strlen(key));
}

static struct pprof_label label_of(const struct export *x, const struct label *l)
{
	if (x->times.key && l->key == x->times.key)
		return (struct pprof_label){
			.key = text(x, l->key), .num_unit = TIMELABEL_UNIT,
			.num = (int64_t)timesets_ns(&x->times, x->g, l->value),
		};
	for (size_t i = 0; i < x->info->n_numbers; i++)
		if (x->number_key[i] && x->number_key[i] == l->key)
			return (struct pprof_label){
				.key = text(x, l->key), .num_unit = x->info->number[i].unit,
				.num = strtoll(text(x, l->value), NULL, 10),
			};
	return (struct pprof_label){ .key = text(x, l->key), .str = text(x, shown_value(x, l)) };
}

/* A column's value: what is in use less what was at the start and is not any more. */
static int64_t memory_value(uint64_t held, uint64_t gone, uint64_t parts)
{
	double n = ((double)held - (double)gone) / (double)parts;
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

/* Two numbers for each of the engine's events, or for blocks, for those of struct allocs, too. */
#define SUMS (2 + 2 * ALLOCS_EVENTS)

static void add_values(const struct export *x, const struct count *c, uint64_t sum[SUMS])
{
	uint32_t n = x->g->options.n_events, column = c->event < n ? 0 : c->event - n + 1;
	sum[2 * column] += c->n_samples;
	sum[2 * column + 1] += c->value;
}

/* Returns their number. */
static size_t values_of(const struct export *x, const uint64_t sum[SUMS], int64_t ret[6])
{
	ret[0] = (int64_t)sum[0];
	ret[1] = scaled(sum[1], x->info->scale);
	if (!x->info->is_memory)
		return 2;
	ret[0] = memory_value(sum[0], 0, ALLOCS_PARTS);
	if (!x->info->held_type)
		return 2;
	const uint64_t *held = x->g->allocs.has_age ? &sum[10] : &sum[2];
	ret[2] = memory_value(held[0], sum[4], ALLOCS_PARTS);
	ret[3] = memory_value(held[1], sum[5], 1);
	if (!x->info->peak_type)
		return 4;
	/* What is in use now, without what came since the peak, and with what went. */
	ret[4] = memory_value(sum[2] + sum[8], sum[6], ALLOCS_PARTS);
	ret[5] = memory_value(sum[3] + sum[9], sum[7], 1);
	return 6;
}

/* The labels of a part. */
static int take_part(struct export *x)
{
	const struct export_part *part = x->info->part;
	size_t n_bytes = 0;
	for (size_t i = 0; part && i < part->n_drop; i++)
		drop_label(x, find_key(x, part->drop[i]));
	for (size_t i = 0; part && i < part->n_labels; i++)
		n_bytes += strlen(part->label[i]) + 1;
	char *to = x->more_keys = malloc(n_bytes + 1);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; part && i < part->n_labels && i < EXPORT_PART_LABELS_MAX; i++) {
		const char *value = strchr(part->label[i], '=') + 1;
		size_t n = (size_t)(value - part->label[i]);
		memcpy(to, part->label[i], n);
		to[n - 1] = '\0';
		x->more[x->n_more++] = (struct pprof_label){ .key = to, .str = value };
		to += n;
	}
	return 0;
}

/* The stack of a sample, innermost first. */
struct path {
	VEC(uint32_t) node;
	VEC(uint64_t) location; /* of each node */
};

static void path_done(struct path *p)
{
	VEC_FREE(&p->node);
	VEC_FREE(&p->location);
}

/*
 * Neighbours share their outer frames, which are copied from the path before.  Where those begin is
 * found while both paths are walked outwards, since callers have smaller numbers.
 */
static bool path_walk(const struct export *x, uint32_t stack, const struct path *before,
		      struct path *ret)
{
	const struct stack_node *v = x->g->stacks.v;
	size_t at = 0, n_outer = 0;
	ret->node.n = ret->location.n = 0;
	for (uint32_t node = stack; node != STACKS_EMPTY; node = v[node].parent) {
		while (at < before->node.n && before->node.v[at] > node)
			at++;
		if (at < before->node.n && before->node.v[at] == node) {
			n_outer = before->node.n - at;
			break;
		}
		if (!VEC_PUSH(&ret->node, node) ||
		    !VEC_PUSH(&ret->location, x->location[v[node].frame]))
			return false;
	}
	size_t n = ret->node.n;
	if (n_outer == 0)
		return true;
	if (!VEC_RESERVE(&ret->node, n_outer) || !VEC_RESERVE(&ret->location, n_outer))
		return false;
	memcpy(ret->node.v + n, before->node.v + at, n_outer * sizeof(*ret->node.v));
	memcpy(ret->location.v + n, before->location.v + at, n_outer * sizeof(*ret->location.v));
	ret->node.n = ret->location.n = n + n_outer;
	return true;
}

static int write_samples(struct export *x)
{
	const struct engine *g = x->g;
	struct path path[2] = { { .node = { 0 } } };
	unsigned current = 0;
	struct waitlabel_last last = { .stack = STACKS_NONE };
	for (size_t i = 0; i < x->n_entries; i++) {
		uint32_t stack = stack_of(x, x->entry[i]);
		uint64_t sum[SUMS] = { 0 };
		int64_t value[6];
		add_values(x, &g->counts.v[x->entry[i]], sum);
		for (; i + 1 < x->n_entries && is_joined(x, i + 1); i++)
			add_values(x, &g->counts.v[x->entry[i + 1]], sum);
		const struct path *before = &path[current];
		current ^= 1;
		if (!path_walk(x, stack, before, &path[current])) {
			path_done(&path[0]);
			path_done(&path[1]);
			return -ENOMEM;
		}
		struct pprof_label label[LABELS_PER_SET_MAX + 1 + EXPORT_PART_LABELS_MAX];
		uint32_t n_set, n_labels = 0;
		const struct label *set = labels_get(&g->labels, set_of(x, x->entry[i]), &n_set);
		for (uint32_t k = 0; k < n_set; k++)
			if (!is_dropped(x, set[k].key))
				label[n_labels++] = label_of(x, &set[k]);
		const struct waitframes_label *wait = !x->info->has_waits ? NULL :
			waitlabel_find(g, x->names, &last, stack, set, n_set);
		if (wait)
			label[n_labels++] = (struct pprof_label){ .key = wait->key,
								  .str = wait->value };
		for (unsigned k = 0; k < x->n_more; k++)
			label[n_labels++] = x->more[k];
		size_t n_values = values_of(x, sum, value);
		pprof_sample(x->out, path[current].location.v, path[current].location.n, value,
			     n_values, label, n_labels);
	}
	path_done(&path[0]);
	path_done(&path[1]);
	return 0;
}

int export_write(const struct engine *g, const struct names *names, uint32_t event,
		 const struct export_info *info, pprof_write_fn *write, void *ctx, struct err *e)
{
	struct export x = { .g = g, .names = names, .info = info };
	if (g->options.has_locks)
		x.lock_key = find_key(&x, LOCKLABELS_LOCK);
	for (size_t i = 0; i < info->n_numbers; i++)
		x.number_key[i] = find_key(&x, info->number[i].key);
	int r = pprof_new(write, ctx, info->level, &x.out, e);
	if (r < 0)
		return r;
	r = timesets_make(g, info->start_ns, info->end_ns, &x.times);
	x.merges = names->wakees.n || info->is_memory || x.times.key;
	x.shown = info->is_memory ? allocframes_trim(g, names) : NULL;
	x.function = calloc(names->functions.n ? names->functions.n : 1, sizeof(*x.function));
	if (r == 0)
		r = x.function && (x.shown || !info->is_memory) ? order_entries(&x, event)
								: -ENOMEM;
	if (r == 0)
		r = number_locations(&x);
	if (r == 0)
		r = take_part(&x);
	if (r == 0)
		r = drop_useless_labels(&x);
	if (r == 0) {
		pprof_sample_type(x.out, info->count_type ? info->count_type : "samples", "count");
		pprof_sample_type(x.out, info->type, info->unit);
		if (info->held_type) {
			pprof_sample_type(x.out, info->held_count_type, "count");
			pprof_sample_type(x.out, info->held_type, info->unit);
		}
		if (info->peak_type) {
			pprof_sample_type(x.out, info->peak_count_type, "count");
			pprof_sample_type(x.out, info->peak_type, info->unit);
		}
		pprof_default_sample_type(x.out, info->is_count ? info->count_type :
					  info->peak_type ? info->peak_type :
					  info->held_type ? info->held_type : info->type);
		pprof_period(x.out, info->period_type ? info->period_type : info->type,
			     info->unit, (int64_t)info->period);
		pprof_times(x.out, info->time_ns, info->duration_ns);
		for (size_t i = 0; i < info->n_comments; i++)
			pprof_comment(x.out, info->comment[i]);
		r = write_mappings(&x);
	}
	if (r == 0) {
		write_locations(&x);
		r = write_samples(&x);
	}
	r = r < 0 ? err_errno(e, -r, "cannot write the profile") : pprof_finish(x.out, e);
	export_done(&x);
	return r;
}
