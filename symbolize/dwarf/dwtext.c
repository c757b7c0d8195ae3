/*
 * .debug_str of a large C++ program has 100 MB, and the names of a unit are spread over all of it.
 * Reading them one by one would take a system call for each, and in a compressed file it would
 * often restart the decompression.
 */

#include "symbolize/dwarf/dwtext.h"

#include "symbolize/dwarf/dwfile.h"

#include <dwarf.h>

struct dwtext {
	struct dwsections *from; /* NULL: was read, or could not be read */
	uint64_t off;
	const char *text;
};

static uint32_t note(struct dwfile *file, struct dwtext text)
{
	/* the first one means "no string" */
	if (!file->texts.n && !VEC_PUSH(&file->texts, (struct dwtext){0}))
		file->out_of_memory = true;
	else if (file->texts.n > UINT32_MAX || !VEC_PUSH(&file->texts, text))
		file->out_of_memory = true;
	else
		return (uint32_t)(file->texts.n - 1);
	return 0;
}

uint32_t dwtext_note(const struct dwunit *u, const struct dwvalue *v)
{
	struct dwtext text = {0};
	if (dwunit_string_place(u, v, &text.from, &text.off))
		return note(u->file->root, text);
	const char *copy = dwunit_copy_string(u, v);
	return copy ? note(u->file->root, (struct dwtext){ .text = copy }) : 0;
}

struct order {
	uint64_t off;
	uint32_t number;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	return x->off < y->off ? -1 : x->off > y->off;
}

bool dwtext_read(struct dwfile *file, struct dwsections *from)
{
	size_t n = 0;
	struct order *order = calloc(file->texts.n + 1, sizeof(*order));
	if (!order)
		return false;
	for (size_t i = 0; i < file->texts.n; i++)
		if (file->texts.v[i].from == from)
			order[n++] = (struct order){ file->texts.v[i].off, (uint32_t)i };
	qsort(order, n, sizeof(*order), compare_order);
	const struct dwtext *last = NULL;
	for (size_t i = 0; i < n; i++) {
		struct dwtext *t = &file->texts.v[order[i].number];
		if (last && last->off == t->off)
			t->text = last->text;
		else
			t->text = dwfile_copy(file, dwsection_string(t->from, DWSECTION_STR,
								     t->off));
		t->from = NULL;
		last = t;
	}
	free(order);
	return !file->out_of_memory;
}

const char *dwtext_get(const struct dwfile *file, uint32_t number)
{
	return number < file->texts.n ? file->texts.v[number].text : NULL;
}

void dwtext_done(struct dwfile *file)
{
	VEC_FREE(&file->texts);
}
