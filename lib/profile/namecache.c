/*
 * An item of a stream is a struct item_head, its lines, and its strings with their NULs: the key,
 * the name and build id of the place, and three for each line.  Both ends are the same program.
 */
#include "profile/namecache.h"

#include "base/hash.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_BYTES_MAX (1u << 20)

struct item_head {
	uint32_t n_bytes;              /* of the whole item */
	uint16_t n_lines;
	uint8_t source, has;
	uint32_t has_place, reserved;
	uint64_t vaddr, end, address, start, limit, shift;
};

struct item_line {
	uint32_t line, column, start_line;
};

/* ---- writing ------------------------------------------------------------------------- */

static bool append(struct namecache_bytes *to, const void *data, size_t n)
{
	if (!VEC_RESERVE(&to->data, n))
		return false;
	memcpy(to->data.v + to->data.n, data, n);
	to->data.n += n;
	return true;
}

static bool append_text(struct namecache_bytes *to, const char *text)
{
	return append(to, text, strlen(text) + 1);
}

static bool put_strings(struct namecache_bytes *to, const struct namecache_item *item)
{
	bool ok = append_text(to, item->key) &&
		  append_text(to, item->has_place ? item->filename : "") &&
		  append_text(to, item->has_place ? item->build_id : "");
	for (uint16_t i = 0; ok && i < item->n_lines; i++)
		ok = append_text(to, item->line[i].name) &&
		     append_text(to, item->line[i].linkage) &&
		     append_text(to, item->line[i].file);
	return ok;
}

bool namecache_put(struct namecache_bytes *to, const struct namecache_item *item)
{
	size_t start = to->data.n;
	struct item_head head = {
		.n_lines = item->n_lines, .source = item->source, .has = item->has,
		.has_place = item->has_place, .vaddr = item->vaddr, .end = item->end,
		.address = item->address,
		.start = item->start, .limit = item->limit, .shift = item->shift,
	};
	bool ok = append(to, &head, sizeof(head));
	for (uint16_t i = 0; ok && i < item->n_lines; i++)
		ok = append(to, &(struct item_line){ item->line[i].line, item->line[i].column,
						     item->line[i].start_line },
			    sizeof(struct item_line));
	ok = ok && put_strings(to, item);
	size_t n = to->data.n - start;
	/* Not worth keeping. */
	if (!ok || n > ITEM_BYTES_MAX) {
		to->data.n = start;
		return ok;
	}
	head.n_bytes = (uint32_t)n;
	memcpy(to->data.v + start, &head, sizeof(head));
	return true;
}

/* ---- generations --------------------------------------------------------------------- */

static void generation_free(struct namecache_generation *g)
{
	if (!g)
		return;
	strtab_done(&g->strings);
	hashindex_done(&g->index);
	free(g->entry);
	free(g->range);
	free(g->line);
	VEC_FREE(&g->places);
	free(g);
}

static struct namecache_generation *generation_new(void)
{
	struct namecache_generation *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->index.budget = &g->budget;
	if (strtab_init(&g->strings, &g->budget) == 0)
		return g;
	generation_free(g);
	return NULL;
}

static uint64_t entry_hash(uint32_t file, uint64_t vaddr)
{
	return hash_pair(file, vaddr);
}

/* The number of ranges that begin at or before an address of a file, or of files before it. */
static uint32_t n_ranges_to(const struct namecache_generation *g, uint32_t file, uint64_t vaddr)
{
	return SEARCH_COUNT(g->n_ranges, i,
			    g->entry[g->range[i]].file < file ||
			    (g->entry[g->range[i]].file == file &&
			     g->entry[g->range[i]].vaddr <= vaddr));
}

static const struct namecache_entry *find_in(const struct namecache_generation *g, uint32_t file,
					     uint64_t vaddr)
{
	if (!file)
		return NULL;
	uint32_t at = HASHINDEX_FIND(&g->index, entry_hash(file, vaddr), i,
				     g->entry[i].file == file && g->entry[i].vaddr == vaddr);
	if (at != HASHINDEX_NONE)
		return &g->entry[at];
	at = n_ranges_to(g, file, vaddr);
	const struct namecache_entry *e = at ? &g->entry[g->range[at - 1]] : NULL;
	return e && e->file == file && vaddr < e->end ? e : NULL;
}

