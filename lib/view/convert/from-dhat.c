/*
 * The table of frames, which stacks refer to by index, comes after the stacks: so these are read
 * later.  A frame is "0x109198: name (file.c:4)" or "0x48417B4: name (in /path)"; index 0 is the
 * root, which is in no stack.
 */

#include "view/convert/from-dhat.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/pprof.h"
#include "view/convert/format.h"
#include "view/convert/fromheap.h"
#include "view/convert/jsonread.h"

#include <errno.h>
#include <string.h>

#define STACK_MAX 65536u

struct dhat {
	struct fromheap heap;
	struct jsonread stacks;         /* "pps" */
	struct jsonread_text text, command;
	VEC(uint64_t) frame;            /* ids of locations; 0: the root */
	uint64_t version;
	bool is_heap, has_stacks;
	struct err *e;
};

bool from_dhat_is(const char *text, size_t n_bytes)
{
	struct fromtext t = fromtext_of(text, n_bytes);
	return fromtext_take(&t, "{") && fromtext_take(&t, "\"dhatFileVersion\"");
}

/* ---- frames -------------------------------------------------------------------------------- */

struct frame { const char *name, *file, *module; uint64_t address, line; };

/* Cuts the text of a frame into its parts. */
static void split_frame(char *text, struct frame *ret)
{
	*ret = (struct frame){ .name = text, .file = "", .module = "" };
	struct fromtext t = fromtext_of(text, strlen(text));
	if (strncmp(text, "0x", 2) == 0 && fromtext_number(&t, 16, &ret->address) &&
	    fromtext_take(&t, ": "))
		ret->name = t.at;
	size_t n = strlen(ret->name);
	char *open = NULL, *name = text + (ret->name - text);
	for (char *p = name; (p = strstr(p, " (")); p++)
		open = p;
	if (!open || name[n - 1] != ')')
		return;
	name[n - 1] = '\0';
	*open = '\0';
	char *place = open + 2, *colon = strrchr(place, ':');
	if (strncmp(place, "in ", 3) == 0) {
		ret->module = place + 3;
		return;
	}
	ret->file = place;
	struct fromtext line = fromtext_of(colon ? colon + 1 : "", colon ? strlen(colon + 1) : 0);
	if (fromtext_number(&line, 10, &ret->line) && line.at == line.end)
		*colon = '\0';
	else
		ret->line = 0;
}

static bool add_frame(struct dhat *x)
{
	struct frame f;
	uint64_t id = 0;
	split_frame(x->text.bytes.v, &f);
	if (x->frame.n) {
		bool is_named = *f.name && strcmp(f.name, "???") != 0;
		uint64_t module = *f.module ? from_module(&x->heap.from, f.module) : 0;
		const struct pprof_line line = {
			.function_id = is_named ? from_function(&x->heap.from, f.name, f.file) : 0,
			.line = (int64_t)(f.line < INT32_MAX ? f.line : 0),
		};
		if ((*f.module && !module) || (is_named && !line.function_id))
			return false;
		id = pprof_location(x->heap.from.p, module, f.address, &line, is_named, false);
	}
	return VEC_PUSH(&x->frame, id);
}

static int read_frames(struct dhat *x, struct jsonread *j)
{
	for (jsonread_begin(j, '['); jsonread_more(j, ']');) {
		if (!jsonread_string(j, &x->text))
			break;
		if (!add_frame(x))
			return err_errno(x->e, ENOMEM, "cannot hold the profile");
	}
	return 0;
}

/* ---- stacks -------------------------------------------------------------------------------- */

static int read_stack(struct dhat *x, struct jsonread *j)
{
	uint64_t index;
	x->heap.ids.n = 0;
	for (jsonread_begin(j, '['); jsonread_more(j, ']');) {
		if (!jsonread_number(j, &index))
			return 0;
		if (index >= x->frame.n || x->heap.ids.n == STACK_MAX)
			return err_set(x->e, EINVAL, "a stack has a frame that is not in the "
				       "table, or too many");
		if (x->frame.v[index] && !VEC_PUSH(&x->heap.ids, x->frame.v[index]))
			return err_errno(x->e, ENOMEM, "cannot hold the profile");
	}
	return 0;
}

