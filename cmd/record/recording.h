#ifndef CPROF_CMD_RECORD_RECORDING_H
#define CPROF_CMD_RECORD_RECORDING_H

/* The state of cprof record while it runs; shared by cmd-record.c and recordloop.c. */

#include "base/host.h"
#include "base/log.h"
#include "cmd/record/control.h"
#include "cmd/record/exclusive.h"
#include "cmd/launch.h"
#include "cmd/realtime.h"
#include "cmd/record/partwriter.h"
#include "cmd/record/recordfiles.h"
#include "cmd/record/recordopts.h"
#include "cmd/record/rotate.h"
#include "cmd/signals.h"
#include "cmd/record/targetuse.h"

struct recording {
	struct recordopts opts;
	struct host host;
	struct signals signals;
	struct realtime realtime;
	struct launch launch;
	struct cprof_cgroup *cgroup;   /* the command's; NULL: none */
	struct cprof_preload *preload; /* the command's; NULL: it needs none */
	struct control control;
	struct partwriter parts;
	struct rotate_clock clock;     /* --switch-output: when the current file began */
	struct targetuse use;          /* for --trigger */
	struct cprof_recorder *recorder;
	struct recordfiles files;      /* the final ones */
	char *cache_dir;
	char machine[EXCLUSIVE_TEXT_MAX + 16]; /* its settings, for the profile's comments */
	int ended_by;                  /* the signal that ended recording; 0 */
	bool from_terminal;
};

#endif
