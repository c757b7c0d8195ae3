#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_H

/*
 * A perf.data file as a source: what perf(1) and its relatives have recorded, as a file or as
 * a stream ("pipe mode").  Format: perf.data-file-format.txt of the kernel's tools/perf.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/recformat.h"
#include "source/source.h"

struct err;

/* One attr of the file.  Strings are borrowed until source_close. */
struct perfdata_event {
	struct perf_event_attr attr;  /* this machine's byte order; zero what the file lacks */
	const char *name;             /* as perf calls it, "cycles:u"; NULL: the file does not */
	struct record_format format;
};

/* A build id as the file tells it. */
struct perfdata_build_id {
	const char *filename;         /* "[kernel.kallsyms]", "/usr/lib/libc.so.6" */
	bool is_kernel;               /* of the kernel's side: the kernel or a module */
	uint8_t n_bytes;
	uint8_t bytes[20];
};

/* Code of the kernel's side, from the file's MMAP records. */
struct perfdata_kernel_map {
	uint64_t start, end;
	uint64_t symbol_vaddr;        /* the kernel proper: where the symbol in its name lies */
	char *filename;               /* "[kernel.kallsyms]_text", "[ext4]", "/lib/.../x.ko" */
};

struct perfdata_counts {
	uint64_t n_records;           /* of the kernel, delivered */
	uint64_t n_skipped;           /* perf's own, simpleperf's, the kernel's: of no use here */
	uint64_t n_unknown;           /* of unknown type */
	uint64_t n_newer_attrs;       /* events with attr fields that were not there in Linux 6.1 */
	uint64_t n_unknown_features;  /* header sections that nothing is known of */
	uint64_t n_aux_bytes;         /* AUXTRACE: hardware traces, skipped */
	uint64_t n_tracing_bytes;     /* formats of tracepoints, skipped */
	uint64_t n_foreign_ids;       /* records with an id that no event has */
	uint64_t n_compressed_bytes, n_decompressed_bytes;
	uint64_t n_bad_features;      /* header sections that could not be read */
	uint64_t n_early;             /* times that too much waited, and some was delivered early */
};

struct perfdata_info {
	bool is_pipe, is_swapped;
	uint32_t n_files;             /* of a folder (perf record --threads); 1: a file */
	uint32_t n_branches_max;      /* of a call stack of branch records; 0 unknown */
	const char *perf_version;     /* "" where unknown */
	const char *command_line;
	uint64_t first_sample_ns, last_sample_ns;  /* SAMPLE_TIME; 0 unknown */
	bool has_wall_clock;          /* CLOCK_DATA: these two name the same moment */
	uint64_t wall_clock_ns, clock_ns;
	struct perfdata_counts counts;
};

/*
 * Opens the file at fd (borrowed until source_close), or the folder of perf record --threads, whose
 * files have the records of one CPU each.  A file is mapped where it can be, else read as a stream.
 * name is for messages.  -EINVAL with e set where it is no perf.data file or nothing in it can be
 * understood.
 *
 * source_next: an error (-EINVAL, -ENOTSUP for compression, -ENOMEM, errno of a read) comes after
 * all records that could be read, names the offset, and comes again at each further call.  Records
 * are in time order within what perf promises (FINISHED_ROUND); record.event is the index below.
 */
int perfdata_open(int fd, const char *name, struct source **ret_source, struct err *e);

/* The events are complete when the source is open. */
size_t perfdata_n_events(const struct source *s);
const struct perfdata_event *perfdata_event(const struct source *s, size_t i);

/* Grow until SOURCE_END; borrowed until the next source_next. */
const struct perfdata_info *perfdata_info(const struct source *s);
const struct perfdata_build_id *perfdata_build_ids(const struct source *s, size_t *ret_n);
const struct perfdata_kernel_map *perfdata_kernel_maps(const struct source *s, size_t *ret_n);

/* The build id of a user file; NULL where the file has none (yet). */
const struct perfdata_build_id *perfdata_build_id_of(const struct source *s, const char *filename);

#endif