static uint32_t file_in(const struct namecache_generation *g, const char *key)
{
	return g ? strtab_find(&g->strings, key, strlen(key)) : 0;
}

struct namecache_file namecache_file(const struct namecache *c, const char *key)
{
	return (struct namecache_file){ file_in(c->now, key), file_in(c->before, key) };
}

const struct namecache_entry *namecache_find(const struct namecache *c, struct namecache_file file,
					     uint64_t vaddr,
					     const struct namecache_generation **ret_in)
{
	const struct namecache_entry *found = find_in(c->now, file.now, vaddr);
	*ret_in = found ? c->now : c->before;
	return found ? found : find_in(c->before, file.before, vaddr);
}

size_t namecache_bytes_used(const struct namecache *c)
{
	return (c->now ? c->now->budget.used_bytes : 0) +
	       (c->before ? c->before->budget.used_bytes : 0);
}

void namecache_done(struct namecache *c)
{
	generation_free(c->now);
	generation_free(c->before);
	*c = (struct namecache){ 0 };
}

/* ---- reading ------------------------------------------------------------------------- */

struct cursor {
	const char *at, *end;
};

/* NULL: no NUL is left. */
static const char *take_text(struct cursor *c)
{
	const char *text = c->at, *nul = memchr(text, '\0', (size_t)(c->end - text));
	if (nul)
		c->at = nul + 1;
	return nul ? text : NULL;
}

/* The place's number; neighbours mostly have the same. */
static uint32_t add_place(struct namecache_generation *g, const struct namecache_item *item)
{
	struct namecache_place p = {
		.start = item->start, .limit = item->limit, .shift = item->shift,
		.filename = strtab_add_cstr(&g->strings, item->filename),
		.build_id = strtab_add_cstr(&g->strings, item->build_id),
	};
	for (size_t i = g->places.n; i-- > 0;) {
		const struct namecache_place *have = &g->places.v[i];
		if (have->start == p.start && have->limit == p.limit && have->shift == p.shift &&
		    have->filename == p.filename && have->build_id == p.build_id)
			return (uint32_t)i;
	}
	return VEC_PUSH(&g->places, p) ? (uint32_t)g->places.n - 1 : NAMECACHE_NO_PLACE;
}

/* Makes the last entry known. */
static void put_entry(struct namecache_generation *g)
{
	const struct namecache_entry *e = &g->entry[g->n_entries];
	if (e->end) {
		uint32_t at = n_ranges_to(g, e->file, e->vaddr);
		memmove(&g->range[at + 1], &g->range[at],
			(g->n_ranges++ - at) * sizeof(*g->range));
		g->range[at] = g->n_entries;
	} else {
		hashindex_put(&g->index, entry_hash(e->file, e->vaddr), g->n_entries);
	}
	g->n_entries++;
}

static int add_item(struct namecache_generation *g, const struct namecache_item *item)
{
	uint32_t file = strtab_add_cstr(&g->strings, item->key);
	if (!budget_grow_array(&g->budget, (void **)&g->range, &g->cap_ranges, g->n_ranges, 1,
			       sizeof(*g->range), false) ||
	    !budget_grow_array(&g->budget, (void **)&g->entry, &g->cap_entries, g->n_entries, 1,
			       sizeof(*g->entry), false) ||
	    !budget_grow_array(&g->budget, (void **)&g->line, &g->cap_lines, g->n_lines,
			       item->n_lines, sizeof(*g->line), false) ||
	    !file || !hashindex_reserve(&g->index, false))
		return -ENOMEM;
	struct namecache_entry entry = {
		.vaddr = item->vaddr, .end = item->end, .address = item->address, .file = file,
		.first_line = g->n_lines,
		.place = item->has_place ? add_place(g, item) : NAMECACHE_NO_PLACE,
		.n_lines = item->n_lines, .source = item->source, .has = item->has,
	};
	if (item->has_place && entry.place == NAMECACHE_NO_PLACE)
		return -ENOMEM;
	for (uint16_t i = 0; i < item->n_lines; i++) {
		const struct namecache_line *l = &item->line[i];
		struct symline *to = &g->line[g->n_lines + i];
		*to = (struct symline){
			.name = strtab_add_cstr(&g->strings, l->name),
			.linkage = strtab_add_cstr(&g->strings, l->linkage),
			.file = strtab_add_cstr(&g->strings, l->file),
			.line = l->line, .column = l->column, .start_line = l->start_line,
		};
		if (!to->name)
			return -ENOMEM;
	}
	g->n_lines += item->n_lines;
	g->entry[g->n_entries] = entry;
	put_entry(g);
	return 0;
}

