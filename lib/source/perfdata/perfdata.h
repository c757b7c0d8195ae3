#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_H

/*
 * A perf.data file as a source: a recording of perf(1) or a related tool, as a file or as a stream
 * ("pipe mode").  Format: perf.data-file-format.txt of the kernel's tools/perf.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/recformat.h"
#include "source/source.h"

struct err;
struct mapguard_table;

/* One attr of the file.  Strings are borrowed until source_close. */
struct perfdata_event {
	struct perf_event_attr attr;  /* this machine's byte order; fields the file lacks are 0 */
	const char *name;             /* perf's name, "cycles:u"; NULL: not in the file */
	struct record_format format;
};

/* A build id from the file. */
struct perfdata_build_id {
	const char *filename;         /* "[kernel.kallsyms]", "/usr/lib/libc.so.6" */
	bool is_kernel;               /* of the kernel's side: the kernel or a module */
	uint8_t n_bytes;
	uint8_t bytes[20];
};

/* Kernel code, from the file's MMAP records. */
struct perfdata_kernel_map {
	uint64_t start, end;
	uint64_t symbol_vaddr;        /* the kernel proper: address of the symbol in its name */
	char *filename;               /* "[kernel.kallsyms]_text", "[ext4]", "/lib/.../x.ko" */
};

struct perfdata_counts {
	uint64_t n_records;           /* of the kernel, delivered */
	uint64_t n_skipped;           /* of perf, simpleperf or the kernel, but not needed */
	uint64_t n_unknown;           /* of unknown type */
	uint64_t n_newer_attrs;       /* events with attr fields newer than Linux 6.1 */
	uint64_t n_unknown_features;  /* header sections of unknown type */
	uint64_t n_aux_bytes;         /* AUXTRACE: hardware traces, skipped */
	uint64_t n_tracing_bytes;     /* formats of tracepoints */
	uint64_t n_foreign_ids;       /* records with an id that no event has */
	uint64_t n_compressed_bytes, n_decompressed_bytes;
	uint64_t n_bad_features;      /* header sections that could not be read */
	uint64_t n_early;             /* how often too much waited and was delivered early */
};

struct perfdata_info {
	bool is_pipe, is_swapped;
	uint32_t n_files;             /* in a folder (perf record --threads); 1: a single file */
	uint32_t n_branches_max;      /* of a call stack of branch records; 0: unknown */
	const char *perf_version;     /* "": unknown */
	const char *command_line;
	uint64_t first_sample_ns, last_sample_ns;  /* SAMPLE_TIME; 0: unknown */
	bool has_wall_clock;          /* CLOCK_DATA: these two name the same moment */
	uint64_t wall_clock_ns, clock_ns;
	struct perfdata_counts counts;
};

/*
 * Opens the file at fd (borrowed until source_close), or the folder of perf record --threads, which
 * has one file per CPU.  A file is mapped if possible, and entered in maps (borrowed, may be NULL),
 * otherwise read as a stream.  name is for messages.  -EINVAL with e set if it is not a perf.data
 * file, or nothing in it can be decoded.
 *
 * source_next: an error comes after all readable records, names the offset, and is repeated at each
 * further call: -EINVAL, -ENOTSUP for compression, -ENOMEM, errno of a read, or -EIO for a file
 * that was truncated meanwhile.  Records are in time order as far as perf guarantees it
 * (FINISHED_ROUND); record.event is the index below.
 */
int perfdata_open(int fd, const char *name, struct mapguard_table *maps,
		  struct source **ret_source, struct err *e);

/* Events are complete when the source is open. */
size_t perfdata_n_events(const struct source *s);
const struct perfdata_event *perfdata_event(const struct source *s, size_t i);

/* Grow until SOURCE_END; borrowed until the next source_next. */
const struct perfdata_info *perfdata_info(const struct source *s);
const struct perfdata_build_id *perfdata_build_ids(const struct source *s, size_t *ret_n);
const struct perfdata_kernel_map *perfdata_kernel_maps(const struct source *s, size_t *ret_n);

/* How the kernel describes a tracepoint of the scheduler (tracepoint.h); id is its attr.config.
 * NULL: the file has no description. */
const char *perfdata_tracepoint(const struct source *s, uint64_t id);

/* The build id of a user file; NULL: none in the file (yet). */
const struct perfdata_build_id *perfdata_build_id_of(const struct source *s, const char *filename);

#endif
