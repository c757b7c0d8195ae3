/* The contents of the page; no name breaks out of its context. */

#include "base/err.h"
#include "view/profile-build.h"
#include "proto/gzip.h"
#include "tap.h"
#include "view/html/html-code.h"
#include "view/html/html.h"
#include "view/html/html-data.h"
#include "view/html/svg.h"

#include <errno.h>

#define HOSTILE "</script><img/src=x/onerror=alert(1)>"
#define QUOTES "\"'&`\x01\xff\xe2\x80\xa8x"

struct made { struct model *m; struct filter *f; struct sink page; };

static void make(struct made *x, struct build *b)
{
	static const struct filter_spec all;
	struct err e = { 0 };
	*x = (struct made){ 0 };
	if (model_read(b->sink.bytes.v, b->sink.bytes.n, &x->m, &e) < 0 ||
	    filter_new(x->m, &all, &x->f, &e) < 0)
		abort();
}

static void done(struct made *x)
{
	filter_free(x->f);
	model_free(x->m);
	VEC_FREE(&x->page.bytes);
}

static const char *text_of(struct sink *s)
{
	if (!VEC_PUSH(&s->bytes, 0))
		abort();
	return (const char *)s->bytes.v;
}

/* Reads the number at *at and advances. */
static uint64_t number(const uint8_t **at)
{
	uint64_t v = 0;
	for (int shift = 0;; shift += 7) {
		v |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return v;
	}
}

/* The bytes between the page's halves, decoded and decompressed. */
static uint8_t *data_of(const char *page, size_t *ret_n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *mark = "id=\"data\">", *at = strstr(page, mark);
	struct err e = { 0 };
	if (!tap_ok(at != NULL, "the page contains data"))
		return NULL;
	at += strlen(mark);
	size_t n = strspn(at, digits), pad = strspn(at + n, "=");
	tap_ok(n > 0 && (n + pad) % 4 == 0 && strncmp(at + n + pad, "</script>", 9) == 0,
	       "the data is base64 up to the end of its element");
	uint8_t *packed = calloc(n, 1), *data = NULL;
	uint32_t bits = 0;
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, at[i]) - digits);
		if (i % 4 > 0)
			packed[used++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	tap_int(gzip_inflate(packed, used, 1 << 20, &data, ret_n, &e), 0, "the data is gzip");
	free(packed);
	return data;
}

static void test_page(void)
{
	struct build b;
	struct made x;
	struct err e = { 0 };
	size_t n = 0;
	BUILD(&b, "samples/count cpu/nanoseconds", "1,100 " HOSTILE " main ; " HOSTILE "=" HOSTILE,
	      "2,20 " QUOTES " main");
	make(&x, &b);
	struct html_set set = { .fresh = { x.m, x.f, HOSTILE }, .type = 1 };
	struct html_spec spec = { .set = &set, .n_sets = 1 };
	tap_int(html_write(&spec, sink_write, &x.page, &e), 0, "a page is written");
	const char *page = text_of(&x.page);
	tap_ok(x.page.bytes.n < 400000, "the page is smaller than 400 kB");
	tap_ok(strncmp(page, "<!doctype html>", 15) == 0, "it is HTML");
	tap_ok(strstr(page, "onerror=") == NULL, "no name is in the page unencoded");
	tap_ok(strstr(page, "default-src 'none'; script-src 'sha256-") != NULL &&
	       strstr(page, "unsafe") == NULL, "the policy allows one script, by its hash");
	tap_ok(strstr(page, "http:") == NULL && strstr(page, "https:") == NULL,
	       "the page refers to nothing on the net");
	tap_ok(strstr(page, "connect-src") == NULL, "a page in a file connects to nothing");
	uint8_t *data = data_of(page, &n);
	const uint8_t *at = data;
	tap_int((long long)number(&at), 4, "version 4");
	tap_int((long long)number(&at), ROWS_FUNCTION, "rows are functions");
	tap_int((long long)number(&at), DIFF_SHARE, "the comparison is by share");
	uint64_t n_strings = number(&at);
	bool hostile = false, clean = false;
	for (uint64_t i = 0; i < n_strings; i++) {
		uint64_t len = number(&at);
		hostile |= len == strlen(HOSTILE) && memcmp(at, HOSTILE, len) == 0;
		clean |= len == strlen(QUOTES) + 2 && memcmp(at, "\"'&`?\xef\xbf\xbd", 8) == 0;
		at += len;
	}
	tap_ok(hostile, "a hostile name is in the data unchanged");
	tap_ok(clean, "bytes that are not UTF-8, and control characters, are replaced");
	tap_ok((size_t)(at - data) < n && number(&at) == 3, "there are three frames");
	free(data);
	done(&x);
	build_done(&b);
}

