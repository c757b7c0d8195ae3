#ifndef CPROF_INTERP_INTERP_LEARNED_H
#define CPROF_INTERP_INTERP_LEARNED_H

/*
 * What is learned of the files of interpreters.  Processes of the same file learn together, because
 * short ones learn too little for themselves; but only those of one user, who could mislead them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "interp/interp-learn.h"
#include "interp/interp-saved.h"
#include "interp/interp-shared.h"

struct interp_runtime;

/* If processes do not need more files. */
#define INTERP_LEARNED_FILES_MAX 32u

struct interp_learned_file {
	uint32_t serial, uid;           /* as in the key */
	struct interp_learn learn;
	struct interp_shared shared;
	/* Private. */
	uint32_t n_users;
	char saved_name[INTERP_SAVED_NAME_MAX]; /* "": not kept for later recordings */
};

struct interp_learned {
	char *saved_dir;                /* for interp-saved.h, owned; NULL: nothing is kept */
	VEC(struct interp_learned_file *) file; /* private */
};

/* Keeps what was learned for later recordings, and frees all, saved_dir, too. */
void interp_learned_done(struct interp_learned *l);

struct interp_learned_key {
	uint32_t serial;                /* of the file's DSO */
	uint32_t uid;                   /* of the process */
	const char *saved_name;         /* of interp_saved_name */
};

/* The entry of a file, which begins with what earlier recordings have learned.  It stays until it
 * was given back as often as it was taken, and then until others need its room.  NULL: no memory.
 */
struct interp_learned_file *interp_learned_take(struct interp_learned *l,
						const struct interp_learned_key *key,
						const struct interp_runtime *r);
void interp_learned_give_back(struct interp_learned_file *f);

/* Is there an entry of that file, for any user? */
bool interp_learned_has(const struct interp_learned *l, uint32_t serial);

#endif
