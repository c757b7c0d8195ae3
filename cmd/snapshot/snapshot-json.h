#ifndef CPROF_CMD_SNAPSHOT_SNAPSHOT_JSON_H
#define CPROF_CMD_SNAPSHOT_SNAPSHOT_JSON_H

/* A snapshot as one JSON object (cprof-snapshot(1)). */

#include <stdio.h>

struct cprof_recorder;

void snapshot_json_print(FILE *to, const struct cprof_recorder *r);

#endif
