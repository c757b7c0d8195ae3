#include "interp/interp-learned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Have another user's processes of the same file taught more? */
static bool is_outdone(const struct interp_learned *l, const struct interp_learned_file *f)
{
	for (size_t i = 0; i < l->file.n; i++)
		if (l->file.v[i]->learn.n > f->learn.n &&
		    strcmp(l->file.v[i]->saved_name, f->saved_name) == 0)
			return true;
	return false;
}

static void save(const struct interp_learned *l, const struct interp_learned_file *f)
{
	if (l->saved_dir && f->saved_name[0] && !is_outdone(l, f))
		interp_saved_write(l->saved_dir, f->saved_name, &f->learn);
}

static void remove_at(struct interp_learned *l, size_t i)
{
	struct interp_learned_file *f = l->file.v[i];
	interp_learn_done(&f->learn);
	interp_shared_done(&f->shared);
	free(f);
	memmove(l->file.v + i, l->file.v + i + 1, (l->file.n - i - 1) * sizeof(*l->file.v));
	l->file.n--;
}

/* The oldest one that no process needs makes room. */
static void limit(struct interp_learned *l)
{
	for (size_t i = 0; i < l->file.n && l->file.n >= INTERP_LEARNED_FILES_MAX; i++) {
		if (l->file.v[i]->n_users)
			continue;
		save(l, l->file.v[i]);
		remove_at(l, i);
		return;
	}
}

void interp_learned_done(struct interp_learned *l)
{
	for (size_t i = 0; i < l->file.n; i++)
		save(l, l->file.v[i]);
	while (l->file.n)
		remove_at(l, l->file.n - 1);
	VEC_FREE(&l->file);
	free(l->saved_dir);
	l->saved_dir = NULL;
}

static struct interp_learned_file *find(const struct interp_learned *l,
					const struct interp_learned_key *key)
{
	for (size_t i = 0; i < l->file.n; i++)
		if (l->file.v[i]->serial == key->serial && l->file.v[i]->uid == key->uid)
			return l->file.v[i];
	return NULL;
}

static struct interp_learned_file *add(struct interp_learned *l,
				       const struct interp_learned_key *key,
				       const struct interp_runtime *r)
{
	limit(l);
	struct interp_learned_file *f = calloc(1, sizeof(*f));
	if (!f || !VEC_PUSH(&l->file, f)) {
		free(f);
		return NULL;
	}
	f->serial = key->serial;
	f->uid = key->uid;
	interp_learn_init(&f->learn, r);
	snprintf(f->saved_name, sizeof(f->saved_name), "%s", key->saved_name);
	if (l->saved_dir && f->saved_name[0])
		interp_saved_read(l->saved_dir, f->saved_name, &f->learn);
	return f;
}

struct interp_learned_file *interp_learned_take(struct interp_learned *l,
						const struct interp_learned_key *key,
						const struct interp_runtime *r)
{
	struct interp_learned_file *f = find(l, key);
	if (!f)
		f = add(l, key, r);
	if (f)
		f->n_users++;
	return f;
}

void interp_learned_give_back(struct interp_learned_file *f)
{
	f->n_users--;
}

bool interp_learned_has(const struct interp_learned *l, uint32_t serial)
{
	for (size_t i = 0; i < l->file.n; i++)
		if (l->file.v[i]->serial == serial)
			return true;
	return false;
}
