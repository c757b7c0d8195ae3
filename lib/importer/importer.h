#ifndef CPROF_IMPORTER_IMPORTER_H
#define CPROF_IMPORTER_IMPORTER_H

/* The fields of an importer; its functions are in cprof-import.h. */

#include "base/host.h"
#include "cprof-import.h"
#include "event/evspec.h"
#include "engine/engine.h"
#include "importer/importfiles.h"
#include "importer/importwaits.h"
#include "profile/names.h"

struct importer_event {
	struct evspec spec;              /* only name, type, config and waiting are used */
	char sample_type[EVSPEC_NAME_MAX];
	char file_part[EVSPEC_NAME_MAX + 12];
	const char *unit;
	unsigned n_same;                 /* later events with the same file_part */
	uint64_t n_lost_in_ring;         /* by LOST records; any event that shares the ring */
	uint64_t n_lost_counted;         /* the kernel's counter of this event, which perf wrote */
	uint64_t n_lost_by_pmu;          /* in the PMU's own buffer */
};

struct cprof_importer {
	struct cprof_import_config config;
	struct host host;
	int fd;
	char *symfs;
	char **debug_dir;                /* NULL-terminated */
	size_t n_debug_dirs;
	struct source *source;
	struct importer_event *event;
	size_t n_events, n_file_events;  /* after those of the file come profiles of waits */
	struct importfiles files;
	struct importfiles_absent absent;
	struct importwaits waits;
	struct engine engine;
	struct names names;
	struct names_kernel_map *kernel_map;
	uint64_t n_guests;
	int64_t modified_ns;             /* CLOCK_REALTIME of the file's last change */
	bool host_ready, engine_ready, names_ready, done;
};

/* Takes what is not an engine's matter out of a record.  False: it is of no use.  counts: notes its
 * losses, and whether it is a guest's; of several readers, one does. */
bool importer_prepare(struct cprof_importer *m, struct record *r, bool counts);

#endif
