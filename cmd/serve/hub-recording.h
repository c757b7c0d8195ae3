#ifndef CPROF_CMD_SERVE_HUB_RECORDING_H
#define CPROF_CMD_SERVE_HUB_RECORDING_H

/* The inside of hub.h, shared by hub.c and hub-recording.c. */

#include "cmd/serve/hub.h"
#include "cmd/serve/parts.h"
#include "cmd/serve/serve-child.h"

#define HUB_NOT_YET UINT64_MAX

/* Clients who come while a recording runs wait so long for others, who then need no cut of their
 * own. */
#define HUB_JOIN_NS 20000000u

struct hub_client {
	struct hub_client *next;
	struct recording *recording;
	uint64_t from, to;             /* HUB_NOT_YET: the cut is still to come */
	uint64_t begin_ns;             /* 0: it has not begun */
	uint64_t window_ns;
	hub_done_fn *done;
	void *ctx;
};

struct recording {
	struct recording *next;
	struct hub *hub;
	struct serve_child child;
	struct request request;
	struct peer peer;
	char *pids;
	bool is_shared, has_begun, is_cutting, is_stopping;
	uint64_t current;              /* the part that is being recorded */
	uint64_t joined_ns;            /* the first client who waits for a cut; 0: none */
	uint64_t silent_ns;            /* since when an answer is due; 0: none is */
	uint64_t cpu_ns;               /* as last reported */
	struct parts parts;
	struct hub_client *clients;
};

struct hub {
	struct hub_limits limits;
	int program_fd;
	struct hub_counts counts;
	struct recording *recordings;
};

/* Takes what the process has sent, cuts, and finishes windows; frees the recording at its end. */
void hub_recording_run(struct recording *rec, uint64_t now_ns);

/* When it has to be run again in any case; HUB_NOT_YET: never. */
uint64_t hub_recording_due_ns(const struct recording *rec);

/* Ends its process; it has no clients any more. */
void hub_recording_free(struct recording *rec);

void hub_remove_client(struct hub_client *c);

#endif
