/* The entries of a recorder's last snapshot in the terms of the public API. */

#include "cprof-snapshot.h"

#include "base/err.h"
#include "profile/export.h"
#include "recorder/recorder-private.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <string.h>

int cprof_snapshot_names(struct cprof_recorder *rec, struct err *e)
{
	if (!rec->session.snapshot)
		return err_set(e, EINVAL, "the recorder has taken no snapshot");
	return recorder_look_up_names(rec, e);
}

static const struct snapshot *snapshot_of(const struct cprof_recorder *rec)
{
	static const struct snapshot none;
	return rec->session.snapshot ? rec->session.snapshot : &none;
}

static const char *text(const struct cprof_recorder *rec, uint32_t id)
{
	return strtab_get(&rec->engine.strings, id);
}

size_t cprof_snapshot_n_entries(const struct cprof_recorder *rec)
{
	return snapshot_of(rec)->entries.n;
}

void cprof_snapshot_entry(const struct cprof_recorder *rec, size_t i,
			  struct cprof_snapshot_entry *ret)
{
	const struct snapshot_entry *e = &snapshot_of(rec)->entries.v[i];
	uint32_t n;
	labels_get(&rec->engine.labels, e->labels, &n);
	*ret = (struct cprof_snapshot_entry){
		.is_task = e->is_task, .quality = snapshot_quality_name(e->quality),
		.pid = e->pid, .id = e->id, .name = text(rec, e->name),
		.process_name = text(rec, e->process_name), .state = text(rec, e->state),
		.has_wait = e->wait_ns != SNAPSHOT_WAIT_UNKNOWN,
		.wait_ns = e->wait_ns == SNAPSHOT_WAIT_UNKNOWN ? 0 : e->wait_ns,
		.stack = e->stack, .n_labels = n,
	};
}

void cprof_snapshot_label(const struct cprof_recorder *rec, size_t i, size_t k,
			  struct cprof_snapshot_label *ret)
{
	uint32_t n;
	const struct label *l = labels_get(&rec->engine.labels,
					   snapshot_of(rec)->entries.v[i].labels, &n);
	*ret = (struct cprof_snapshot_label){
		.key = text(rec, l[k].key), .text = text(rec, l[k].value),
	};
	for (size_t j = 0; j < rec->session.n_numbers; j++)
		if (strcmp(rec->session.number[j].key, ret->key) == 0)
			ret->unit = rec->session.number[j].unit;
}

void cprof_snapshot_frames(const struct cprof_recorder *rec, uint32_t stack,
			   bool (*each)(void *ctx, const struct cprof_snapshot_frame *f),
			   void *ctx)
{
	const struct engine *g = &rec->engine;
	const struct names *n = &rec->names;
	for (uint32_t node = stack; node != STACKS_EMPTY; node = g->stacks.v[node].parent) {
		uint32_t frame = g->stacks.v[node].frame;
		if (frame >= n->frames.n)
			continue;
		const struct names_frame *f = &n->frames.v[frame];
		for (uint32_t i = 0; i < f->n_lines; i++) {
			const struct symline *l = &n->lines.v[f->first_line + i];
			bool has_file = f->mapping != NAMES_NO_MAPPING;
			struct cprof_snapshot_frame one = {
				.function = text(rec, l->name), .file = text(rec, l->file),
				.line = l->line, .address = has_file ? f->address : 0,
				.mapping = !has_file ? "" :
					   text(rec, n->mappings.v[f->mapping].filename),
				.is_inlined = i + 1 < f->n_lines,
			};
			if (!each(ctx, &one))
				return;
		}
	}
}

void cprof_snapshot_window(const struct cprof_recorder *rec, struct cprof_snapshot_window *ret)
{
	const struct snapshot *s = snapshot_of(rec);
	*ret = (struct cprof_snapshot_window){
		.from_ns = s->from_ns, .to_ns = s->to_ns, .n_stopped = s->n_stopped,
		.stopped_ns = s->stopped_ns,
	};
}

const char *cprof_snapshot_quality(const struct cprof_recorder *rec, size_t i, uint64_t *ret_n)
{
	if (i >= SNAPSHOT_N_QUALITIES)
		return NULL;
	*ret_n = snapshot_of(rec)->n_of[i];
	return snapshot_quality_name((enum snapshot_quality)i);
}

const char *cprof_snapshot_loss(const struct cprof_recorder *rec, size_t i, uint64_t *ret_n)
{
	if (i >= SNAPSHOT_N_LOSSES)
		return NULL;
	*ret_n = snapshot_of(rec)->n_lost[i];
	return snapshot_loss_words((enum snapshot_loss)i);
}
