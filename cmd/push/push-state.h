#ifndef CPROF_CMD_PUSH_STATE_H
#define CPROF_CMD_PUSH_STATE_H

/*
 * What the pusher must know when it starts again after a kill: which profiles were being sent, and
 * what has been lost.  It is one file of a fixed size, text that people can read, with two slots
 * that are written in turn.  Writing needs no space on the disk once the file exists, and a slot
 * that was written only in part is not valid: the other one holds.
 *
 * A batch is recorded as SENDING before its first byte leaves.  Without an answer it stays so, and
 * after a kill nobody knows whether the server has it.  Once the answer is known it is recorded as
 * ANSWERED, together with the counters, and only then are the files removed.
 */

#include "cmd/agent/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define PUSH_BATCH_MAX 64u
#define PUSH_LOSSES_MAX 24u
#define PUSH_LOSS_NAME_MAX 32u

enum push_batch { PUSH_IDLE, PUSH_SENDING, PUSH_ANSWERED };

/* What the pusher itself loses, in profiles. */
enum push_loss_kind {
	PUSH_LOST_REFUSED,     /* the server does not want it */
	PUSH_LOST_TOO_LARGE,   /* for the server, even alone */
	PUSH_LOST_UNSURE,      /* sent without an answer: the server may have it */
	PUSH_LOST_UNREADABLE,  /* the file in the spool is not a profile with labels */
	PUSH_LOSS_KINDS,
};
extern const char *const push_loss_names[PUSH_LOSS_KINDS];

/* Something that was lost.  The names are those of the pusher ("refused") or of the recorder's
 * counters ("profiles_lost"). */
struct push_loss {
	char name[PUSH_LOSS_NAME_MAX];
	uint64_t total;      /* since the state was created */
	uint64_t reported;   /* of these, what was sent to the server */
	uint64_t seen;       /* the recorder's counter when it was last read */
};

struct push_state {
	int fd;              /* locked, so that there is one pusher; -1 when closed */
	uint64_t generation;
	uint64_t delivered, delivered_bytes, requests;
	uint64_t reported_at_ns;   /* CLOCK_REALTIME of the last report; 0: none yet */
	struct push_loss loss[PUSH_LOSSES_MAX];
	size_t n_losses;
	enum push_batch batch;
	bool has_report;     /* the batch is not of files, but of losses */
	struct spool_name file[PUSH_BATCH_MAX];
	size_t n_files;
};

/* Opens or creates the state in a folder, which is ours alone.  -EBUSY: another pusher uses it;
 * -EINVAL: both slots are damaged. */
int push_state_open(struct push_state *s, const char *folder, struct err *e);
void push_state_close(struct push_state *s);

/* Writes s into the next slot, to the disk. */
int push_state_write(struct push_state *s, struct err *e);

void push_state_lose(struct push_state *s, enum push_loss_kind kind, uint64_t n);

/* Adds what a counter of the recorder has grown since it was last read.  Names that are too long
 * or too many are left out. */
void push_state_lost_by_recorder(struct push_state *s, const char *name, uint64_t counter);

/* What was not reported yet. */
uint64_t push_state_unreported(const struct push_state *s);

/* The text of a slot, and back; for push_state_open, and for tests.  Returns the number of bytes.
 * Parsing leaves s as it is when the text is not valid. */
#define PUSH_STATE_SLOT 16384u
size_t push_state_print(const struct push_state *s, char text[PUSH_STATE_SLOT]);
bool push_state_parse(struct push_state *s, const char *text, size_t n_bytes);

#endif
