/* A frame is only a name, so each name becomes one function and one location without address. */

#include "view/convert/from-folded.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "proto/pprof.h"
#include "view/convert/from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_TEXT_MAX 40

struct folded {
	struct from from;
	VEC(uint64_t) ids;    /* of one stack, outermost first until reversed */
	size_t n_stacks;
	struct err *e;
};

static bool parse_value(const char *s, size_t n, int64_t *ret)
{
	char text[VALUE_TEXT_MAX + 1], *end;
	if (n == 0 || n > VALUE_TEXT_MAX)
		return false;
	memcpy(text, s, n);
	text[n] = '\0';
	if (strspn(text, "0123456789.-") != n)
		return false;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (end != text && *end == '\0') {
		*ret = whole;  /* saturated if out of range */
		return true;
	}
	double v = strtod(text, &end);
	if (end == text || *end != '\0' || v >= 0x1p63 || v <= -0x1p63)
		return false;
	*ret = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
	return true;
}

static bool add_frame(struct folded *x, const char *s, size_t n)
{
	uint32_t name = n > 0 ? strtab_add(&x->from.names, s, n)
			      : strtab_add_cstr(&x->from.names, "[unknown]");
	uint64_t id = name ? from_location(&x->from, 0, 0, &name, 1) : 0;
	return id != 0 && VEC_PUSH(&x->ids, id);
}

static int add_line(struct folded *x, const char *s, size_t n, size_t number)
{
	while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	if (n == 0)
		return 0;
	const char *space = memrchr(s, ' ', n);
	int64_t value;
	if (!space || space == s || memchr(s, '\0', n) ||
	    !parse_value(space + 1, n - (size_t)(space + 1 - s), &value))
		return err_set(x->e, EINVAL, "line %zu is not a folded stack: it must end in a "
			       "space and a number", number);
	x->ids.n = 0;
	const char *end = space;
	while (s <= end) {
		const char *stop = memchr(s, ';', (size_t)(end - s));
		stop = stop ? stop : end;
		if (!add_frame(x, s, (size_t)(stop - s)))
			return err_errno(x->e, ENOMEM, "cannot hold the profile");
		s = stop + 1;
	}
	for (size_t i = 0, k = x->ids.n; i + 1 < k; i++) {
		uint64_t id = x->ids.v[i];
		x->ids.v[i] = x->ids.v[--k];
		x->ids.v[k] = id;
	}
	pprof_sample(x->from.p, x->ids.v, x->ids.n, &value, 1, NULL, 0);
	x->n_stacks++;
	return 0;
}

static int read_lines(struct folded *x, const char *text, size_t n_bytes)
{
	const char *end = text + n_bytes;
	for (size_t number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		stop = stop ? stop : end;
		int r = add_line(x, text, (size_t)(stop - text), number);
		if (r < 0)
			return r;
		text = stop + (stop < end);
	}
	if (x->n_stacks == 0)
		return err_set(x->e, EINVAL, "the text has no stacks");
	return 0;
}

static void folded_done(struct folded *x)
{
	from_done(&x->from);
	VEC_FREE(&x->ids);
}

int from_folded_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(folded_done) struct folded x = { .e = e };
	int r = from_begin(&x.from, e);
	if (r < 0)
		return r;
	pprof_sample_type(x.from.p, "samples", "count");
	pprof_period(x.from.p, "samples", "count", 1);
	r = read_lines(&x, text, n_bytes);
	return r < 0 ? r : from_finish(&x.from, ret, e);
}
