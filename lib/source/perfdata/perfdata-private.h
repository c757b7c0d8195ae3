#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_PRIVATE_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_PRIVATE_H

/* Shared by the parts of the perf.data reader. */

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"
#include "source/perfdata/perfdata.h"
#include "source/perfdata/perfdata-format.h"
#include "source/perfdata/perfdata-input.h"
#include "source/perfdata/perfdata-order.h"
#include "source/record.h"

struct perfdata_id {
	uint64_t id;
	uint64_t counted;             /* its counter in the previous sample of its group */
	uint32_t event;
};

struct perfdata_tracepoint { uint64_t id; char *text; };  /* attr.config; perfdata_tracepoint() */

struct perfdata_zstd;

/* The header of a record, in this machine's byte order. */
struct perfdata_head {
	uint32_t type;
	uint16_t misc;
	uint32_t n_bytes;             /* of the whole record */
};

/* A file, or one file of a folder: its records are roughly in time order. */
struct perfdata_stream {
	struct perfdata_input input;     /* the file */
	struct perfdata_input unpacked;  /* from compressed records */
	struct perfdata_zstd *zstd;
	uint64_t last_time_ns;           /* of the records read so far */
	bool has_ended;
	int own_fd;                      /* to be closed; -1: none */
	char suffix[16];                 /* of its name in messages: "/data.12" */
};

struct perfdata {
	struct source source;         /* first */
	struct perfdata_info info;
	VEC(struct perfdata_event) events;
	VEC(struct perfdata_id) ids;  /* sorted before the first record */
	VEC(struct perfdata_build_id) build_ids;
	VEC(struct perfdata_kernel_map) kernel_maps;
	VEC(struct perfdata_tracepoint) tracepoints;
	char *name, *perf_version, *command_line;
	bool ids_sorted;
	bool has_begun;               /* no more attrs may come */
	/* the word of a sample that is its id; for other records, from their end; 0: none */
	unsigned id_word, id_word_back;
	bool has_time;                /* at least one event samples the time */
	uint32_t last_id_event;       /* the last id that was found, and its event */
	uint64_t last_id;
	unsigned time_word;           /* the word of any sample that is its time; 0: they differ */
	VEC(struct perfdata_stream) streams;  /* the first one has the header */
	struct perfdata_order order;
	uint64_t *scratch;            /* for records that are swapped or not aligned */
	uint64_t delivered_ns;        /* time of the youngest record delivered */
	bool is_complete;             /* nothing more will be queued */
	struct record group;          /* a sample whose group is being delivered; next counter */
	uint64_t group_at;
	struct perfdata_chunk *held;  /* of the record delivered last */
	struct mapguard_table *maps;  /* borrowed, may be NULL */
	struct err failure;           /* reported after the last record; code 0: none */
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

static inline struct perfdata_input *perfdata_file(const struct perfdata *p)
{
	return &p->streams.v[0].input;
}

enum perfdata_step { PERFDATA_MORE, PERFDATA_READY, PERFDATA_END };

/* perfdata.c */
/* Stores the first failure for the end, with the offset in the stream; -EINVAL. */
int perfdata_broken(struct perfdata *p, const struct perfdata_stream *s, uint64_t offset,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int perfdata_no_memory(struct perfdata *p);

/* perfdata-files.c: opens fd, a file, or a folder of perf record --threads with a file per CPU.
 * -errno with e set. */
int perfdata_open_files(struct perfdata *p, int fd, struct err *e);
/* Has a file lost bytes since it was opened? */
bool perfdata_is_truncated(const struct perfdata *p);
void perfdata_close_files(struct perfdata *p);
/* Unpacks a compressed record into s->unpacked; -errno with p->failure set. */
int perfdata_unpack(struct perfdata *p, struct perfdata_stream *s, const uint8_t *packed,
		    size_t n_packed);

/* perfdata-user.c: a record of perf itself or of simpleperf, read from `in` (one of s); h is at
 * offset.  b is its body, empty if it is larger than RECORD_BYTES_MAX and was skipped.
 * enum perfdata_step, or -errno with p->failure set. */
int perfdata_user_record(struct perfdata *p, struct perfdata_stream *s, uint64_t offset,
			 const struct perfdata_head *h, struct bytes b);
/* The record ends the initial part of a stream. */
bool perfdata_begins_data(uint32_t type);

/* perfdata-header.c: everything before the first record.  -errno with e set. */
int perfdata_read_header(struct perfdata *p, struct err *e);

/* perfdata-feature.c: one header section or feature record; false if it contradicts itself. */
bool perfdata_feature(struct perfdata *p, unsigned feature, struct bytes b);
/* Does some version of perf or simpleperf write it? */
bool perfdata_knows_feature(uint64_t feature);
/* The body of a BUILD_ID record. */
bool perfdata_add_build_id(struct perfdata *p, uint16_t misc, struct bytes b);
/* Names the event with this id; -ENOMEM. */
int perfdata_name_event(struct perfdata *p, uint64_t id, const char *name);

/* perfdata-event.c */
/* Adds an attr of n_bytes, in the file's byte order; -EINVAL if it is impossible, -ENOMEM. */
int perfdata_add_event(struct perfdata *p, const void *attr, size_t n_bytes);
int perfdata_add_id(struct perfdata *p, uint64_t id, uint32_t event);
/* Call it after all attrs were added: sorts ids, and determines where records have theirs. */
void perfdata_events_ready(struct perfdata *p);
/* The entry of an id, or NULL. */
struct perfdata_id *perfdata_find_id(struct perfdata *p, uint64_t id);
/* The event of an id, or RECORD_NO_EVENT. */
uint32_t perfdata_event_of_id(struct perfdata *p, uint64_t id);
/* The event of a raw record (this machine's byte order, aligned); RECORD_NO_EVENT if its id is
 * unknown. */
uint32_t perfdata_event_of(struct perfdata *p, const void *raw);

/* perfdata-swap.c: converts to this machine's byte order, in place.  attr has its full size, of
 * which the file has n_bytes. */
void perfdata_swap_attr(struct perf_event_attr *attr);
/* Converts the record at raw (n_bytes, aligned), whose header is converted already.  The format may
 * be another event's, as long as only the id is used. */
void perfdata_swap_record(const struct record_format *f, void *raw, size_t n_bytes);

#endif
