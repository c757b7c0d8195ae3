#include "profile/lessdetail.h"

#include "base/hash.h"
#include "base/hashindex.h"
#include "profile/names.h"

#include <string.h>

/* ---- fewer samples ------------------------------------------------------------------------- */

/* entry[at] stands for those from first to it. */
static void choose(uint32_t *entry, size_t first, size_t at, bool *is_folded)
{
	uint32_t chosen = entry[at];
	entry[at] = entry[first];
	entry[first] = chosen;
	is_folded[first] = false;
}

uint64_t lessdetail_thin(uint32_t *entry, size_t n, const uint64_t *n_samples, double keep,
			 uint64_t seed, bool *is_folded)
{
	const double step = 1 / keep;
	double next = step * ((double)(hash_u64_fixed(seed) >> 11) / (double)(UINT64_C(1) << 53));
	uint64_t sum = 0, n_kept = 0;
	size_t first = 0;
	memset(is_folded, true, n * sizeof(*is_folded));
	for (size_t i = 0; i < n; i++) {
		sum += n_samples[i];
		/* The last one is chosen if no other was. */
		if ((double)sum <= next && (n_kept || i + 1 < n))
			continue;
		n_kept += n_samples[i];
		choose(entry, first, i, is_folded);
		first = i + 1;
		while (next < (double)sum)
			next += step;
	}
	return sum - n_kept;
}

/* ---- fewer locations ----------------------------------------------------------------------- */

static uint64_t hash_frame(const struct names *names, const struct names_frame *nf)
{
	uint64_t h = hash_u64((uint64_t)nf->mapping << 32 | nf->n_lines);
	for (uint32_t i = 0; i < nf->n_lines; i++) {
		uint32_t k = nf->first_line + i;
		const struct names_function *f =
			&names->functions.v[names->line_functions.v[k]];
		h = hash_pair(h, (uint64_t)f->name << 32 | f->file);
		h = hash_pair(h, (uint64_t)names->lines.v[k].line << 32 | f->start_line);
	}
	return h;
}

static bool is_same_line(const struct names *names, uint32_t a, uint32_t b)
{
	const struct symline *x = &names->lines.v[a], *y = &names->lines.v[b];
	const struct names_function *f = &names->functions.v[names->line_functions.v[a]];
	const struct names_function *g = &names->functions.v[names->line_functions.v[b]];
	return x->line == y->line && x->column == y->column && f->name == g->name &&
	       f->file == g->file && f->start_line == g->start_line;
}

static bool is_same_frame(const struct names *names, uint32_t a, uint32_t b)
{
	const struct names_frame *x = &names->frames.v[a], *y = &names->frames.v[b];
	if (x->mapping != y->mapping || x->n_lines != y->n_lines)
		return false;
	for (uint32_t i = 0; i < x->n_lines; i++)
		if (!is_same_line(names, x->first_line + i, y->first_line + i))
			return false;
	return true;
}

size_t lessdetail_fold(const struct names *names, uint32_t *frame, size_t n, uint32_t *location)
{
	struct hashindex index = { 0 };
	size_t n_left = 0;
	for (size_t i = 0; i < n; i++) {
		const uint32_t one = frame[i];
		const struct names_frame *nf = &names->frames.v[one];
		uint64_t hash = nf->n_lines ? hash_frame(names, nf) : 0;
		uint32_t at = nf->n_lines == 0 ? HASHINDEX_NONE :
			HASHINDEX_FIND(&index, hash, k, is_same_frame(names, frame[k], one));
		if (at == HASHINDEX_NONE) {
			if (nf->n_lines && !hashindex_add(&index, hash, (uint32_t)n_left)) {
				hashindex_done(&index);
				return SIZE_MAX;
			}
			at = (uint32_t)n_left;
			frame[n_left++] = one;
		}
		location[one] = at + 1;
	}
	hashindex_done(&index);
	return n_left;
}
