/*
 * perf.data, as records and as an import up to the written profiles.  The first byte selects
 * whether the file is mapped or read as a stream; the rest is the file.
 */
#include "base/err.h"
#include "cprof-import.h"
#include "cprof-losses.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"

#include "fuzzdir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVENTS_MAX 4u

/* Keeps the compiler from removing the reads. */
static volatile uint64_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_bytes(const void *p, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; p && i < n; i++)
		sum += ((const uint8_t *)p)[i];
	return sum;
}

/* Reads everything that a record points to. */
static uint64_t touch(const struct record *r)
{
	const struct record_sample *s = &r->sample;
	switch (r->type) {
	case 1: /* MMAP */
	case 10:
		return strlen(r->mmap.filename);
	case 3: /* COMM */
		return strlen(r->comm.comm);
	case 9: /* SAMPLE */
		return sum_bytes(s->callchain, s->n_callchain * 8) +
		       sum_bytes(s->user_stack, s->n_user_stack_bytes) +
		       sum_bytes(s->user_regs, s->user_regs ? 8 : 0) +
		       sum_bytes(s->branches, s->n_branches * 24) +
		       sum_bytes(s->raw, s->n_raw_bytes);
	default:
		return r->time_ns;
	}
}

/* Reads everything from the source. */
static void read_source(int fd)
{
	struct source *s = NULL;
	struct record r;
	struct err e;
	if (perfdata_open(fd, "fuzz", NULL, &s, &e) < 0)
		return;
	while (source_next(s, &r, &e) == SOURCE_RECORD)
		sink += touch(&r);
	size_t n;
	const struct perfdata_build_id *id = perfdata_build_ids(s, &n);
	for (size_t i = 0; i < n; i++)
		sink += strlen(id[i].filename) + sum_bytes(id[i].bytes, id[i].n_bytes);
	const struct perfdata_info *info = perfdata_info(s);
	sink += strlen(info->perf_version) + strlen(info->command_line);
	for (size_t i = 0; i < perfdata_n_events(s); i++)
		sink += perfdata_event(s, i)->name ? strlen(perfdata_event(s, i)->name) : 0;
	source_close(s);
}

static int add_bytes(void *ctx, const void *data, size_t n_bytes)
{
	(void)ctx;
	sink += sum_bytes(data, n_bytes);
	return 0;
}

/* The whole import, up to the profiles of the first events.  No recorded file is found in the empty
 * folder, so the files of this machine do not matter.  It should be on the file system of "/":
 * otherwise a helper process opens every file. */
static void import(int fd)
{
	fuzzdir_make("/var/tmp");
	struct cprof_import_config config = {
		.path = "-", .symfs = fuzzdir, .max_memory_bytes = 1 << 20,
	};
	struct cprof_importer *m = NULL;
	struct cprof_losses losses;
	struct err e;
	/* perf keeps files below the home folder. */
	if (setenv("HOME", fuzzdir, 1) < 0 || dup2(fd, STDIN_FILENO) < 0)
		abort();
	if (cprof_importer_new(&config, &m, &e) < 0)
		return;
	cprof_importer_run(m, &e);
	for (size_t i = 0; i < cprof_importer_n_events(m) && i < EVENTS_MAX; i++)
		cprof_importer_write(m, i, add_bytes, NULL, &e);
	cprof_importer_losses(m, &losses);
	cprof_importer_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	bool is_stream = data[0] & 1;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	/* A file whose offset is not 0 is read as a stream. */
	size_t from = is_stream ? 0 : 1;
	if (fd < 0 || write(fd, data + from, size - from) != (ssize_t)(size - from) ||
	    lseek(fd, is_stream, SEEK_SET) < 0)
		abort();
	read_source(fd);
	if (lseek(fd, is_stream, SEEK_SET) < 0)
		abort();
	import(fd);
	close(fd);
	return 0;
}
