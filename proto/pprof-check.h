#ifndef CPROF_PROTO_PPROF_CHECK_H
#define CPROF_PROTO_PPROF_CHECK_H

/*
 * Checks whether the usual consumers (pprof, Parca, Pyroscope, speedscope) read a profile as
 * intended.  The reader (pprof-read.h) already refuses profiles that no consumer can use; the rules
 * here find data that some consumers reject, silently drop, or show wrongly.
 */

#include <stddef.h>

struct profile;

enum pprof_check_severity {
	PPROF_CHECK_ERROR,    /* a known consumer rejects it, or loses or misreads data */
	PPROF_CHECK_WARNING,  /* legal, but discouraged or unusual */
};

enum pprof_check_rule {
	PPROF_CHECK_SAMPLE_TYPES,    /* at least one; names in [a-z0-9_]; units; unique */
	PPROF_CHECK_DEFAULT_TYPE,    /* default_sample_type is one of them */
	PPROF_CHECK_PERIOD,          /* period_type is set and period is not negative */
	PPROF_CHECK_TIMES,           /* duration above 0; time set */
	PPROF_CHECK_IDS,             /* 1, 2, 3 ... for mappings, functions and locations */
	PPROF_CHECK_UTF8,            /* every string is valid UTF-8 */
	PPROF_CHECK_LENGTHS,         /* strings, stacks and label sets that a consumer truncates */
	PPROF_CHECK_MAPPING,         /* range, build id in lower-case hex, main binary first */
	PPROF_CHECK_FLAGS,           /* has_* agrees with the locations */
	PPROF_CHECK_FUNCTION_NAMES,  /* not empty */
	PPROF_CHECK_ADDRESSES,       /* within their mapping */
	PPROF_CHECK_LINES,           /* each with a function, no negative numbers */
	PPROF_CHECK_STACKS,          /* no sample without locations */
	PPROF_CHECK_VALUES,          /* not negative, not all zero */
	PPROF_CHECK_LABELS,          /* keys, string or number but not both, lost zeros */
	PPROF_CHECK_NUMBERS,         /* numeric labels; reported once per key */
	PPROF_CHECK_COMMENTS,        /* a consumer reads some as data */
	PPROF_CHECK_DOC_URL,         /* absolute http or https */
	PPROF_CHECK_SIZE,            /* within a server's limits */
	PPROF_CHECK_N_RULES
};

/* The consumers that a finding concerns. */
enum pprof_consumer {
	PPROF_CONSUMER_PPROF = 1,       /* go tool pprof */
	PPROF_CONSUMER_PARCA = 2,
	PPROF_CONSUMER_PYROSCOPE = 4,
	PPROF_CONSUMER_SPEEDSCOPE = 8,
	PPROF_CONSUMER_ALL = 15,
};
#define PPROF_N_CONSUMERS 4

struct pprof_finding {
	enum pprof_check_severity severity;
	enum pprof_check_rule rule;
	unsigned consumers;  /* enum pprof_consumer bits */
	const char *text;  /* "sample 12: negative value -3"; valid in the callback */
};

typedef void pprof_check_fn(void *ctx, const struct pprof_finding *finding);

/* More findings of a rule are counted, but not reported. */
#define PPROF_CHECK_MAX_PER_RULE 10

/* Calls `found` (may be NULL) for each finding that concerns one of the consumers (bits), and
 * counts the findings.  ret_n_warnings may be NULL.  0 or -ENOMEM. */
int pprof_check(const struct profile *p, unsigned consumers, pprof_check_fn *found, void *ctx,
		size_t *ret_n_errors, size_t *ret_n_warnings);

/* "pprof", "parca" ...: the name of consumer i < PPROF_N_CONSUMERS, whose bit is 1 << i. */
const char *pprof_consumer_name(unsigned i);

/* "sample-types", "ids" ... */
const char *pprof_check_rule_name(enum pprof_check_rule rule);

#endif