static void add_code(struct html_code *c, uint64_t vaddr, const char *text, int64_t line,
		     int64_t flat, int64_t cum)
{
	const struct html_code_line l = { vaddr, strdup(text), flat, cum, line };
	if (!VEC_PUSH(&c->lines, l))
		abort();
}

static int find_code(void *ctx, const struct html_set *set, struct html_code *ret)
{
	const struct html_code_function f = { "f", "prog", 0, 2 };
	(void)set;
	add_code(ret, 0x10, "nop", 7, 5, 6);
	add_code(ret, 0x14, "ret", 0, 0, 1);
	if (!VEC_PUSH(&ret->functions, f))
		abort();
	return *(int *)ctx;
}

/* The number of a short string, or -1. */
static int string_id(const uint8_t *data, const char *text)
{
	const uint8_t *at = data;
	for (int i = 0; i < 3; i++)
		number(&at);
	int n = (int)number(&at);
	for (int i = 0; i < n; i++) {
		uint64_t len = number(&at);
		if (len == strlen(text) && memcmp(at, text, len) == 0)
			return i;
		at += len;
	}
	return -1;
}

static void test_code(void)
{
	struct build b;
	struct made x;
	struct err e = { 0 };
	size_t n = 0;
	int result = 0;
	BUILD(&b, "samples/count", "1 f main");
	make(&x, &b);
	struct html_set set = { .fresh = { x.m, x.f, "x" } };
	struct html_spec spec = { .set = &set, .n_sets = 1, .find_code = find_code,
				  .code_ctx = &result };
	tap_int(html_write(&spec, sink_write, &x.page, &e), 0, "a page with instructions");
	uint8_t *data = data_of(text_of(&x.page), &n);
	const uint8_t expected[] = {
		1, (uint8_t)string_id(data, "f"), (uint8_t)string_id(data, "prog"), 2,
		0x10, (uint8_t)string_id(data, "nop"), 7 * 2, 5 * 2, 6 * 2,
		4, (uint8_t)string_id(data, "ret"), 0, 0, 1 * 2,
	};
	tap_ok(n > sizeof(expected) &&
	       memcmp(data + n - sizeof(expected), expected, sizeof(expected)) == 0,
	       "the instructions are at the end of their set");
	free(data);
	result = -ENOMEM;
	tap_int(html_write(&spec, sink_write, &x.page, &e), -ENOMEM, "without memory it fails");
	done(&x);
	build_done(&b);
}

static void test_served(void)
{
	struct build b;
	struct made x;
	struct err e = { 0 };
	BUILD(&b, "samples/count", "1 f main");
	make(&x, &b);
	struct html_set set = { .fresh = { x.m, x.f, "x" } };
	struct html_spec spec = { .set = &set, .n_sets = 1, .is_served = true };
	tap_int(html_write(&spec, sink_write, &x.page, &e), 0, "a page for a server is written");
	tap_ok(strstr(text_of(&x.page), "default-src 'none'; connect-src 'self'; script-src "
		      "'sha256-"), "it may connect to its server, and to nothing else");
	done(&x);
	build_done(&b);
}

