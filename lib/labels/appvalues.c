/*
 * A value beyond the limit must not become a string first: a program whose labels never repeat
 * would fill memory with texts that nobody sees.  So a text is looked up first, and added only when
 * it is accepted.
 */
#include "labels/appvalues.h"

#include "agg/labels.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "labels/labelmem.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "app."

void appvalues_init(struct appvalues *v, struct strtab *strings)
{
	*v = (struct appvalues){ .strings = strings };
}

void appvalues_clear(struct appvalues *v)
{
	VEC_FREE(&v->seen);
	hashindex_done(&v->by_pair);
	v->n_keys = 0;
}

void appvalues_done(struct appvalues *v)
{
	appvalues_clear(v);
	*v = (struct appvalues){ .strings = NULL };
}

/* ---- pairs ---------------------------------------------------------------------------- */

static unsigned find_key(const struct appvalues *v, uint32_t key)
{
	unsigned k = 0;
	while (k < v->n_keys && v->keys[k].key != key)
		k++;
	return k;
}

static bool is_seen(const struct appvalues *v, uint32_t key, uint32_t value)
{
	uint64_t pair = (uint64_t)key << 32 | value;
	return HASHINDEX_FIND(&v->by_pair, hash_u64(pair), i, v->seen.v[i] == pair) !=
	       HASHINDEX_NONE;
}

/* Makes room for one more value of the k-th key, which may be the first. */
static bool has_room(const struct appvalues *v, unsigned k)
{
	return k < v->n_keys ? v->keys[k].n < APPVALUES_PER_KEY : k < APPVALUES_KEYS;
}

/* k: the key's index, for which there is room. */
static bool add_value(struct appvalues *v, unsigned k, uint32_t key, uint32_t value)
{
	uint64_t pair = (uint64_t)key << 32 | value;
	if (!VEC_RESERVE(&v->seen, 1) ||
	    !hashindex_add(&v->by_pair, hash_u64(pair), (uint32_t)v->seen.n))
		return false;
	v->seen.v[v->seen.n++] = pair;
	if (k == v->n_keys) {
		v->keys[k].key = key;
		v->keys[k].n = 0;
		v->n_keys++;
	}
	v->keys[k].n++;
	return true;
}

/* ---- texts ---------------------------------------------------------------------------- */

/* Cleans a key's text; keys of cprof and of pprof keep their meaning. */
static size_t clean_key(const struct appvalues *v, const char *text, char *buf)
{
	size_t n = utf8_clean(buf, text, strlen(text));
	buf[n] = '\0';
	if (strncmp(text, "pprof::", 7) != 0 &&
	    !(v->is_taken && v->is_taken(v->taken_ctx, buf)))
		return n;
	memmove(buf + strlen(PREFIX), buf, n);
	memcpy(buf, PREFIX, strlen(PREFIX));
	return n + strlen(PREFIX);
}

bool appvalues_label(struct appvalues *v, const char *key, const char *value, struct label *ret)
{
	char key_text[sizeof(PREFIX) + UTF8_CLEAN_MAX(LABELMEM_SET_BYTES_MAX)];
	char text[UTF8_CLEAN_MAX(LABELMEM_SET_BYTES_MAX)];
	size_t n_key = clean_key(v, key, key_text);
	size_t n = utf8_clean(text, value, strlen(value));
	*ret = (struct label){ .key = strtab_find(v->strings, key_text, n_key),
			       .value = strtab_find(v->strings, text, n) };
	/* The empty value is string 0, like a missing one. */
	bool is_known = ret->key && (ret->value || n == 0);
	if (is_known && is_seen(v, ret->key, ret->value))
		return true;
	unsigned k = ret->key ? find_key(v, ret->key) : v->n_keys;
	if (has_room(v, k)) {
		ret->key = strtab_add(v->strings, key_text, n_key);
		ret->value = strtab_add(v->strings, text, n);
		if (add_value(v, k, ret->key, ret->value))
			return true;
	}
	if (k == v->n_keys)
		ret->key = strtab_add_cstr(v->strings, APPVALUES_OTHER);
	ret->value = strtab_add_cstr(v->strings, APPVALUES_OTHER);
	return false;
}

/* ---- the limits ------------------------------------------------------------------------- */

bool appvalues_is_full(const struct appvalues *v)
{
	for (unsigned k = 0; k < v->n_keys; k++)
		if (v->keys[k].n == APPVALUES_PER_KEY)
			return true;
	return v->n_keys == APPVALUES_KEYS;
}

void appvalues_renew(struct appvalues *v, bool (*renew)(void *ctx, uint32_t *string), void *ctx)
{
	struct appvalues fresh = *v;
	memset(&fresh.seen, 0, sizeof(fresh.seen));
	fresh.by_pair = (struct hashindex){ 0 };
	fresh.n_keys = 0;
	for (size_t i = 0; i < v->seen.n; i++) {
		uint32_t key = (uint32_t)(v->seen.v[i] >> 32), value = (uint32_t)v->seen.v[i];
		if (renew(ctx, &key) && renew(ctx, &value) &&
		    !add_value(&fresh, find_key(&fresh, key), key, value))
			break;
	}
	VEC_FREE(&v->seen);
	hashindex_done(&v->by_pair);
	*v = fresh;
}
