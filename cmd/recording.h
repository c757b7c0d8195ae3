#ifndef CPROF_CMD_RECORDING_H
#define CPROF_CMD_RECORDING_H

/* What cprof record holds while it runs; shared by cmd-record.c and recordloop.c. */

#include "base/log.h"
#include "cmd/aheadthread.h"
#include "cmd/control.h"
#include "cmd/exclusive.h"
#include "cmd/launch.h"
#include "cmd/parts.h"
#include "cmd/recordfiles.h"
#include "cmd/recordopts.h"
#include "cmd/rotate.h"
#include "cmd/signals.h"
#include "cmd/targetuse.h"

struct recording {
	struct recordopts opts;
	struct signals signals;
	struct launch launch;
	struct control control;
	struct parts parts;
	struct rotate_clock clock;     /* --switch-output: since the last part */
	struct targetuse use;          /* for --trigger */
	struct cprof_recorder *recorder;
	struct aheadthread ahead;
	struct recordfiles files;      /* of the end */
	char *cache_dir;
	char machine[EXCLUSIVE_TEXT_MAX + 16]; /* its state, for the comments */
	int ended_by;                  /* the signal that ended recording; 0 */
	bool from_terminal;
};

#endif
