/*
 * The counterpart of the recorder: a perf.data source instead of the live one, files by build id
 * instead of /proc, and after that the same engine, names and export.
 */

#include "importer/importer.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/log.h"
#include "event/evnames.h"
#include "importer/importreaders.h"
#include "profile/losses.h"
#include "profile/results.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"
#include "symbolize/arch/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FORMAT_LOST (1u << 4)      /* PERF_FORMAT_LOST, Linux 6.0 */

#define MAX_MEMORY_DEFAULT ((size_t)256 << 20)

/* perf's cache of the files that it has recorded, below the home folder. */
#define PERF_CACHE "/.debug"

/* ---- events ------------------------------------------------------------------------ */

/* A name for an event that has none in the file. */
static void make_name(const struct perf_event_attr *attr, struct evspec *s)
{
	const struct evnames_entry *known = evnames_by_config(attr->type, attr->config);
	if (known)
		snprintf(s->name, sizeof(s->name), "%s", known->known.name);
	else if (attr->type == PERF_TYPE_RAW)
		snprintf(s->name, sizeof(s->name), "r%llx", (unsigned long long)attr->config);
	else
		snprintf(s->name, sizeof(s->name), "type-%u-config-0x%llx", attr->type,
			 (unsigned long long)attr->config);
}

static uint32_t find_file_part(const struct cprof_importer *m, const struct hashindex *parts,
			       const char *part)
{
	return HASHINDEX_FIND(parts, hash_bytes(part, strlen(part)), id,
			      strcmp(m->event[id].file_part, part) == 0);
}

/* The file may describe an event twice, with other terms: later ones get "-2", "-3" ...  The first
 * one remembers the next number, so that equal events do not try all numbers again. */
static int set_file_part(struct cprof_importer *m, struct hashindex *parts, uint32_t i)
{
	char part[EVSPEC_NAME_MAX];
	struct importer_event *ev = &m->event[i];
	evspec_file_part(&ev->spec, part);
	snprintf(ev->file_part, sizeof(ev->file_part), "%s", part);
	uint32_t first = find_file_part(m, parts, part);
	if (first != HASHINDEX_NONE) {
		do {
			snprintf(ev->file_part, sizeof(ev->file_part), "%s-%u", part,
				 m->event[first].n_same++ + 2);
		} while (find_file_part(m, parts, ev->file_part) != HASHINDEX_NONE);
	}
	uint64_t hash = hash_bytes(ev->file_part, strlen(ev->file_part));
	return hashindex_add(parts, hash, i) ? 0 : -ENOMEM;
}

static void set_event(const struct perfdata_event *from, struct importer_event *ev)
{
	struct evspec *s = &ev->spec;
	s->type = from->attr.type;
	s->config = from->attr.config;
	s->is_clock = s->type == PERF_TYPE_SOFTWARE && (s->config == PERF_COUNT_SW_CPU_CLOCK ||
							s->config == PERF_COUNT_SW_TASK_CLOCK);
	if (from->name)
		snprintf(s->name, sizeof(s->name), "%s", from->name);
	else
		make_name(&from->attr, s);
	evspec_sample_type(s, ev->sample_type, &ev->unit);
}

static void set_waiting(enum evspec_waiting waiting, struct importer_event *ev)
{
	static const char *const name[] = {
		[EVSPEC_OFF_CPU] = "off-cpu", [EVSPEC_WALL] = "wall",
		[EVSPEC_BLOCK] = "block", [EVSPEC_MUTEX] = "mutex",
	};
	snprintf(ev->spec.name, sizeof(ev->spec.name), "%s", name[waiting]);
	ev->spec.waiting = waiting;
	evspec_sample_type(&ev->spec, ev->sample_type, &ev->unit);
}

static int set_events(struct cprof_importer *m, struct err *e)
{
	CLEANUP(hashindex_done) struct hashindex parts = { 0 };
	m->n_file_events = perfdata_n_events(m->source);
	m->n_events = m->n_file_events + m->waits.n_profiles;
	m->event = calloc(m->n_events, sizeof(*m->event));
	if (!m->event)
		return err_errno(e, ENOMEM, "cannot set up the import");
	for (size_t i = 0; i < m->n_events; i++) {
		if (i < m->n_file_events)
			set_event(perfdata_event(m->source, i), &m->event[i]);
		else
			set_waiting(m->waits.profile[i - m->n_file_events], &m->event[i]);
		if (set_file_part(m, &parts, (uint32_t)i) < 0)
			return err_errno(e, ENOMEM, "cannot set up the import");
	}
	return 0;
}

