/* "root;caller;leaf VALUE": one line for each distinct stack, in the order of the profile. */

#include "view/convert/format.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/convert/forest.h"
#include "view/convert/from-folded.h"
#include "view/table/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A ';' in a name would separate two frames. */
static void put_frame(struct emit *o, const char *name)
{
	CLEANUP_FREE char *copy = strdup(name);
	for (char *p = copy; p && (p = strchr(p, ';'));)
		*p = ':';
	emit_line(o, copy ? copy : "?", "");
}

static void put_stack(struct emit *o, const struct rows *r, const struct forest *f, uint32_t leaf,
		      uint32_t *path)
{
	size_t n = 0;
	for (uint32_t i = leaf; i != MODEL_NONE; i = f->node[i].parent)
		path[n++] = f->node[i].frame;
	while (n > 0) {
		put_frame(o, r->row[path[--n]].name);
		emit_text(o, n > 0 ? ";" : " ");
	}
	emit_int(o, f->node[leaf].self);
	emit_text(o, "\n");
}

static int put_all(const struct model *m, uint32_t type, const struct rows *r, struct forest *f,
		   struct emit *o)
{
	CLEANUP_FREE uint32_t *path = calloc((size_t)f->n_nodes + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	int64_t frameless = 0;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		uint32_t leaf = f->leaf[i];
		if (leaf == MODEL_NONE) {
			frameless = model_add(frameless, model_value(m, i, type));
		} else if (f->node[leaf].self != 0) {
			put_stack(o, r, f, leaf, path);
			f->node[leaf].self = 0;  /* written */
		}
	}
	if (frameless)
		emit_format(o, "[no stack] %lld\n", (long long)frameless);
	return 0;
}

static int write_folded(const struct model *m, uint32_t type, struct emit *o,
			uint64_t *ret_n_left_out, struct err *e)
{
	CLEANUP(rows_freep) struct rows *rows = NULL;
	CLEANUP(forest_freep) struct forest *f = NULL;
	int r = rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	r = forest_new(m, rows, type, FOREST_ROWS, FOREST_NEGATIVE | FOREST_ONE_THREAD, &f, e);
	if (r < 0)
		return r;
	if (put_all(m, type, rows, f, o) < 0)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	*ret_n_left_out = 0;
	return 0;
}

const struct format conv_folded = {
	.name = "folded",
	.contents = "folded stacks",
	.ending = { ".folded", ".collapsed", ".txt" },
	.write = write_folded,
	.read = from_folded_read,
};
