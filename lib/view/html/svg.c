/*
 * Each frame begins where its left sibling ends; its width is the sum of the magnitudes of the
 * values that end in it and above it.  Only visible frames are laid out, so the height is known
 * before drawing.
 */

#include "view/html/svg.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1200.0
#define MARGIN 12.0
#define ROW 18.0
#define HEAD 58.0
#define NARROW 0.3        /* narrower frames are invisible */
#define CHARACTER 6.65    /* average width of the font */

struct box { uint32_t node, base, depth; double x, width; };

struct drawing {
	const struct svg_spec *spec;
	VEC(struct box) boxes;
	double *weight;             /* by node */
	VEC(char) text;
	bool failed;
};

static void __attribute__((format(printf, 2, 3)))
put(struct drawing *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !VEC_RESERVE(&d->text, (size_t)n + 1)) {
		d->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(d->text.v + d->text.n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	d->text.n += (size_t)n;
}

/* Writes foreign text, without control characters.  max: bytes to show; 0: all. */
static void put_text(struct drawing *d, const char *s, size_t max)
{
	size_t n = strlen(s);
	CLEANUP_FREE char *clean = malloc(UTF8_CLEAN_MAX(n) + 1);
	if (!clean) {
		d->failed = true;
		return;
	}
	n = utf8_clean(clean, s, n);
	bool cut = max > 0 && n > max;
	if (cut)
		n = utf8_valid_prefix(clean, max);
	clean[n] = '\0';
	for (const char *p = clean; *p; p++) {
		uint32_t control;
		size_t n_control = utf8_control(p, &control);
		if (n_control) {
			put(d, "?");
			p += n_control - 1;
			continue;
		}
		switch (*p) {
		case '<': put(d, "&lt;"); break;
		case '>': put(d, "&gt;"); break;
		case '&': put(d, "&amp;"); break;
		case '"': put(d, "&quot;"); break;
		case '\'': put(d, "&#39;"); break;
		default: put(d, "%c", *p);
		}
	}
	if (cut)
		put(d, "…");
}

/* ---- layout --------------------------------------------------------------- */

static int weigh(struct drawing *d)
{
	const struct tree *t = d->spec->tree;
	d->weight = calloc((size_t)t->n_nodes + 1, sizeof(*d->weight));
	if (!d->weight)
		return -ENOMEM;
	for (uint32_t i = t->n_nodes; i-- > 1;) {
		d->weight[i] += fabs((double)t->node[i].flat);
		d->weight[t->node[i].parent] += d->weight[i];
	}
	return 0;
}

static uint32_t base_child(const struct svg_spec *s, uint32_t base, const char *name)
{
	if (!s->base || base == MODEL_NONE)
		return MODEL_NONE;
	uint32_t i = s->base->node[base].first_child;
	while (i && strcmp(s->base->rows->row[s->base->node[i].row].name, name) != 0)
		i = s->base->node[i].next_sibling;
	return i ? i : MODEL_NONE;
}

/* Breadth first; the array of boxes is the queue. */
static int lay_out(struct drawing *d, uint32_t *ret_depth)
{
	const struct tree *t = d->spec->tree;
	struct box all = { .base = 0, .x = MARGIN, .width = WIDTH - 2 * MARGIN };
	if (!VEC_PUSH(&d->boxes, all))
		return -ENOMEM;
	for (size_t b = 0; b < d->boxes.n; b++) {
		struct box box = d->boxes.v[b];
		double per_unit = d->weight[box.node] > 0 ? box.width / d->weight[box.node] : 0;
		double x = box.x;
		*ret_depth = box.depth;
		for (uint32_t c = t->node[box.node].first_child; c; c = t->node[c].next_sibling) {
			double width = d->weight[c] * per_unit;
			struct box child = { c, MODEL_NONE, box.depth + 1, x, width };
			x += width;
			if (width < NARROW)
				continue;
			child.base = base_child(d->spec, box.base,
						t->rows->row[t->node[c].row].name);
			if (!VEC_PUSH(&d->boxes, child))
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- drawing -------------------------------------------------------------- */

/* The change as a share of the total. */
static double change_of(const struct drawing *d, const struct box *b)
{
	const struct svg_spec *s = d->spec;
	double now = (double)s->tree->node[b->node].cum * s->factor;
	double before = b->base == MODEL_NONE
				? 0 : (double)s->base->node[b->base].cum * s->base_factor;
	double all = (double)s->tree->total * s->factor;
	return all > 0 ? (now - before) / all : 0;
}

static bool is_library(const char *module)
{
	const char *name = path_base_name(module), *so = strstr(name, ".so");
	return (so && (!so[3] || so[3] == '.')) || strcmp(name, "[vdso]") == 0;
}

/* Kinds of code have the colours of the page. */
static const char *class_of(const struct drawing *d, const struct box *b)
{
	static const char *const grown[] = { "g0", "g1", "g2", "g3" };
	static const char *const shrunk[] = { "g0", "s1", "s2", "s3" };
	const struct tree_node *n = &d->spec->tree->node[b->node];
	if (b->node == 0)
		return "all";
	if (d->spec->base) {
		double c = change_of(d, b), size = fabs(c);
		int step = size < 0.001 ? 0 : size < 0.01 ? 1 : size < 0.05 ? 2 : 3;
		return c < 0 ? shrunk[step] : grown[step];
	}
	const struct row *row = &d->spec->tree->rows->row[n->row];
	const char *ko = strstr(row->module, ".ko");
	if (strncmp(row->module, "[kernel", 7) == 0 || (ko && (!ko[3] || ko[3] == '.')))
		return "k";
	static const char *const user[] = { "u0", "u1", "u2", "u3" };
	static const char *const library[] = { "l0", "l1", "l2", "l3" };
	unsigned sum = 0;
	for (const char *p = row->name; *p; p++)
		sum = sum * 31 + (unsigned char)*p;
	if (is_library(row->module))
		return library[(sum >> 4) % 4];
	return n->is_inlined ? "i" : user[(sum >> 4) % 4];
}

static void draw_box(struct drawing *d, const struct box *b, double height)
{
	const struct svg_spec *s = d->spec;
	const struct tree_node *n = &s->tree->node[b->node];
	const char *name = b->node ? s->tree->rows->row[n->row].name : "all";
	char value[SCALE_TEXT_MAX], share[SCALE_TEXT_MAX];
	double y = height - MARGIN - ROW * (b->depth + 1);
	double width = b->width > 0.8 ? b->width - 0.4 : b->width;
	put(d, "<g><title>");
	put_text(d, name, 0);
	put(d, "%s&#10;", n->is_inlined && b->node ? " (inlined)" : "");
	put_text(d, scale_text(s->scale, n->cum, value), 0);
	put(d, ", %s", scale_percent(n->cum, s->tree->total, share));
	if (s->base && b->node)
		put(d, "&#10;%+.2f%% of all", change_of(d, b) * 100);
	put(d, "</title><rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>",
	    class_of(d, b), b->x, y, width, ROW - 1);
	double room = (b->width - 6) / CHARACTER;
	if (room >= 3) {
		put(d, "<text x=\"%.2f\" y=\"%.1f\">", b->x + 3, y + ROW - 5.5);
		put_text(d, name, (size_t)room < strlen(name) ? (size_t)room - 1 : 0);
		put(d, "</text>");
	}
	put(d, "</g>\n");
}

static const char style[] =
	"<style>svg{background:#fff}"
	"text{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f1d1a;"
	"pointer-events:none}"
	".h{font:600 16px system-ui,'DejaVu Sans',sans-serif}"
	".n{font:12px system-ui,'DejaVu Sans',sans-serif;fill:#6b665e}"
	"g:hover rect{stroke:#1f1d1a;stroke-width:1}"
	".all{fill:#e4e0d8}.u0{fill:#f2bf86}.u1{fill:#efb272}.u2{fill:#f4cb98}.u3{fill:#ecab7b}"
	".l0{fill:#e3dc9a}.l1{fill:#dcd48b}.l2{fill:#e9e3ad}.l3{fill:#d8d294}"
	".k{fill:#9dbbd8}.i{fill:#f6e3bd}"
	".g0{fill:#e4e0d8}.g1{fill:#f6cfc3}.g2{fill:#ec9f8b}.g3{fill:#dd6e57}"
	".s1{fill:#c9dbee}.s2{fill:#97bde0}.s3{fill:#5f97cc}"
	"@media(prefers-color-scheme:dark){svg{background:#191817}.h{fill:#eceae6}.n{fill:#a09a90}"
	"g:hover rect{stroke:#fff}.all{fill:#8b867d}.g0{fill:#8b867d}}"
	"</style>\n";

static void draw(struct drawing *d, uint32_t depth)
{
	double height = HEAD + ROW * (depth + 1) + MARGIN;
	put(d, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
	       "width=\"%.0f\" height=\"%.0f\">\n%s", WIDTH, height, WIDTH, height, style);
	put(d, "<text class=\"h\" x=\"%.0f\" y=\"28\">", MARGIN);
	put_text(d, d->spec->title, 120);
	put(d, "</text>\n<text class=\"n\" x=\"%.0f\" y=\"47\">", MARGIN);
	put_text(d, d->spec->subtitle, 200);
	put(d, "</text>\n");
	for (size_t i = 0; i < d->boxes.n && !d->failed; i++)
		draw_box(d, &d->boxes.v[i], height);
	put(d, "</svg>\n");
}

static void drawing_done(struct drawing *d)
{
	free(d->weight);
	VEC_FREE(&d->boxes);
	VEC_FREE(&d->text);
}

int svg_write(const struct svg_spec *spec, svg_write_fn write, void *ctx, struct err *e)
{
	CLEANUP(drawing_done) struct drawing d = { .spec = spec };
	uint32_t depth = 0;
	if (weigh(&d) < 0 || lay_out(&d, &depth) < 0)
		return err_errno(e, ENOMEM, "cannot draw the flame graph");
	draw(&d, depth);
	if (d.failed)
		return err_errno(e, ENOMEM, "cannot draw the flame graph");
	return write(ctx, d.text.v, d.text.n);
}
