#include "cmd/serve/request.h"

#include "base/err.h"
#include "base/units.h"
#include "cprof-events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_DEFAULT_NS (30 * UINT64_C(1000000000))
#define WINDOW_MIN_NS 1000000u

#define PREFIX "/debug/pprof/"

/* Paths that are not events.  Go's programs have all of them. */
static const struct {
	const char *name;
	enum request_kind kind;
	enum request_what what;
	const char *event;
} paths[] = {
	{ "profile", REQUEST_PROFILE, REQUEST_EVENT, "" },
	{ "block", REQUEST_PROFILE, REQUEST_EVENT, "block" },
	{ "mutex", REQUEST_PROFILE, REQUEST_EVENT, "mutex" },
	{ "allocs", REQUEST_PROFILE, REQUEST_ALLOC, "" },
	{ "heap", REQUEST_PROFILE, REQUEST_HEAP, "" },
	{ "goroutine", REQUEST_SNAPSHOT, REQUEST_GOROUTINES, "" },
	{ "threads", REQUEST_SNAPSHOT, REQUEST_THREADS, "" },
};

/* The names of events in Go's proposal for PMU profiles. */
static const struct { const char *name, *event; } go_events[] = {
	{ "timer", "cpu-clock" }, { "cacheMisses", "cache-misses" },
	{ "cacheReferences", "cache-references" }, { "branchMisses", "branch-misses" },
};

