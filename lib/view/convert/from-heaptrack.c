/*
 * Each line is a letter and numbers in hexadecimal.  What a line defines has the next number, from
 * 1, except allocations, whose numbers begin with 0; number 0 of the others means none.
 *
 *	v VERSION FORMAT     of heaptrack and of the file
 *	X COMMAND
 *	s LENGTH TEXT        a string; without LENGTH in version 2
 *	i ADDRESS MODULE [FUNCTION [FILE LINE]]...   a place; the innermost inlined function first
 *	t PLACE CALLER       a stack: a place, called by another stack
 *	a BYTES STACK        an allocation: blocks of a size
 *	+ ALLOCATION         a block comes
 *	- ALLOCATION         a block goes
 *
 * Other lines are of no use here.  The blocks are read twice: first to find the peak.
 */

#include "view/convert/from-heaptrack.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/pprof.h"
#include "view/convert/format.h"
#include "view/convert/fromheap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 256u          /* heaptrack itself stops at 64 */
#define LINES_MAX 1024u         /* inlined functions at a place */

struct stack { uint64_t location; size_t caller; };

struct allocation {
	uint64_t n_bytes;
	size_t stack;
	uint64_t n, n_now, n_peak;      /* blocks: all; in use at a time; at the peak */
};

struct heaptrack {
	struct fromheap heap;
	VEC(uint32_t) string;           /* in heap.from.names */
	VEC(uint64_t) place;            /* ids of locations */
	VEC(struct stack) stack;
	VEC(struct allocation) allocation;
	VEC(struct pprof_line) lines;
	struct fromheap_pair (*sum)[3]; /* by stack */
	uint64_t version;
	uint64_t n_bytes, peak_bytes;   /* in use */
	size_t line, peak_line;
	struct err *e;
};

bool from_heaptrack_is(const char *text, size_t n_bytes)
{
	struct fromtext t = fromtext_of(text, n_bytes);
	uint64_t version;
	return n_bytes > 2 && text[0] == 'v' && text[1] == ' ' && fromtext_take(&t, "v") &&
	       fromtext_number(&t, 16, &version) && t.at < t.end &&
	       (*t.at == ' ' || *t.at == '\n');
}

static int bad_line(const struct heaptrack *x)
{
	return err_set(x->e, EINVAL, "line %zu is not one of a recording of heaptrack", x->line);
}

static int no_memory(const struct heaptrack *x)
{
	return err_errno(x->e, ENOMEM, "cannot hold the profile");
}

/* ---- what lines define --------------------------------------------------------------------- */

static int check_version(struct heaptrack *x, struct fromtext t)
{
	uint64_t program;
	if (!fromtext_number(&t, 16, &program) || !fromtext_number(&t, 16, &x->version))
		return bad_line(x);
	if (x->version == 2 || x->version == 3)
		return 0;
	return err_set(x->e, EINVAL, "version %llu of heaptrack's files is not supported, but 2 "
		       "and 3", (unsigned long long)x->version);
}

static int add_string(struct heaptrack *x, struct fromtext t)
{
	uint64_t n;
	if (x->version >= 3 && (!fromtext_number(&t, 16, &n) || t.at == t.end))
		return bad_line(x);
	if (t.at < t.end)
		t.at++;
	if (x->version >= 3 && n < fromtext_left(&t))
		t.end = t.at + n;
	if (memchr(t.at, '\0', fromtext_left(&t)))
		return bad_line(x);
	uint32_t id = strtab_add(&x->heap.from.names, t.at, fromtext_left(&t));
	return (id || t.at == t.end) && VEC_PUSH(&x->string, id) ? 0 : no_memory(x);
}

/* String number n, which may be 0. */
static bool get_string(const struct heaptrack *x, uint64_t n, const char **ret)
{
	if (n > x->string.n)
		return false;
	*ret = n ? strtab_get(&x->heap.from.names, x->string.v[n - 1]) : "";
	return true;
}