/* ---- setting up ---------------------------------------------------------------------- */

/* Adds a folder, which is freed with the importer. */
static int add_debug_dir(struct cprof_importer *m, char *path)
{
	if (!path)
		return -ENOMEM;
	m->debug_dir[m->n_debug_dirs++] = path;
	return 0;
}

static char *join_paths(const char *a, const char *b)
{
	char *path = NULL;
	return asprintf(&path, "%s%s", a, b) < 0 ? NULL : path;
}

/* Folders with debug files, after those of the caller: below --symfs, of this machine, of perf. */
static int add_usual_debug_dirs(struct cprof_importer *m)
{
	const char *home = getenv("HOME");
	if (*m->symfs && add_debug_dir(m, join_paths(m->symfs, "/usr/lib/debug")) < 0)
		return -ENOMEM;
	if (add_debug_dir(m, strdup("/usr/lib/debug")) < 0)
		return -ENOMEM;
	return home && home[0] == '/' ? add_debug_dir(m, join_paths(home, PERF_CACHE)) : 0;
}

/* The folders in which files are looked up by build id, by their absolute names. */
static int set_folders(struct cprof_importer *m, struct err *e)
{
	const struct cprof_import_config *c = &m->config;
	m->debug_dir = calloc(c->n_debug_dirs + 4, sizeof(*m->debug_dir));
	m->symfs = c->symfs ? realpath(c->symfs, NULL) : strdup("");
	if (!m->symfs && c->symfs)
		return err_errno(e, errno, "cannot use '%s' (--symfs)", c->symfs);
	if (!m->symfs || !m->debug_dir)
		return err_errno(e, ENOMEM, "cannot set up the import");
	if (strcmp(m->symfs, "/") == 0)
		m->symfs[0] = '\0';
	for (size_t i = 0; i < c->n_debug_dirs; i++) {
		char *path = realpath(c->debug_dir[i], NULL);
		if (!path)
			return err_errno(e, errno, "cannot use '%s' (--debug-dir)",
					 c->debug_dir[i]);
		add_debug_dir(m, path);
	}
	return add_usual_debug_dirs(m) < 0 ? err_errno(e, ENOMEM, "cannot set up the import") : 0;
}

static int open_source(struct cprof_importer *m, struct err *e)
{
	const char *path = m->config.path;
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat st;
	m->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			 : open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0 || fstat(m->fd, &st) < 0)
		return err_errno(e, errno, "cannot read '%s'", path);
	/* A stream has been recorded up to now. */
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		m->modified_ns = (int64_t)st.st_mtim.tv_sec * CLOCK_SECOND_NS + st.st_mtim.tv_nsec;
	else
		m->modified_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	return perfdata_open(m->fd, is_stdin ? "stdin" : path, m->config.maps, &m->source, e);
}

/* The recorded machine's name as in uname -m; "" if nothing reveals it. */
static const char *machine_of(const struct cprof_importer *m)
{
	const char *name = m->source->facts.arch;
	const struct arch *a = arch_of_name(name);
	if (*name)
		return a ? a->name : name;
	for (size_t i = 0; i < perfdata_n_events(m->source) && !a; i++)
		a = arch_of_perf_mask(perfdata_event(m->source, i)->format.sample_regs_user);
	return a ? a->name : "";
}

/* Does the file contain what --call-graph requests? */
static int check_callgraph(const struct cprof_importer *m, struct err *e)
{
	bool has_calls = false, has_regs = false;
	for (size_t i = 0; i < m->n_file_events; i++) {
		const struct record_format *f = &perfdata_event(m->source, i)->format;
		has_calls |= f->sample_type & PERF_SAMPLE_BRANCH_STACK &&
			     f->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
		has_regs |= f->sample_regs_user && f->sample_type & PERF_SAMPLE_STACK_USER;
	}
	bool is_lbr = m->config.callgraph == CPROF_CALLGRAPH_LBR;
	if ((!is_lbr || has_calls) && (m->config.callgraph != CPROF_CALLGRAPH_DWARF || has_regs))
		return 0;
	err_set(e, EINVAL, "'%s' has no %s", m->config.path,
		is_lbr ? "call stacks of branch records (LBR)"
		       : "registers and copies of stacks");
	err_hint(e, "perf record --call-graph %s records them; auto uses what the file has",
		 is_lbr ? "lbr" : "dwarf");
	return -EINVAL;
}