static bool is_word(const char *words, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = words; (p = strstr(p, name)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

/* Is it an event with a name of its own?  Those of PMUs and raw ones are for ?event=. */
static bool is_event(const char *name)
{
	struct cprof_event ev;
	for (size_t i = 0; cprof_event_at(i, &ev); i++)
		if (strcmp(name, ev.name) == 0 || is_word(ev.aliases, name))
			return true;
	return false;
}

/* An event as the last part of the path, for clients that tell profiles apart by their path:
 * cache_misses is cache-misses. */
static bool take_event_path(const char *name, struct request *r)
{
	size_t n = strlen(name);
	if (n == 0 || n >= sizeof(r->event) || strchr(name, ' '))
		return false;
	for (size_t i = 0; i <= n; i++)
		r->event[i] = name[i] == '_' ? '-' : name[i];
	return is_event(r->event);
}

static int find_path(const char *path, struct request *r, struct err *e)
{
	const char *name = path + strlen(PREFIX);
	if (strcmp(path, "/") == 0 || strcmp(path, PREFIX) == 0 ||
	    strcmp(path, "/debug/pprof") == 0)
		return 0;
	if (strcmp(path, "/metrics") == 0 || strcmp(path, "/-/healthy") == 0) {
		r->kind = path[1] == 'm' ? REQUEST_METRICS : REQUEST_HEALTHY;
		return 0;
	}
	if (strncmp(path, PREFIX, strlen(PREFIX)) != 0)
		goto missing;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (strcmp(name, paths[i].name) != 0)
			continue;
		r->kind = paths[i].kind;
		r->what = paths[i].what;
		snprintf(r->event, sizeof(r->event), "%s", paths[i].event);
		return 0;
	}
	r->kind = REQUEST_PROFILE;
	if (take_event_path(name, r))
		return 0;
missing:
	err_set(e, ENOENT, "there is no '%.200s'", path);
	err_hint(e, "the profiles are listed at " PREFIX);
	return 404;
}

/* ---- parameters ---------------------------------------------------------------------- */

static int refuse(struct err *e, const char *key, const char *value, const char *want)
{
	err_usage(e, "%s=%.200s: %s", key, value, want);
	return 400;
}

static int take_seconds(struct request *r, const char *key, const char *value, uint64_t max_ns,
			struct err *e)
{
	char want[96], longest[UNITS_TEXT_MAX];
	/* "5", as Go has it, and all times of cprof's options. */
	if (units_parse_duration(value, &r->window_ns) == 0 && r->window_ns >= WINDOW_MIN_NS &&
	    r->window_ns <= max_ns)
		return 0;
	snprintf(want, sizeof(want), "give seconds, from 0.001 to %s",
		 units_duration_text(max_ns, longest));
	return refuse(e, key, value, want);
}

static int take_event(struct request *r, const char *value, struct err *e)
{
	if (r->what != REQUEST_EVENT || r->event[0])
		return refuse(e, "event", value, "this path has an event of its own");
	if (!*value || strlen(value) >= sizeof(r->event))
		return refuse(e, "event", value, "this is not an event; see cprof list");
	for (size_t i = 0; i < sizeof(go_events) / sizeof(*go_events); i++)
		if (strcmp(value, go_events[i].name) == 0)
			value = go_events[i].event;
	snprintf(r->event, sizeof(r->event), "%s", value);
	return 0;
}

static int take_rate(struct request *r, const char *key, const char *value, bool is_period,
		     struct err *e)
{
	if (r->rate[0])
		return refuse(e, key, value, "hz and period cannot be combined");
	if (!*value || strlen(value) >= sizeof(r->rate) ||
	    strspn(value, "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") !=
	    strlen(value))
		return refuse(e, key, value, is_period ? "give a number of events or a time" :
			      "give a number of samples per second");
	snprintf(r->rate, sizeof(r->rate), "%s", value);
	r->is_period = is_period;
	return 0;
}

static int take_target(struct request *r, enum request_target target, const char *key,
		       const char *value, struct err *e)
{
	uint64_t pid;
	if (r->target != REQUEST_DEFAULT)
		return refuse(e, key, value, "pid, comm and cgroup cannot be combined");
	if (!*value || strlen(value) >= sizeof(r->target_text))
		return refuse(e, key, value, "this names no process");
	if (target == REQUEST_PID && (*value < '0' || *value > '9' ||
				      units_parse_u64(value, &pid) < 0 || pid == 0 ||
				      pid > INT32_MAX))
		return refuse(e, key, value, "this is not the id of a process");
	if (target == REQUEST_CGROUP && strstr(value, ".."))
		return refuse(e, key, value, "give the path of a cgroup, without '..'");
	r->target = target;
	snprintf(r->target_text, sizeof(r->target_text), "%s", value);
	return 0;
}

static int take_argument(struct request *r, const struct request_argument *a, uint64_t max_ns,
			 struct err *e)
{
	const char *key = a->key, *value = a->value ? a->value : "";
	bool is_profile = r->kind == REQUEST_PROFILE;
	if (is_profile && (strcmp(key, "seconds") == 0 || strcmp(key, "duration") == 0))
		return take_seconds(r, key, value, max_ns, e);
	if (is_profile && strcmp(key, "event") == 0)
		return take_event(r, value, e);
	if (is_profile && (strcmp(key, "hz") == 0 || strcmp(key, "period") == 0))
		return take_rate(r, key, value, *key == 'p', e);
	if (strcmp(key, "pid") == 0)
		return take_target(r, REQUEST_PID, key, value, e);
	if (strcmp(key, "comm") == 0)
		return take_target(r, REQUEST_COMM, key, value, e);
	if (strcmp(key, "cgroup") == 0)
		return take_target(r, REQUEST_CGROUP, key, value, e);
	if (strcmp(key, "debug") == 0 && strlen(value) == 1 && *value >= '0' && *value <= '2' &&
	    (*value == '0' || r->what == REQUEST_GOROUTINES)) {
		r->debug = (unsigned)(*value - '0');
		return 0;
	}
	return refuse(e, key, value, "this profile has no such parameter");
}

int request_parse(const char *path, const struct request_argument *arg, size_t n_args,
		  uint64_t window_max_ns, struct request *ret, struct err *e)
{
	*ret = (struct request){ .window_ns = WINDOW_DEFAULT_NS };
	int status = find_path(path, ret, e);
	if (status || (ret->kind != REQUEST_PROFILE && ret->kind != REQUEST_SNAPSHOT))
		return status;
	if (ret->window_ns > window_max_ns)
		ret->window_ns = window_max_ns;
	for (size_t i = 0; i < n_args && !status; i++) {
		for (size_t k = 0; k < i; k++)
			if (strcmp(arg[k].key, arg[i].key) == 0)
				return refuse(e, arg[i].key, arg[i].value ? arg[i].value : "",
					      "given twice");
		status = take_argument(ret, &arg[i], window_max_ns, e);
	}
	return status;
}