/* Reads the item at data, which is complete.  False: it is damaged. */
static bool read_item(const char *data, const struct item_head *head, struct namecache_item *ret,
		      struct namecache_line line[NAMECACHE_LINES_MAX])
{
	size_t n_fixed = sizeof(*head) + head->n_lines * sizeof(struct item_line);
	if (head->n_lines == 0 || head->n_lines > NAMECACHE_LINES_MAX || n_fixed > head->n_bytes ||
	    head->source >= SYMBOLIZER_N_SOURCES ||
	    (head->end && (head->has_place || head->end <= head->vaddr)))
		return false;
	struct cursor c = { data + n_fixed, data + head->n_bytes };
	*ret = (struct namecache_item){
		.key = take_text(&c), .vaddr = head->vaddr, .end = head->end,
		.address = head->address,
		.source = head->source, .has = head->has, .has_place = head->has_place,
		.start = head->start,
		.limit = head->limit, .shift = head->shift, .line = line,
		.n_lines = head->n_lines,
	};
	ret->filename = ret->key ? take_text(&c) : NULL;
	ret->build_id = ret->filename ? take_text(&c) : NULL;
	if (!ret->build_id || !*ret->key)
		return false;
	for (uint16_t i = 0; i < head->n_lines; i++) {
		struct item_line l;
		memcpy(&l, data + sizeof(*head) + i * sizeof(l), sizeof(l));
		line[i] = (struct namecache_line){
			.name = take_text(&c), .line = l.line, .column = l.column,
			.start_line = l.start_line,
		};
		line[i].linkage = line[i].name ? take_text(&c) : NULL;
		line[i].file = line[i].linkage ? take_text(&c) : NULL;
		if (!line[i].file || !*line[i].name)
			return false;
	}
	return c.at == c.end;
}

/* Makes room for new entries, if the newer generation is full. */
static int turn(struct namecache *c, size_t limit_bytes)
{
	/* Its tables may double just before. */
	if (c->now && c->now->budget.used_bytes < limit_bytes / 4)
		return 0;
	struct namecache_generation *next = generation_new();
	if (!next)
		return -ENOMEM;
	generation_free(c->before);
	c->before = c->now;
	c->now = next;
	return 0;
}

long namecache_add(struct namecache *c, const char *data, size_t n_bytes, size_t limit_bytes)
{
	struct namecache_line line[NAMECACHE_LINES_MAX];
	struct namecache_item item;
	struct item_head head;
	size_t at = 0;
	while (n_bytes - at >= sizeof(head)) {
		memcpy(&head, data + at, sizeof(head));
		if (head.n_bytes < sizeof(head) || head.n_bytes > ITEM_BYTES_MAX)
			return -EINVAL;
		if (head.n_bytes > n_bytes - at)
			break;
		if (!read_item(data + at, &head, &item, line))
			return -EINVAL;
		at += head.n_bytes;
		int r = turn(c, limit_bytes);
		if (r == 0 && !find_in(c->now, file_in(c->now, item.key), item.vaddr))
			r = add_item(c->now, &item);
		if (r < 0)
			return r;
	}
	return (long)at;
}