/* Does the file contain what --timeline requests? */
static int check_times(const struct cprof_importer *m, struct err *e)
{
	bool any = false;
	for (size_t i = 0; i < m->n_file_events; i++)
		any |= perfdata_event(m->source, i)->format.sample_type & PERF_SAMPLE_TIME;
	if (any || !m->config.timeline_ns)
		return 0;
	err_set(e, EINVAL, "the samples of '%s' have no times", m->config.path);
	err_hint(e, "perf record -T records them");
	return -EINVAL;
}

static int set_engine(struct cprof_importer *m, struct err *e)
{
	const struct cprof_import_config *c = &m->config;
	struct engine_options o = {
		.max_memory_bytes = c->max_memory_bytes ? c->max_memory_bytes : MAX_MEMORY_DEFAULT,
		.n_events = m->waits.n_events, .waits = m->waits.roles,
		.labels = c->labels_given ? c->labels : SAMPLELABELS_DEFAULT,
		.label = c->label, .n_labels = c->n_labels,
		.timeline = {
			.bucket_ns = c->timeline_ns,
			.since_ns = perfdata_info(m->source)->first_sample_ns,
		},
		.max_stack = perfdata_event(m->source, 0)->attr.sample_max_stack,
		.max_branches = perfdata_info(m->source)->n_branches_max,
		.machine = machine_of(m), .has_locks = c->locks,
		.follow = true,
	};
	int r = engine_init(&m->engine, &o, e);
	if (r < 0)
		return r;
	m->engine_ready = true;
	m->engine.targets.all = true;
	m->engine.procs.mapdso.open_file = importfiles_open;
	m->engine.procs.mapdso.open_ctx = &m->files;
	m->engine.walk.user.debug = (struct symdebug_place){
		.host = &m->host, .dirs = (const char *const *)m->debug_dir,
	};
	/* No record names the idle task. */
	struct record idle = {
		.type = PERF_RECORD_COMM, .event = RECORD_NO_EVENT, .comm.comm = "swapper",
	};
	engine_feed(&m->engine, &idle);
	return 0;
}

static int set_up(struct cprof_importer *m, struct err *e)
{
	int r = host_open(&m->host, NULL, NULL, NULL, e);
	if (r < 0)
		return r;
	m->host_ready = true;
	if ((r = set_folders(m, e)) < 0 || (r = open_source(m, e)) < 0)
		return r;
	m->files = (struct importfiles){
		.source = m->source, .host = &m->host, .log = m->config.log,
		.symfs = m->symfs, .debug_dirs = (const char *const *)m->debug_dir,
		.machine = machine_of(m), .recorded_s = m->modified_ns / 1000000000,
		.absent = &m->absent,
	};
	m->waits = (struct importwaits){
		.files = &m->files, .log = m->config.log, .path = m->config.path,
		.is_swapped = perfdata_info(m->source)->is_swapped, .has_locks = m->config.locks,
	};
	if ((r = importwaits_choose(&m->waits, m->config.waits, m->config.waits_given, e)) < 0 ||
	    (r = set_events(m, e)) < 0)
		return r;
	if ((r = check_callgraph(m, e)) < 0 || (r = check_times(m, e)) < 0)
		return r;
	return set_engine(m, e);
}

int cprof_importer_new(const struct cprof_import_config *config,
		       struct cprof_importer **ret_importer, struct err *e)
{
	struct cprof_importer *m = calloc(1, sizeof(*m));
	if (!m)
		return err_errno(e, ENOMEM, "cannot set up the import");
	m->config = *config;
	m->fd = -1;
	int r = set_up(m, e);
	if (r < 0)
		cprof_importer_free(m);
	else
		*ret_importer = m;
	return r;
}

