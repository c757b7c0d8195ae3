#ifndef CPROF_CMD_PUSH_FORMAT_H
#define CPROF_CMD_PUSH_FORMAT_H

/* The servers that profiles are sent to. */

enum push_format {
	PUSH_PYROSCOPE,   /* push.v1.PusherService/Push, by HTTP as the Connect protocol has it */
	PUSH_PARCA,       /* parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw, by gRPC */
	PUSH_OTLP,        /* /v1development/profiles, by HTTP */
};

#endif
