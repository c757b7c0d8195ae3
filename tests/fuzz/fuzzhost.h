#ifndef CPROF_TESTS_FUZZ_FUZZHOST_H
#define CPROF_TESTS_FUZZ_FUZZHOST_H

/* For fuzzers of a machine's files: one whose root, proc and sys are folders in fuzzdir. */

#include "base/err.h"
#include "base/host.h"
#include "fuzzdir.h"

static inline void fuzzhost_open(struct host *h)
{
	char root[256], proc[256], sys[256];
	struct err e;
	snprintf(root, sizeof(root), "%s", fuzzdir_path("root"));
	snprintf(proc, sizeof(proc), "%s", fuzzdir_path("proc"));
	snprintf(sys, sizeof(sys), "%s", fuzzdir_path("sys"));
	fuzzdir_check(host_open(h, root, proc, sys, &e) == 0);
}

#endif