void cprof_importer_free(struct cprof_importer *m)
{
	if (!m)
		return;
	if (m->names_ready)
		names_done(&m->names);
	if (m->engine_ready)
		engine_done(&m->engine);
	importwaits_done(&m->waits);
	source_close(m->source);
	if (m->fd >= 0)
		close(m->fd);
	if (m->host_ready)
		host_close(&m->host);
	for (size_t i = 0; i < m->n_debug_dirs; i++)
		free(m->debug_dir[i]);
	free(m->debug_dir);
	for (size_t i = 0; i < m->absent.n; i++)
		free(m->absent.path[i]);
	free(m->symfs);
	free(m->kernel_map);
	free(m->event);
	free(m);
}

/* ---- reading records --------------------------------------------------------------------- */

/* No process has this id; UINT32_MAX is an exiting task. */
#define GUEST_TASK (UINT32_MAX - 1)

static bool is_guest(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
}

static void prepare_sample(struct cprof_importer *m, struct record *r, bool counts)
{
	enum cprof_callgraph want = m->config.callgraph;
	if (want != CPROF_CALLGRAPH_AUTO && want != CPROF_CALLGRAPH_DWARF)
		r->sample.user_regs_mask = 0;
	if (want != CPROF_CALLGRAPH_AUTO && want != CPROF_CALLGRAPH_LBR)
		r->sample.n_branches = 0;
	if (want == CPROF_CALLGRAPH_NONE)
		r->sample.n_callchain = 0;
	if (is_guest(r->misc)) {
		/* Addresses of another machine must not be looked up in this one's files: use a
		 * process that has no files. */
		m->n_guests += counts;
		r->pid = r->tid = GUEST_TASK;
		r->sample.n_callchain = r->sample.n_branches = 0;
		r->sample.user_regs_mask = 0;
	}
}

/* In misc of a LOST_SAMPLES record of perf: samples that a BPF filter left out, as requested
 * (tools/lib/perf/include/perf/event.h, Linux 6.3). */
#define MISC_LOST_SAMPLES_BPF (1u << 15)

static bool is_filtered(const struct record *r)
{
	return r->type == PERF_RECORD_LOST_SAMPLES && r->misc & MISC_LOST_SAMPLES_BPF;
}

/*
 * LOST_SAMPLES has two meanings:
 *
 * - The kernel writes it for samples that the PMU lost in its own buffer.
 * - perf writes it at the end of a file for an event's counter of records lost in its ring
 *   (PERF_FORMAT_LOST, Linux 6.0, perf 6.1).  Such a record has the time 0.
 */
static void note_lost(struct cprof_importer *m, const struct record *r)
{
	struct importer_event *ev = &m->event[r->event];
	const struct record_format *f = &perfdata_event(m->source, r->event)->format;
	bool is_counter = f->read_format & FORMAT_LOST && r->time_ns == 0;
	if (r->type == PERF_RECORD_LOST)
		ev->n_lost_in_ring += r->lost.n_lost;
	else if (is_counter)
		ev->n_lost_counted += r->lost.n_lost;
	else
		ev->n_lost_by_pmu += r->lost.n_lost;
}

/* Times begin with the first sample, which a stream does not announce. */
static void begin_timeline(struct cprof_importer *m, const struct record *r)
{
	struct timelabel *t = &m->engine.options.timeline;
	if (t->bucket_ns && !t->since_ns)
		t->since_ns = r->time_ns;
}

bool importer_prepare(struct cprof_importer *m, struct record *r, bool counts)
{
	bool is_loss = r->type == PERF_RECORD_LOST || r->type == PERF_RECORD_LOST_SAMPLES;
	if (is_filtered(r))
		return false;
	if (r->type == PERF_RECORD_SAMPLE) {
		begin_timeline(m, r);
		prepare_sample(m, r, counts);
	} else if (is_loss && counts && r->event < m->n_file_events)
		note_lost(m, r);
	return true;
}

static void feed_record(struct cprof_importer *m, struct record *r)
{
	if (!importer_prepare(m, r, true))
		return;
	if (!importwaits_feed(&m->waits, &m->engine, r))
		engine_feed(&m->engine, r);
}

/* How many samples of an event were read. */
static uint64_t n_read(const struct cprof_importer *m, size_t i)
{
	return importwaits_has_used(&m->waits, i) ? m->waits.n_switches
						  : m->engine.event[i].n_samples;
}

/* A lost switch changes no length of a wait: its stack is unknown, and is shown as such. */
static void add_lost_waits(struct cprof_importer *m, uint64_t n)
{
	for (size_t i = m->n_file_events; i < m->n_events; i++)
		m->engine.event[i].n_lost += n;
}

