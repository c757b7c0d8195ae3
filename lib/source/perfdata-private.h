#ifndef CPROF_SOURCE_PERFDATA_PRIVATE_H
#define CPROF_SOURCE_PERFDATA_PRIVATE_H

/* What the parts of the perf.data reader share. */

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"
#include "source/perfdata.h"
#include "source/perfdata-input.h"
#include "source/perfdata-order.h"
#include "source/record.h"

/* Records of perf itself (enum perf_user_event_type). */
enum perfdata_user {
	PERFDATA_HEADER_ATTR = 64, PERFDATA_EVENT_TYPE = 65, PERFDATA_TRACING_DATA = 66,
	PERFDATA_BUILD_ID = 67, PERFDATA_FINISHED_ROUND = 68, PERFDATA_AUXTRACE = 71,
	PERFDATA_EVENT_UPDATE = 78, PERFDATA_FEATURE = 80, PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
};

/* Header features (enum in tools/perf/util/header.h). */
enum perfdata_feature {
	PERFDATA_F_TRACING_DATA = 1, PERFDATA_F_BUILD_ID = 2, PERFDATA_F_HOSTNAME = 3,
	PERFDATA_F_OSRELEASE = 4, PERFDATA_F_VERSION = 5, PERFDATA_F_ARCH = 6,
	PERFDATA_F_NRCPUS = 7, PERFDATA_F_CMDLINE = 11, PERFDATA_F_EVENT_DESC = 12,
	PERFDATA_F_SAMPLE_TIME = 21, PERFDATA_F_DIR_FORMAT = 24, PERFDATA_F_COMPRESSED = 27,
	PERFDATA_F_CLOCK_DATA = 29,
};

struct perfdata_id {
	uint64_t id;
	uint64_t counted;             /* what its counter said last, in a sample of its group */
	uint32_t event;
};

struct perfdata_zstd;

struct perfdata {
	struct source source;         /* first */
	struct perfdata_info info;
	VEC(struct perfdata_event) events;
	VEC(struct perfdata_id) ids;  /* sorted before the first record */
	VEC(struct perfdata_build_id) build_ids;
	VEC(struct perfdata_kernel_map) kernel_maps;
	char *name, *perf_version, *command_line;
	bool ids_sorted;
	bool has_begun;               /* no attr may come any more */
	/* the word of a sample that is its id, and of other records from their end; 0: none */
	unsigned id_word, id_word_back;
	bool has_time;                /* some event samples the time */
	uint32_t last_id_event;       /* the id that was found last, and its event */
	uint64_t last_id;
	struct perfdata_input input;  /* the file */
	struct perfdata_input unpacked;  /* what came out of compressed records */
	struct perfdata_zstd *zstd;
	struct perfdata_order order;
	uint64_t *scratch;            /* a record that is swapped, or was not aligned */
	uint64_t last_time_ns;        /* of the records as they stand in the file */
	uint64_t delivered_ns;        /* youngest record that was delivered */
	bool is_complete;             /* nothing more will be queued */
	struct record group;          /* a sample whose group is being delivered, and from where */
	uint64_t group_at;
	struct perfdata_chunk *held;  /* of the record that was delivered last */
	struct err failure;           /* told behind the last record; code 0: none */
};

static inline uint16_t perfdata_u16(const struct perfdata *p, uint16_t x)
{
	return p->info.is_swapped ? __builtin_bswap16(x) : x;
}
static inline uint32_t perfdata_u32(const struct perfdata *p, uint32_t x)
{
	return p->info.is_swapped ? __builtin_bswap32(x) : x;
}
static inline uint64_t perfdata_u64(const struct perfdata *p, uint64_t x)
{
	return p->info.is_swapped ? __builtin_bswap64(x) : x;
}

/* perfdata-header.c: everything before the first record.  -errno with e set. */
int perfdata_read_header(struct perfdata *p, struct err *e);

/* perfdata-feature.c: one header section or feature record; false where it contradicts itself. */
bool perfdata_feature(struct perfdata *p, unsigned feature, struct bytes b);
/* A BUILD_ID record, behind its header. */
bool perfdata_add_build_id(struct perfdata *p, uint16_t misc, struct bytes b);
/* Names the event that has this id; -ENOMEM. */
int perfdata_name_event(struct perfdata *p, uint64_t id, const char *name);

/* perfdata-event.c */
/* Adds an attr of n_bytes, in the file's byte order; -EINVAL for an impossible one, -ENOMEM. */
int perfdata_add_event(struct perfdata *p, const void *attr, size_t n_bytes);
int perfdata_add_id(struct perfdata *p, uint64_t id, uint32_t event);
/* To be called when all are added: sorts ids, and finds where records have theirs. */
void perfdata_events_ready(struct perfdata *p);
/* What is known of an id; NULL. */
struct perfdata_id *perfdata_find_id(struct perfdata *p, uint64_t id);
/* The event of an id; RECORD_NO_EVENT. */
uint32_t perfdata_event_of_id(struct perfdata *p, uint64_t id);
/* The event of a raw record (this machine's byte order, aligned); RECORD_NO_EVENT where its id
 * is unknown. */
uint32_t perfdata_event_of(struct perfdata *p, const void *raw);

/* perfdata-swap.c: to this machine's byte order, in place.  attr has its full size, n_bytes of it
 * are the file's. */
void perfdata_swap_attr(struct perf_event_attr *attr);
/* The record at raw (n_bytes, aligned), whose header is swapped already; the format may be that of
 * another event as far as the id is concerned. */
void perfdata_swap_record(const struct record_format *f, void *raw, size_t n_bytes);

#endif