static uint64_t *value_of(struct fromheap_pair pair[3], const char *key)
{
	static const struct { const char *n, *n_bytes; } keys[3] = {
		{ "tbk", "tb" }, { "ebk", "eb" }, { "gbk", "gb" },
	};
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(key, keys[i].n) == 0)
			return &pair[i].n;
		if (strcmp(key, keys[i].n_bytes) == 0)
			return &pair[i].n_bytes;
	}
	return NULL;
}

static int read_sample(struct dhat *x, struct jsonread *j)
{
	struct fromheap_pair pair[3] = { { 0 } };
	x->heap.ids.n = 0;
	for (jsonread_begin(j, '{'); jsonread_more(j, '}');) {
		if (!jsonread_key(j, &x->text))
			return 0;
		uint64_t *value = value_of(pair, x->text.bytes.v);
		int r = 0;
		if (value)
			jsonread_number(j, value);
		else if (strcmp(x->text.bytes.v, "fs") == 0)
			r = read_stack(x, j);
		else
			jsonread_skip(j);
		if (r < 0)
			return r;
	}
	if (!j->bad)
		fromheap_sample(&x->heap, pair, 0);
	return 0;
}

static int read_stacks(struct dhat *x)
{
	struct jsonread *j = &x->stacks;
	int r = 0;
	for (jsonread_begin(j, '['); r == 0 && jsonread_more(j, ']');)
		r = read_sample(x, j);
	return r;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int check(const struct dhat *x)
{
	if (x->version != 2)
		return err_set(x->e, EINVAL, "version %llu of DHAT's files is not supported, but "
			       "2", (unsigned long long)x->version);
	if (!x->is_heap)
		return err_set(x->e, EINVAL, "DHAT's mode '%.40s' is not supported, but 'heap'",
			       x->text.bytes.n ? x->text.bytes.v : "");
	return 0;
}

/* The first mapping is the program. */
static int add_main(struct dhat *x)
{
	char *end = strchr(x->command.bytes.v, ' ');
	if (end)
		*end = '\0';
	return !*x->command.bytes.v || from_module(&x->heap.from, x->command.bytes.v) ? 0
		: err_errno(x->e, ENOMEM, "cannot hold the profile");
}

/* One item of the outermost object. */
static int read_item(struct dhat *x, struct jsonread *j)
{
	const char *key = x->text.bytes.v;
	if (strcmp(key, "dhatFileVersion") == 0) {
		jsonread_number(j, &x->version);
	} else if (strcmp(key, "mode") == 0) {
		if (!jsonread_string(j, &x->text))
			return 0;
		x->is_heap = strcmp(x->text.bytes.v, "heap") == 0;
		return check(x);
	} else if (strcmp(key, "cmd") == 0) {
		return jsonread_string(j, &x->command) ? add_main(x) : 0;
	} else if (strcmp(key, "pps") == 0) {
		x->stacks = *j;
		x->has_stacks = jsonread_skip(j);
	} else if (strcmp(key, "ftbl") == 0) {
		return x->frame.n ? err_set(x->e, EINVAL, "there are two tables of frames")
				  : read_frames(x, j);
	} else {
		jsonread_skip(j);
	}
	return 0;
}

static int read_all(struct dhat *x, struct jsonread *j)
{
	int r = 0;
	for (jsonread_begin(j, '{'); r == 0 && jsonread_more(j, '}');)
		if (jsonread_key(j, &x->text))
			r = read_item(x, j);
	if (r == 0 && !j->bad)
		r = check(x);
	if (r == 0 && !j->bad && x->has_stacks)
		r = read_stacks(x);
	if (r == 0 && (j->bad || x->stacks.bad || !x->has_stacks))
		return err_set(x->e, EINVAL, "the file is not complete JSON of DHAT");
	return r;
}

static void dhat_done(struct dhat *x)
{
	fromheap_done(&x->heap);
	VEC_FREE(&x->text.bytes);
	VEC_FREE(&x->command.bytes);
	VEC_FREE(&x->frame);
}

int from_dhat_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(dhat_done) struct dhat x = { .e = e };
	struct jsonread j = jsonread_of(text, n_bytes);
	int r = fromheap_begin(&x.heap, FROMHEAP_ALLOC | FROMHEAP_INUSE | FROMHEAP_PEAK, 1, e);
	if (r == 0)
		r = read_all(&x, &j);
	return r < 0 ? r : fromheap_finish(&x.heap, ret, e);
}

const struct format from_dhat = {
	.name = "dhat",
	.contents = "a heap profile of DHAT",
	.is_alone = true,
	.read = from_dhat_read,
};