/* The counters of the events replace the LOST records, which report the same losses, summed over
 * the events that share a ring.  Losses of the PMU are added to either. */
static void add_lost(struct cprof_importer *m)
{
	bool is_counted = false;
	size_t most = 0;
	for (size_t i = 1; i < m->n_file_events; i++)
		if (n_read(m, i) > n_read(m, most))
			most = i;
	/* The ring may belong to an event without samples (a dummy, for mappings and names). */
	for (size_t i = 0; i < m->n_file_events; i++) {
		if (n_read(m, i))
			continue;
		struct importer_event none = m->event[i];
		m->event[i].n_lost_in_ring = m->event[i].n_lost_counted = 0;
		m->event[i].n_lost_by_pmu = 0;
		m->event[most].n_lost_in_ring += none.n_lost_in_ring;
		m->event[most].n_lost_counted += none.n_lost_counted;
		m->event[most].n_lost_by_pmu += none.n_lost_by_pmu;
	}
	for (size_t i = 0; i < m->n_file_events; i++)
		is_counted |= m->event[i].n_lost_counted != 0;
	for (size_t i = 0; i < m->n_file_events; i++) {
		const struct engine_event *ev = &m->engine.event[i];
		const struct importer_event *ie = &m->event[i];
		uint64_t n = ie->n_lost_by_pmu +
			     (is_counted ? ie->n_lost_counted : ie->n_lost_in_ring);
		if (n && importwaits_has_used(&m->waits, i))
			add_lost_waits(m, n);
		else if (n)
			engine_add_lost(&m->engine, (uint32_t)i, n,
					n * (ev->n_samples ? ev->value / ev->n_samples : 0));
	}
}

static int read_records(struct cprof_importer *m, struct err *e)
{
	struct record record;
	uint32_t n = importreaders_choose(m);
	int r = n > 1 ? importreaders_run(m, n, e) : -EAGAIN;
	if (r != -EAGAIN)
		return r;
	while ((r = source_next(m->source, &record, e)) == SOURCE_RECORD)
		feed_record(m, &record);
	return r;
}

int cprof_importer_run(struct cprof_importer *m, struct err *e)
{
	struct err unused;
	int r = read_records(m, e);
	m->done = true;
	if (r >= 0)
		r = importwaits_end(&m->waits, &m->engine, e);
	else
		importwaits_end(&m->waits, &m->engine, &unused);
	add_lost(m);
	importfiles_recheck(&m->files, &m->engine.dsos);
	importfiles_check_kernel(&m->files);
	m->source->facts.running_kernel = m->files.running_kernel;
	return r < 0 ? r : 0;
}

/* ---- results -------------------------------------------------------------------- */

size_t cprof_importer_n_events(const struct cprof_importer *m)
{
	return m->n_events;
}

static void wait_stats(const struct cprof_importer *m, size_t i, struct cprof_event_stats *ret)
{
	const struct engine_event *ev = &m->engine.event[i];
	const struct importer_event *ie = &m->event[i];
	*ret = (struct cprof_event_stats){
		.name = ie->spec.name, .file_part = ie->file_part,
		.sample_type = ie->sample_type, .unit = ie->unit, .unit_each = 1,
		.is_waiting = true,
		.period = 1, .n_samples = ev->n_samples, .value = ev->value,
		.n_lost = ev->n_samples ? ev->n_lost : 0,
		.n_lost_target = ev->n_samples ? ev->n_lost : 0, .no_stack_ns = ev->no_stack_ns,
		.torn_ns = ev->torn_ns,
	};
}

void cprof_importer_event_stats(struct cprof_importer *m, size_t i, struct cprof_event_stats *ret)
{
	if (i >= m->n_file_events) {
		wait_stats(m, i, ret);
		return;
	}
	const struct perf_event_attr *attr = &perfdata_event(m->source, i)->attr;
	const struct engine_event *ev = &m->engine.event[i];
	const struct importer_event *ie = &m->event[i];
	bool is_shown = !importwaits_has_used(&m->waits, i);
	*ret = (struct cprof_event_stats){
		.name = ie->spec.name, .file_part = ie->file_part,
		.sample_type = ie->sample_type, .unit = ie->unit,
		.is_clock = ie->spec.is_clock, .unit_each = 1,
		.freq_hz = attr->freq ? attr->sample_freq : 0,
		.period = attr->freq ? 0 : attr->sample_period,
		.n_samples = is_shown ? ev->n_samples : 0, .value = is_shown ? ev->value : 0,
		.n_lost = ev->n_lost, .n_lost_shown = ev->n_lost, .n_lost_target = ev->n_lost,
		.n_throttles = ev->n_throttles,
	};
}

