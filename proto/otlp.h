#ifndef CPROF_PROTO_OTLP_H
#define CPROF_PROTO_OTLP_H

/*
 * Profiles as OpenTelemetry's protocol sends them: an ExportProfilesServiceRequest
 * (opentelemetry-proto 1.10 and 1.11, package profiles.v1development, which is in alpha).  The
 * profiles of a request share one dictionary of strings, mappings, functions, locations, stacks and
 * attributes.
 *
 * Each sample type of a profile becomes an OTLP profile of its own, since these have only one.
 * Labels of samples become attributes; the names that OpenTelemetry's conventions have are used for
 * process, thread and build ids.  Comments, drop_frames and keep_frames have no place there.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct otlp;
struct wire;

#define OTLP_ID_BYTES 16

struct otlp_attribute { const char *key, *value; };

struct otlp_resource {
	const struct otlp_attribute *attribute;  /* whose values are valid UTF-8 */
	size_t n_attributes;
	uint8_t id[OTLP_ID_BYTES];  /* of the profile; each sample type gets another one */
};

/* NULL if out of memory. */
struct otlp *otlp_new(void);
void otlp_free(struct otlp *o);

/* Adds a profile.proto, gzipped or not, of at most max_bytes uncompressed bytes.  -EINVAL, -E2BIG,
 * -ENOMEM as for profile_read; after the first two the request is as before. */
int otlp_add(struct otlp *o, const void *data, size_t n_bytes, size_t max_bytes,
	     const struct otlp_resource *resource, struct err *e);

/* Appends the request to w, and releases what was added.  0 or -ENOMEM. */
int otlp_finish(struct otlp *o, struct wire *w, struct err *e);

#endif
