/*
 * The list of goroutines is found in one of three ways:
 *
 * 1. by its symbol;
 * 2. in stripped programs, by the code of runtime.allgadd, which appends to it: of the addresses
 *    that its instructions refer to, one is a slice of addresses of plausible goroutines;
 * 3. by a search for such a slice in all of the program's data, the longest one.
 *
 * The reasons to wait are an array of strings, of which the first is empty and the second is the
 * same in all versions.
 */

#include "symbolize/runtime/go-places.h"

#include "base/cleanup.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-symbols.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX (1u << 20)
#define CODE_BYTES_MAX (16u << 10)
#define REFERENCES_MAX 512u
#define SEARCH_BYTES_MAX (256u << 20)
#define SEARCH_PIECE_BYTES (1u << 20)
#define SEARCH_TRIES_MAX 4096u          /* slices that are looked at more closely */
#define TRIED_END 16u                   /* goroutines that are read at each end of the list */

/* ---- functions --------------------------------------------------------------------------- */

void go_places_functions(const struct go_places *p, const char *const *names, uint64_t *ret,
			 size_t n)
{
	char name[GO_TABLE_NAME_BYTES_MAX];
	struct go_table_function f;
	size_t n_left = n;
	memset(ret, 0, n * sizeof(*ret));
	for (uint64_t i = 0; i < FUNCTIONS_MAX && n_left && i < p->table->n_functions; i++) {
		if (!go_table_function(p->table, i, &f) ||
		    !go_table_name(p->table, &f, name, sizeof(name)))
			continue;
		for (size_t k = 0; k < n; k++)
			if (!ret[k] && strcmp(name, names[k]) == 0) {
				ret[k] = f.start + p->bias;
				n_left--;
			}
	}
}

/* ---- symbols ----------------------------------------------------------------------------- */

uint64_t go_places_variable(const struct go_places *p, const char *name, uint64_t min_bytes,
			    uint64_t max_bytes, uint64_t *ret_n_bytes)
{
	struct runtime_symbol s = { .name = name, .min_bytes = min_bytes, .max_bytes = max_bytes };
	runtime_symbols_find(p->cfi, RUNTIME_SYMBOLS_ALL, &s, 1);
	if (!s.vaddr)
		return 0;
	*ret_n_bytes = s.n_bytes;
	return s.vaddr + p->bias;
}

/* ---- goroutines -------------------------------------------------------------------------- */

/* Reads a g at each of n addresses, one at a time, and judges them. */
static bool are_goroutines(const struct go_places *p, const struct go_layout *l,
			   const uint64_t *at, size_t n, uint64_t main_pc, bool *found_main)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	size_t n_bytes = go_layout_g_bytes(l);
	struct go_g g;
	if (n_bytes > sizeof(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!at[i] || at[i] % 8 || !runtime_memory_read(p->memory, at[i], b, n_bytes))
			return false;
		go_g_decode(l, b, &g);
		if (!go_g_is_plausible(&g))
			return false;
		*found_main |= g.goid == 1 && main_pc && g.start_pc == main_pc;
	}
	return true;
}

static bool is_slice(const struct go_slice *s)
{
	return s->at && s->at % 8 == 0 && s->n && s->n <= s->cap &&
	       s->cap <= GO_PLACES_GOROUTINES_MAX;
}

static bool is_allgs(const struct go_places *p, const struct go_layout *l, const struct go_slice *s,
		     uint64_t main_pc, bool is_strict)
{
	uint64_t first[TRIED_END], last[TRIED_END];
	size_t n = s->n < TRIED_END ? s->n : TRIED_END;
	bool found_main = false;
	return is_slice(s) && runtime_memory_read(p->memory, s->at, first, n * 8) &&
	       are_goroutines(p, l, first, n, main_pc, &found_main) &&
	       (found_main || !is_strict) &&
	       runtime_memory_read(p->memory, s->at + (s->n - n) * 8, last, n * 8) &&
	       are_goroutines(p, l, last, n, main_pc, &found_main);
}

static bool is_in_data(const struct go_places *p, uint64_t at, size_t n_bytes)
{
	return at >= p->data_start && at < p->data_end && p->data_end - at >= n_bytes;
}

/* By the code of runtime.allgadd. */
static uint64_t allgs_by_code(const struct go_places *p, const struct go_layout *l,
			      uint64_t main_pc, bool is_strict)
{
	static const char *const name[] = { "runtime.allgadd" };
	uint64_t at[REFERENCES_MAX], start;
	struct go_table_function f;
	struct go_slice s;
	go_places_functions(p, name, &start, 1);
	if (!start || !go_table_find(p->table, start - p->bias, &f))
		return 0;
	size_t n = f.end - f.start < CODE_BYTES_MAX ? f.end - f.start : CODE_BYTES_MAX;
	CLEANUP_FREE uint8_t *code = malloc(n);
	if (!code)
		return 0;
	n = cfi_read_code(p->cfi, f.start, code, n);
	n = p->cfi->arch->references(code, n, start, at, REFERENCES_MAX);
	for (size_t i = 0; i < n; i++)
		if (at[i] % 8 == 0 && is_in_data(p, at[i], sizeof(s)) &&
		    runtime_memory_read(p->memory, at[i], &s, sizeof(s)) &&
		    is_allgs(p, l, &s, main_pc, is_strict))
			return at[i];
	return 0;
}