/* FUNCTION [FILE LINE]. */
static int add_lines(struct heaptrack *x, struct fromtext t)
{
	uint64_t function;
	x->lines.n = 0;
	while (fromtext_number(&t, 16, &function) && x->lines.n < LINES_MAX) {
		const char *name, *file;
		uint64_t file_number = 0, line = 0;
		if (fromtext_number(&t, 16, &file_number) && !fromtext_number(&t, 16, &line))
			return bad_line(x);
		if (!get_string(x, function, &name) || !get_string(x, file_number, &file))
			return bad_line(x);
		if (!*name)
			continue;
		struct pprof_line l = {
			.function_id = from_function(&x->heap.from, name, file),
			.line = (int64_t)(line < INT32_MAX ? line : 0),
		};
		if (!l.function_id || !VEC_PUSH(&x->lines, l))
			return no_memory(x);
	}
	return 0;
}

static int add_place(struct heaptrack *x, struct fromtext t)
{
	uint64_t address, module_number, module = 0;
	const char *name;
	if (!fromtext_number(&t, 16, &address))
		return bad_line(x);
	if (!fromtext_number(&t, 16, &module_number))
		module_number = 0;
	if (!get_string(x, module_number, &name))
		return bad_line(x);
	/* The first string is the program, and the first mapping should be. */
	if (!x->place.n && x->string.n && x->string.v[0] &&
	    !from_module(&x->heap.from, strtab_get(&x->heap.from.names, x->string.v[0])))
		return no_memory(x);
	if (*name && !(module = from_module(&x->heap.from, name)))
		return no_memory(x);
	int r = add_lines(x, t);
	if (r < 0)
		return r;
	uint64_t id = pprof_location(x->heap.from.p, module, address, x->lines.v, x->lines.n,
				     false);
	return VEC_PUSH(&x->place, id) ? 0 : no_memory(x);
}

static int add_stack(struct heaptrack *x, struct fromtext t)
{
	uint64_t place, caller;
	if (!fromtext_number(&t, 16, &place) || !fromtext_number(&t, 16, &caller) ||
	    place > x->place.n || caller > x->stack.n)
		return bad_line(x);
	struct stack s = { place ? x->place.v[place - 1] : 0, (size_t)caller };
	return VEC_PUSH(&x->stack, s) ? 0 : no_memory(x);
}

static int add_allocation(struct heaptrack *x, struct fromtext t)
{
	struct allocation a = { 0 };
	uint64_t stack;
	if (!fromtext_number(&t, 16, &a.n_bytes) || !fromtext_number(&t, 16, &stack) ||
	    stack > x->stack.n)
		return bad_line(x);
	a.stack = (size_t)stack;
	return VEC_PUSH(&x->allocation, a) ? 0 : no_memory(x);
}

