#ifndef CPROF_CMD_PUSH_BODY_H
#define CPROF_CMD_PUSH_BODY_H

/* The body of a request with several profiles. */

#include "cmd/push/push-format.h"
#include "cmd/push/push-spool.h"
#include "proto/wire.h"

/* Larger profiles are not decoded for OTLP. */
#define PUSH_DECODED_BYTES_MAX ((size_t)32 << 20)

/*
 * Appends the body to w.  -EINVAL: item *ret_bad is not a profile; -ENOMEM.  Pyroscope and Parca
 * decode profiles themselves, so only OTLP finds bad ones.
 */
int push_body_build(enum push_format format, struct push_item *const *item, size_t n_items,
		    const struct keyvalue *extra, size_t n_extra, struct wire *w, size_t *ret_bad,
		    struct err *e);

#endif