/* A longer duration means damage: 292 years. */
#define DURATION_NS_MAX ((uint64_t)INT64_MAX)

static uint64_t duration_ns(const struct cprof_importer *m)
{
	const struct perfdata_info *info = perfdata_info(m->source);
	uint64_t first = info->first_sample_ns, last = info->last_sample_ns;
	if (first >= last) {
		first = m->engine.window.first_ns;
		last = m->engine.window.last_ns;
	}
	return last > first && last - first < DURATION_NS_MAX ? last - first : 0;
}

/* If the file does not have the wall clock, its last change was the end of the recording. */
static int64_t start_realtime_ns(const struct cprof_importer *m)
{
	const struct perfdata_info *info = perfdata_info(m->source);
	uint64_t first = info->first_sample_ns ? info->first_sample_ns : m->engine.window.first_ns;
	if (info->has_wall_clock && first)
		return (int64_t)(info->wall_clock_ns + first - info->clock_ns);
	return m->modified_ns - (int64_t)duration_ns(m);
}

static bool unwinds(const struct cprof_importer *m)
{
	return m->config.callgraph == CPROF_CALLGRAPH_AUTO ||
	       m->config.callgraph == CPROF_CALLGRAPH_DWARF;
}

void cprof_importer_stats(struct cprof_importer *m, struct cprof_stats *ret)
{
	bool is_inherited = false, is_command = false;
	*ret = (struct cprof_stats){
		.start_realtime_ns = start_realtime_ns(m), .duration_ns = duration_ns(m),
		.user_only = true,
	};
	for (size_t i = 0; i < m->n_file_events; i++) {
		const struct perf_event_attr *attr = &perfdata_event(m->source, i)->attr;
		is_inherited |= attr->inherit;
		is_command |= attr->enable_on_exec;
		ret->user_only &= attr->exclude_kernel;
		if (attr->sample_type & PERF_SAMPLE_STACK_USER && unwinds(m))
			ret->stack_bytes = attr->sample_stack_user;
	}
	/* Files of perf record -p and -a may look alike: both have inherited events. */
	ret->scope = is_command ? CPROF_SCOPE_TASK :
		     is_inherited ? CPROF_SCOPE_AUTO : CPROF_SCOPE_CPU;
	results_stats(&m->engine, m->source, m->names_ready ? &m->names : NULL, ret);
}

void cprof_importer_import_stats(struct cprof_importer *m, struct cprof_import_stats *ret)
{
	const struct perfdata_info *info = perfdata_info(m->source);
	const struct source_facts *facts = &m->source->facts;
	const struct perfdata_counts *n = &info->counts;
	*ret = (struct cprof_import_stats){
		.perf_version = info->perf_version, .hostname = facts->hostname,
		.kernel_release = facts->kernel_release, .machine = machine_of(m),
		.is_pipe = info->is_pipe, .is_swapped = info->is_swapped,
		.is_running_kernel = m->files.running_kernel,
		.n_records = n->n_records, .n_other_records = n->n_skipped,
		.n_unknown_records = n->n_unknown, .n_newer_attrs = n->n_newer_attrs,
		.n_unknown_features = n->n_unknown_features, .n_recorded_files = info->n_files,
		.n_foreign_ids = n->n_foreign_ids, .n_aux_bytes = n->n_aux_bytes,
		.n_tracing_bytes = n->n_tracing_bytes, .n_bad_features = n->n_bad_features,
		.n_guests = m->n_guests,
		.n_files = m->files.n_opened, .n_files_proven = m->files.n_proven,
		.n_files_missing = m->files.n_missing, .n_files_wrong = m->files.n_wrong,
		.absent = (const char *const *)m->absent.path, .n_absent = m->absent.n,
		.why_not_kernel = m->files.why_not_kernel,
	};
}

