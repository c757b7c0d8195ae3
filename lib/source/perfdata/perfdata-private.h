#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_PRIVATE_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_PRIVATE_H

/* What the parts of the perf.data reader share. */

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
	uint64_t counted;             /* what its counter said last, in a sample of its group */
	uint32_t event;
};

struct perfdata_zstd;

/* The header of a record, in this machine's byte order. */
struct perfdata_head {
	uint32_t type;
	uint16_t misc;
	uint32_t n_bytes;             /* of the whole record */
};

/* A piece of records in the order of their time, more or less: the file, or one of a folder. */
struct perfdata_stream {
	struct perfdata_input input;     /* the file */
	struct perfdata_input unpacked;  /* what came out of compressed records */
	struct perfdata_zstd *zstd;
	uint64_t last_time_ns;           /* of the records as they stand in it */
	bool has_ended;
	int own_fd;                      /* to be closed; -1 */
	char suffix[16];                 /* of its name in messages: "/data.12" */
};

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
	unsigned time_word;           /* the word of any sample that is its time; 0: it differs */
	struct perfdata_stream *streams;  /* the first one has the header */
	uint32_t n_streams;
	struct perfdata_order order;
	uint64_t *scratch;            /* a record that is swapped, or was not aligned */
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

static inline struct perfdata_input *perfdata_file(const struct perfdata *p)
{
	return &p->streams[0].input;
}

enum perfdata_step { PERFDATA_MORE, PERFDATA_READY, PERFDATA_END };

/* perfdata.c */
/* Keeps the first failure for the end, with the offset in the stream; -EINVAL. */
int perfdata_broken(struct perfdata *p, const struct perfdata_stream *s, uint64_t offset,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int perfdata_no_memory(struct perfdata *p);

/* perfdata-files.c: opens fd, a file, or a folder of perf record --threads with one for each CPU.
 * -errno with e set. */
int perfdata_open_files(struct perfdata *p, int fd, struct err *e);
void perfdata_close_files(struct perfdata *p);
/* Unpacks a compressed record into s->unpacked; -errno with p->failure set. */
int perfdata_unpack(struct perfdata *p, struct perfdata_stream *s, const uint8_t *packed,
		    size_t n_packed);

/* perfdata-user.c: a record of perf itself or of simpleperf, taken from in (one of s); h is at
 * offset.  b is its body, empty where it is larger than RECORD_BYTES_MAX and was skipped.
 * enum perfdata_step, or -errno with p->failure set. */
int perfdata_user_record(struct perfdata *p, struct perfdata_stream *s, uint64_t offset,
			 const struct perfdata_head *h, struct bytes b);
/* Behind this one nothing of a stream's beginning comes any more. */
bool perfdata_begins_data(uint32_t type);

/* perfdata-header.c: everything before the first record.  -errno with e set. */
int perfdata_read_header(struct perfdata *p, struct err *e);

/* perfdata-feature.c: one header section or feature record; false where it contradicts itself. */
bool perfdata_feature(struct perfdata *p, unsigned feature, struct bytes b);
/* Is it one that some version of perf or simpleperf writes? */
bool perfdata_knows_feature(uint64_t feature);
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
