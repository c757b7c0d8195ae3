/* Writes the page's first half, the data through gzip and base64, and the second half. */

#include "view/html/html.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/gzip.h"
#include "view/html/html-data.h"
#include "view/model/scale.h"

#include <errno.h>
#include <string.h>

/* Text is written in pieces of this size, a multiple of 4. */
#define PIECE 4096

struct base64 {
	html_write_fn write;
	void *ctx;
	unsigned char rest[3];   /* bytes of an incomplete group of three */
	size_t n_rest, n_text;
	char text[PIECE];
};

static int flush(struct base64 *b)
{
	int r = b->n_text > 0 ? b->write(b->ctx, b->text, b->n_text) : 0;
	b->n_text = 0;
	return r;
}

/* Encodes a group of n = 1..3 bytes. */
static int put_group(struct base64 *b, const unsigned char *p, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
			(n > 2 ? p[2] : 0);
	char *to = b->text + b->n_text;
	for (size_t i = 0; i < 4; i++)
		to[i] = i <= n ? digit[bits >> (18 - 6 * i) & 63] : '=';
	b->n_text += 4;
	return b->n_text == PIECE ? flush(b) : 0;
}

static int put_bytes(void *ctx, const void *data, size_t n_bytes)
{
	struct base64 *b = ctx;
	const unsigned char *p = data;
	for (size_t i = 0; i < n_bytes; i++) {
		b->rest[b->n_rest++] = p[i];
		if (b->n_rest < 3)
			continue;
		b->n_rest = 0;
		int r = put_group(b, b->rest, 3);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_data(const struct html_data *d, html_write_fn write, void *ctx, struct err *e)
{
	struct base64 b = { .write = write, .ctx = ctx };
	CLEANUP(gzip_close) struct gzip z = { 0 };
	int r = gzip_open(&z, put_bytes, &b, 6);
	if (r < 0)
		return err_errno(e, ENOMEM, "cannot write the page");
	r = gzip_write(&z, d->bytes.v, d->bytes.n);
	if (r < 0)
		return r;
	r = gzip_finish(&z);
	if (r < 0)
		return r;
	r = b.n_rest > 0 ? put_group(&b, b.rest, b.n_rest) : 0;
	return r < 0 ? r : flush(&b);
}

bool html_comparable(const struct model *base, const struct model *fresh, uint32_t *ret_type)
{
	for (uint32_t i = 0; i < fresh->n_types; i++) {
		const struct model_type *want = &fresh->type[i];
		const char *type = model_string(fresh, want->type);
		const char *unit = model_string(fresh, want->unit);
		uint32_t k = 0;
		for (; k < base->n_types; k++) {
			const char *have = model_string(base, base->type[k].unit);
			if (strcmp(type, model_string(base, base->type[k].type)) == 0 &&
			    (strcmp(unit, have) == 0 || scale_ratio(have, unit) > 0))
				break;
		}
		if (k == base->n_types)
			return false;
		if (ret_type)
			ret_type[i] = k;
	}
	return true;
}

/* The policy of a page in a file allows no connections. */
static int put_head(const struct html_spec *spec, html_write_fn write, void *ctx)
{
	static const char before[] = "default-src 'none';", more[] = " connect-src 'self';";
	const char *head = (const char *)html_page_head;
	const char *at = !spec->is_served ? NULL :
		memmem(head, html_page_head_bytes, before, sizeof(before) - 1);
	size_t n = at ? (size_t)(at - head) + sizeof(before) - 1 : html_page_head_bytes;
	int r = write(ctx, head, n);
	if (r == 0 && at)
		r = write(ctx, more, sizeof(more) - 1);
	return r == 0 && at ? write(ctx, head + n, html_page_head_bytes - n) : r;
}

int html_write(const struct html_spec *spec, html_write_fn write, void *ctx, struct err *e)
{
	CLEANUP(html_data_done) struct html_data d = { 0 };
	int r = html_data_make(spec, &d, e);
	if (r < 0)
		return r;
	r = put_head(spec, write, ctx);
	if (r < 0)
		return r;
	r = put_data(&d, write, ctx, e);
	return r < 0 ? r : write(ctx, html_page_tail, html_page_tail_bytes);
}