void cprof_importer_losses(struct cprof_importer *m, struct cprof_losses *ret)
{
	struct cprof_import_stats import;
	struct cprof_event_stats ev;
	cprof_importer_import_stats(m, &import);
	losses_collect(&(struct losses_from){
		.engine = &m->engine, .source = m->source,
		.names = m->names_ready ? &m->names : NULL, .import = &import,
	}, ret);
	for (size_t i = 0; i < m->n_events; i++) {
		cprof_importer_event_stats(m, i, &ev);
		losses_add_event(ret, &ev);
	}
}

bool cprof_importer_stack_ends(struct cprof_importer *m, size_t i, struct cprof_stack_ends *ret)
{
	return results_stack_ends(&m->engine, i, ret);
}

/* ---- writing ------------------------------------------------------------------------------ */

static int look_up_names(struct cprof_importer *m, struct err *e)
{
	if (m->names_ready)
		return 0;
	struct names_options o = {
		.symbols = { .host = &m->host, .log = m->config.log,
			     .demangle = (uint8_t)m->config.naming.demangle,
			     .only_addresses = m->config.naming.no_symbols,
			     .debug_dirs = (const char *const *)m->debug_dir,
			     .timeout_ns = m->config.symbol_timeout_ns },
		.naming = &m->config.naming,
		.running_kernel = m->files.running_kernel,
		.kernel_release = m->source->facts.kernel_release,
		.cache_dir = m->config.cache_dir,
	};
	if (!m->kernel_map &&
	    importfiles_kernel_maps(&m->files, &m->kernel_map, &o.n_kernel_maps) < 0)
		return err_errno(e, ENOMEM, "cannot look up names");
	o.kernel_map = m->kernel_map;
	int r = names_resolve(&m->engine, &o, &m->names, e);
	m->names_ready = r == 0;
	return r;
}

static unsigned optional_labels(const struct cprof_import_config *c)
{
	unsigned bits = c->labels_given ? 0 : SAMPLELABELS_OPTIONAL;
	for (unsigned bit = 1; bit <= SAMPLELABEL_CGROUP; bit <<= 1) {
		size_t n = strlen(samplelabels_key(bit));
		for (size_t i = 0; i < c->n_labels; i++)
			if (strncmp(c->label[i], samplelabels_key(bit), n) == 0 &&
			    c->label[i][n] == '=')
				bits &= ~bit;
	}
	return bits;
}

/* Where the profile comes from, to be freed; NULL: no memory. */
static char *origin_of(const struct cprof_importer *m)
{
	const struct perfdata_info *info = perfdata_info(m->source);
	char *text = NULL;
	bool is_stdin = strcmp(m->config.path, "-") == 0;
	if (asprintf(&text, "imported: %s%s%s%s%s",
		     is_stdin ? "a stream of perf record" : m->config.path,
		     *info->perf_version ? ", perf " : "", info->perf_version,
		     info->is_swapped ? ", other byte order" : "",
		     m->config.callgraph == CPROF_CALLGRAPH_NONE ? ", without call chains"
								 : "") < 0)
		return NULL;
	return text;
}

int cprof_importer_write(struct cprof_importer *m, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e)
{
	int r = look_up_names(m, e);
	if (r < 0)
		return r;
	const struct perfdata_info *info = perfdata_info(m->source);
	uint64_t since_ns = m->engine.options.timeline.since_ns;
	struct cprof_config as_recorded = {
		.command_line = *info->command_line ? info->command_line : NULL,
	};
	struct cprof_stats stats;
	struct cprof_event_stats ev;
	cprof_importer_stats(m, &stats);
	cprof_importer_event_stats(m, event, &ev);
	CLEANUP_FREE char *origin = origin_of(m);
	if (!origin)
		return err_errno(e, ENOMEM, "cannot write the profile");
	struct results_profile p = {
		.engine = &m->engine, .names = &m->names, .event = (uint32_t)event,
		.config = &as_recorded, .source = m->source, .stats = &stats, .ev = &ev,
		.period = ev.period ? ev.period : ev.n_samples ? ev.value / ev.n_samples : 1,
		.coverage_percent = -1, .count_type = evspec_count_type(&m->event[event].spec),
		.optional_labels = optional_labels(&m->config), .origin = origin,
		.start_ns = since_ns, .end_ns = since_ns + stats.duration_ns,
	};
	return results_write(&p, write, ctx, e);
}