/* ---- searches ---------------------------------------------------------------------------- */

/* A word of the data and the ones that follow it.  True: the search is over. */
typedef bool search_each(void *ctx, uint64_t at, const uint64_t *word, size_t n_words);

/* Shows all data to each, piece by piece; what cannot be read is left out. */
static void search_data(const struct go_places *p, size_t n_words, search_each *each, void *ctx)
{
	CLEANUP_FREE uint64_t *words = malloc(SEARCH_PIECE_BYTES);
	uint64_t end = p->data_end, at = (p->data_start + 7) & ~UINT64_C(7);
	if (end > at && end - at > SEARCH_BYTES_MAX)
		end = at + SEARCH_BYTES_MAX;
	while (words && at < end && end - at >= n_words * 8) {
		size_t n = end - at < SEARCH_PIECE_BYTES ? end - at : SEARCH_PIECE_BYTES;
		const struct iovec local = { words, n };
		const struct iovec remote = { (void *)(uintptr_t)at, n };
		long got = p->memory->read(p->memory->ctx, &local, 1, &remote, 1);
		size_t n_got = got > 0 ? (size_t)got / 8 : 0;
		for (size_t i = 0; i + n_words <= n_got; i++)
			if (each(ctx, at + 8 * i, words + i, n_got - i))
				return;
		/* the words at the end of a piece begin the next one, too */
		if (n_got > n_words)
			at += 8 * (n_got - n_words + 1);
		else
			at = (at + 4096) & ~UINT64_C(4095);
	}
}

struct search_allgs {
	const struct go_places *places;
	const struct go_layout *layout;
	uint64_t main_pc, best, n_best;
	unsigned int n_tries;
};

static bool try_allgs(void *ctx, uint64_t at, const uint64_t *word, size_t n_words)
{
	struct search_allgs *s = ctx;
	const struct go_slice slice = { word[0], word[1], word[2] };
	/* no shorter one, and no pointer into the low memory, where numbers are */
	if (!is_slice(&slice) || slice.n <= s->n_best || slice.at < 1u << 20)
		return false;
	if (is_allgs(s->places, s->layout, &slice, s->main_pc, true)) {
		s->best = at;
		s->n_best = slice.n;
	}
	return ++s->n_tries == SEARCH_TRIES_MAX;
}

enum go_place go_places_allgs(const struct go_places *p, const struct go_layout *l,
			      uint64_t main_pc, bool is_strict, uint64_t *ret)
{
	struct search_allgs search = { .places = p, .layout = l, .main_pc = main_pc };
	struct go_slice s;
	uint64_t n_bytes;
	*ret = go_places_variable(p, "runtime.allgs", sizeof(s), sizeof(s), &n_bytes);
	if (*ret)
		return runtime_memory_read(p->memory, *ret, &s, sizeof(s)) &&
			       is_allgs(p, l, &s, main_pc, is_strict) ? GO_PLACE_SYMBOL :
									GO_PLACE_NONE;
	*ret = allgs_by_code(p, l, main_pc, is_strict);
	if (*ret)
		return GO_PLACE_CODE;
	search_data(p, 3, try_allgs, &search);
	*ret = search.best;
	return search.best ? GO_PLACE_DATA : GO_PLACE_NONE;
}

/* ---- reasons ----------------------------------------------------------------------------- */

static const char second_reason[] = "GC assist marking";

/* Reads the text of a string's header; false: it is too long for a reason, or not text. */
static bool read_reason(const struct go_places *p, const uint64_t header[2],
			char ret[GO_REASON_BYTES])
{
	size_t n = header[1];
	memset(ret, 0, GO_REASON_BYTES);
	if (n >= GO_REASON_BYTES || (n && !runtime_memory_read(p->memory, header[0], ret, n)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (ret[i] < ' ' || ret[i] > '~')
			return false;
	return true;
}

struct search_reasons {
	const struct go_places *places;
	uint64_t at;
	unsigned int n_tries;
};

static bool try_reasons(void *ctx, uint64_t at, const uint64_t *word, size_t n_words)
{
	struct search_reasons *s = ctx;
	char text[GO_REASON_BYTES];
	if (word[1] || word[3] != sizeof(second_reason) - 1)
		return false;
	if (read_reason(s->places, word + 2, text) && strcmp(text, second_reason) == 0)
		s->at = at;
	return s->at || ++s->n_tries == SEARCH_TRIES_MAX;
}

void go_places_reasons(const struct go_places *p, struct go_reasons *ret)
{
	struct search_reasons s = { .places = p };
	uint64_t header[GO_REASONS_MAX][2], n_bytes = sizeof(header);
	ret->n = 0;
	s.at = go_places_variable(p, "runtime.waitReasonStrings", 16, sizeof(header), &n_bytes);
	if (!s.at)
		search_data(p, 4, try_reasons, &s);
	for (unsigned int i = 0; s.at && i < n_bytes / 16; i++) {
		if (!runtime_memory_read(p->memory, s.at + 16 * i, header[i], 16) ||
		    !read_reason(p, header[i], ret->text[i]) || (i && !header[i][1]))
			break;
		ret->n = i + 1;
	}
}
