/* What an event is, and what it is called in files; the grammar is in evparse.c. */
#include "event/evspec.h"

#include "base/units.h"
#include "event/evnames.h"
#include "event/evusdt.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *evspec_rate_problem(const char *text, bool is_freq, enum evspec_rate *ret_kind,
				uint64_t *ret_rate)
{
	if (is_freq && strcmp(text, "max") == 0) {
		*ret_kind = EVSPEC_RATE_FREQ_MAX;
		*ret_rate = 0;
		return NULL;
	}
	uint64_t rate;
	int r = units_parse_u64(text, &rate);
	if (r == -EINVAL)
		return is_freq ? "neither a whole number of hertz nor 'max'" : "not a whole number";
	/* The kernel refuses periods with bit 63 set, and frequencies far below that. */
	if (r < 0 || rate >> 63)
		return "too large (the kernel takes less than 2^63)";
	if (rate == 0)
		return "must be at least 1";
	*ret_kind = is_freq ? EVSPEC_RATE_FREQ : EVSPEC_RATE_PERIOD;
	*ret_rate = rate;
	return NULL;
}

const char *evspec_time_problem(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;
	if (units_parse_duration(text, &ns) < 0)
		return "not a time, as in '1ms'";
	if (ns == 0)
		return "must be at least 1ns";
	*ret_ns = ns;
	return NULL;
}

void evspec_done(struct evspec *s)
{
	free(s->cpus);
	free(s->path);
	evusdt_free(s->usdt);
	s->cpus = s->path = NULL;
	s->usdt = NULL;
}

void evspec_list_done(struct evspec_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		evspec_done(&l->v[i]);
	free(l->v);
	*l = (struct evspec_list){ 0 };
}

bool evspec_in_kernel(const struct evspec *s)
{
	return s->kind == EVSPEC_TRACEPOINT ||
	       (s->type == PERF_TYPE_SOFTWARE && (s->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
						  s->config == PERF_COUNT_SW_CPU_MIGRATIONS));
}

bool evspec_is_mark(const struct evspec *s)
{
	return s->kind != EVSPEC_COUNTER;
}

bool evspec_use_bytes(struct evspec *s)
{
	bool is_fault = s->type == PERF_TYPE_SOFTWARE && !s->waiting &&
			(s->config == PERF_COUNT_SW_PAGE_FAULTS ||
			 s->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
			 s->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	if (is_fault)
		s->bytes_each = (uint64_t)sysconf(_SC_PAGESIZE);
	return is_fault;
}

uint64_t evspec_default_period(const struct evspec *s)
{
	if (evspec_is_mark(s))
		return 1;
	if (s->bytes_each)
		return 101;  /* prime, too; programs that grow have many */
	if (s->type != PERF_TYPE_SOFTWARE || s->is_clock)
		return 0;
	switch (s->config) {
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return 11;  /* prime: see cprof-events.7 on beats */
	default:
		return 1;
	}
}

bool evspec_is_member(const struct evspec_list *l, size_t i)
{
	return l->v[i].group_sample && i && l->v[i - 1].group == l->v[i].group;
}

const struct evspec_known *evspec_known(size_t i)
{
	const struct evnames_entry *entry = evnames_at(i);
	return entry ? &entry->known : NULL;
}

/* The length of the name without modifiers and without slashes at its end ("cpu/event=1/"). */
static size_t plain_bytes(const struct evspec *s)
{
	size_t n = s->n_plain;
	if (!n && s->type == PERF_TYPE_TRACEPOINT)
		n = strlen(s->name);
	else if (!n)
		n = strcspn(s->name, ":");
	while (n > 1 && s->name[n - 1] == '/')
		n--;
	return n;
}

void evspec_use_records(struct evspec *s)
{
	s->config = PERF_COUNT_SW_DUMMY;
	s->only_user = true;
}

/* As Go, Parca and Pyroscope name them; NULL: "samples". */
static const struct { const char *type, *count; } waiting_type[] = {
	[EVSPEC_OFF_CPU] = { "off_cpu", "switches" },
	[EVSPEC_WALL] = { "wall", NULL },
	[EVSPEC_BLOCK] = { "delay", "contentions" },
	[EVSPEC_MUTEX] = { "delay", "contentions" },
};

const char *evspec_count_type(const struct evspec *s)
{
	return waiting_type[s->waiting].count;
}

void evspec_sample_type(const struct evspec *s, char ret_type[EVSPEC_NAME_MAX],
			const char **ret_unit)
{
	if (s->waiting) {
		snprintf(ret_type, EVSPEC_NAME_MAX, "%s", waiting_type[s->waiting].type);
		*ret_unit = "nanoseconds";
		return;
	}
	if (s->is_clock) {
		snprintf(ret_type, EVSPEC_NAME_MAX, "cpu");
		*ret_unit = "nanoseconds";
		return;
	}
	size_t n = plain_bytes(s);
	for (size_t i = 0; i < n; i++)
		ret_type[i] = isalnum((unsigned char)s->name[i])
			? (char)tolower((unsigned char)s->name[i]) : '_';
	ret_type[n] = '\0';
	*ret_unit = s->bytes_each ? "bytes" : s->usdt && s->usdt->unit ? s->usdt->unit : "count";
}

void evspec_file_part(const struct evspec *s, char ret_part[EVSPEC_NAME_MAX])
{
	size_t n = 0;
	for (size_t i = 0; s->name[i]; i++)
		ret_part[n++] = isalnum((unsigned char)s->name[i]) || strchr("_.-", s->name[i])
			? s->name[i] : '-';
	/* "cpu/event=1/" needs no mark at its end. */
	while (n > 1 && s->name[n - 1] == '/')
		n--;
	ret_part[n] = '\0';
}