static int refuse(void *ctx, const void *bytes, size_t n_bytes)
{
	(void)bytes;
	int *left = ctx;
	*left -= n_bytes > (size_t)*left ? *left : (int)n_bytes;
	return *left > 0 ? 0 : -ENOSPC;
}

static void test_failure(void)
{
	struct build b;
	struct made x;
	struct err e = { 0 };
	BUILD(&b, "samples/count", "1 f main");
	make(&x, &b);
	struct html_set set = { .fresh = { x.m, x.f, "x" } };
	struct html_spec spec = { .set = &set, .n_sets = 1 };
	for (int room = 1; room < 300000; room = room * 2 + 1) {
		int left = room;
		int r = html_write(&spec, refuse, &left, &e);
		if (r != (left > 0 ? 0 : -ENOSPC)) {
			tap_ok(false, "a full disk is reported, after %d bytes", room);
			break;
		}
	}
	tap_ok(true, "a full disk is reported");
	done(&x);
	build_done(&b);
}

static void test_comparable(void)
{
	struct build a, b, c;
	struct made x, y, z;
	uint32_t type[2] = { 9, 9 };
	BUILD(&a, "samples/count cpu/nanoseconds", "1,100 f main");
	BUILD(&b, "cpu/milliseconds samples/count other/bytes", "1,100,3 f main");
	BUILD(&c, "samples/count faults/count", "1,100 f main");
	make(&x, &a);
	make(&y, &b);
	make(&z, &c);
	tap_ok(html_comparable(y.m, x.m, type),
	       "profiles with other units and more types can be compared");
	tap_ok(type[0] == 1 && type[1] == 0, "each type is matched");
	tap_ok(!html_comparable(z.m, x.m, NULL), "profiles with other types cannot");
	tap_ok(!html_comparable(x.m, y.m, NULL), "profiles with fewer types cannot");
	done(&x);
	done(&y);
	done(&z);
	build_done(&a);
	build_done(&b);
	build_done(&c);
}

static void test_svg(void)
{
	struct build b;
	struct made x;
	struct err e = { 0 };
	struct rows *rows = NULL;
	struct tree *tree = NULL;
	BUILD(&b, "samples/count", "30 " HOSTILE " main", "10 " QUOTES " main", "60 g+f main");
	make(&x, &b);
	if (rows_new(x.m, x.f, ROWS_FUNCTION, NULL, &rows, &e) < 0 ||
	    tree_new(x.m, x.f, rows, 0, TREE_ALL, NULL, &tree, &e) < 0)
		abort();
	struct svg_spec spec = { .tree = tree, .title = HOSTILE, .subtitle = "<b>",
				 .scale = { 1, "" } };
	tap_int(svg_write(&spec, sink_write, &x.page, &e), 0, "a flame graph is drawn");
	const char *svg = text_of(&x.page);
	tap_ok(strstr(svg, "<img") == NULL && strstr(svg, "<b>") == NULL &&
	       strstr(svg, "</script") == NULL, "names are not markup");
	tap_ok(strstr(svg, "<title>&lt;/script&gt;&lt;img/src=x/onerror=alert(1)&gt;&#10;"
			   "30, 30.00%") != NULL, "names are text");
	tap_ok(strstr(svg, "&quot;&#39;&amp;`?\xef\xbf\xbd") != NULL, "names are escaped for XML");
	tap_ok(strstr(svg, "<title>g (inlined)&#10;60, 60.00%</title>"
			   "<rect class=\"i\" x=\"12.00\"") != NULL,
	       "the largest frame is on the left, and inlined frames have their own class");
	tree_free(tree);
	rows_free(rows);
	done(&x);
	build_done(&b);
}

int main(void)
{
	test_page();
	test_code();
	test_served();
	test_failure();
	test_comparable();
	test_svg();
	return tap_done();
}