static int define(struct heaptrack *x, char kind, struct fromtext t)
{
	switch (kind) {
	case 'v': return check_version(x, t);
	case 's': return add_string(x, t);
	case 'i': return add_place(x, t);
	case 't': return add_stack(x, t);
	case 'a': return add_allocation(x, t);
	case 'm': case 'x':
		return err_set(x->e, EINVAL, "these are heaptrack's raw data, without names: "
			       "heaptrack_interpret turns them into a recording");
	default: return 0;
	}
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* NULL: it is not the number of an allocation. */
static struct allocation *allocation_of(struct heaptrack *x, struct fromtext t)
{
	uint64_t n;
	return fromtext_number(&t, 16, &n) && n < x->allocation.n ? &x->allocation.v[n] : NULL;
}

/* A block that came before heaptrack was attached may go. */
static void count_block(struct heaptrack *x, struct allocation *a, bool comes)
{
	if (comes) {
		a->n++;
		a->n_now++;
		if (__builtin_add_overflow(x->n_bytes, a->n_bytes, &x->n_bytes))
			x->n_bytes = UINT64_MAX;
	} else if (a->n_now) {
		a->n_now--;
		x->n_bytes -= x->n_bytes < a->n_bytes ? x->n_bytes : a->n_bytes;
	}
	if (x->n_bytes > x->peak_bytes) {
		x->peak_bytes = x->n_bytes;
		x->peak_line = x->line;
	}
}

static int read_lines(struct heaptrack *x, struct fromtext t)
{
	struct fromtext line;
	int r = 0;
	for (x->line = 1; r == 0 && fromtext_line(&t, &line); x->line++) {
		if (line.at == line.end)
			continue;
		char kind = *line.at++;
		if (x->line == 1 && kind != 'v')
			return bad_line(x);
		if (kind != '+' && kind != '-') {
			r = define(x, kind, line);
			continue;
		}
		struct allocation *a = allocation_of(x, line);
		if (!a)
			return bad_line(x);
		count_block(x, a, kind == '+');
	}
	return r;
}

/* Again up to the peak. */
static void read_peak(struct heaptrack *x, struct fromtext t)
{
	struct fromtext line;
	for (size_t n = 1; n <= x->peak_line && fromtext_line(&t, &line); n++) {
		char kind = line.at < line.end ? *line.at++ : 0;
		struct allocation *a = kind == '+' || kind == '-' ? allocation_of(x, line) : NULL;
		if (a && kind == '+')
			a->n_peak++;
		else if (a && a->n_peak)
			a->n_peak--;
	}
}

/* ---- the profile --------------------------------------------------------------------------- */

static void add_pair(struct fromheap_pair *to, uint64_t n, uint64_t each)
{
	uint64_t n_bytes;
	to->n += n;
	if (__builtin_mul_overflow(n, each, &n_bytes) ||
	    __builtin_add_overflow(to->n_bytes, n_bytes, &to->n_bytes))
		to->n_bytes = INT64_MAX;
}

static int write_stack(struct heaptrack *x, size_t number)
{
	x->heap.ids.n = 0;
	for (size_t at = number; at; at = x->stack.v[at - 1].caller) {
		const struct stack *s = &x->stack.v[at - 1];
		if (x->heap.ids.n == STACK_MAX)
			return err_set(x->e, E2BIG, "a stack has more than %u functions",
				       STACK_MAX);
		if (s->location && !VEC_PUSH(&x->heap.ids, s->location))
			return no_memory(x);
	}
	fromheap_sample(&x->heap, x->sum[number], 0);
	return 0;
}

/* Sums over all sizes for each stack. */
static int write_stacks(struct heaptrack *x)
{
	int r = 0;
	x->sum = calloc(x->stack.n + 1, sizeof(*x->sum));
	if (!x->sum)
		return no_memory(x);
	for (size_t i = 0; i < x->allocation.n; i++) {
		const struct allocation *a = &x->allocation.v[i];
		add_pair(&x->sum[a->stack][0], a->n, a->n_bytes);
		add_pair(&x->sum[a->stack][1], a->n_now, a->n_bytes);
		add_pair(&x->sum[a->stack][2], a->n_peak, a->n_bytes);
	}
	for (size_t i = 0; r == 0 && i <= x->stack.n; i++)
		if (x->sum[i][0].n)
			r = write_stack(x, i);
	return r;
}

static void heaptrack_done(struct heaptrack *x)
{
	fromheap_done(&x->heap);
	VEC_FREE(&x->string);
	VEC_FREE(&x->place);
	VEC_FREE(&x->stack);
	VEC_FREE(&x->allocation);
	VEC_FREE(&x->lines);
	free(x->sum);
}

int from_heaptrack_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(heaptrack_done) struct heaptrack x = { .e = e };
	struct fromtext t = fromtext_of(text, n_bytes);
	int r = fromheap_begin(&x.heap, FROMHEAP_ALLOC | FROMHEAP_INUSE | FROMHEAP_PEAK, 1, e);
	if (r == 0)
		r = read_lines(&x, t);
	if (r < 0)
		return r;
	read_peak(&x, t);
	r = write_stacks(&x);
	return r < 0 ? r : fromheap_finish(&x.heap, ret, e);
}

const struct format from_heaptrack = {
	.name = "heaptrack",
	.contents = "a recording of heaptrack",
	.is_alone = true,
	.read = from_heaptrack_read,
};
