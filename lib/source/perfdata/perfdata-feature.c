/*
 * Descriptions of the machine and the events: sections after the data in a file, records of their
 * own in a stream, with the same contents.  A string is a 32-bit length and that many bytes, padded
 * with zeros.
 */

#include "source/perfdata/perfdata-private.h"
#include "source/perfdata/perfdata-tracing.h"

#include "base/cleanup.h"
#include "source/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t get_u32(const struct perfdata *p, struct bytes *b)
{
	return perfdata_u32(p, bytes_u32(b));
}

static uint64_t get_u64(const struct perfdata *p, struct bytes *b)
{
	return perfdata_u64(p, bytes_u64(b));
}

/* A string, borrowed; "" and bad if it has no end. */
static const char *get_string(const struct perfdata *p, struct bytes *b)
{
	uint32_t n = get_u32(p, b);
	const char *s = bytes_take(b, n);
	if (!s || !memchr(s, '\0', n)) {
		b->bad = true;
		return "";
	}
	return s;
}

static bool copy_string(const struct perfdata *p, struct bytes *b, char *to, size_t n_to)
{
	const char *s = get_string(p, b);
	if (b->bad)
		return false;
	snprintf(to, n_to, "%s", s);
	return true;
}

static bool keep_string(const struct perfdata *p, struct bytes *b, char **to)
{
	const char *s = get_string(p, b);
	if (b->bad)
		return false;
	free(*to);
	*to = strdup(s);
	return true;
}

/* The words of the command, separated by blanks. */
static bool read_command(struct perfdata *p, struct bytes *b)
{
	uint32_t n = get_u32(p, b);
	size_t n_text = 0;
	CLEANUP_FREE char *text = calloc(bytes_left(b) + 1, 1);
	for (uint32_t i = 0; i < n && !b->bad && text; i++) {
		const char *s = get_string(p, b);
		if (i > 0 && !b->bad)
			text[n_text++] = ' ';
		memcpy(text + n_text, s, strlen(s));
		n_text += strlen(s);
	}
	if (b->bad || !text)
		return false;
	free(p->command_line);
	p->command_line = TAKE_PTR(text);
	return true;
}

static bool set_name(struct perfdata_event *ev, const char *name)
{
	char *copy = strdup(name);
	if (!copy)
		return false;
	free((char *)ev->name);
	ev->name = copy;
	return true;
}

int perfdata_name_event(struct perfdata *p, uint64_t id, const char *name)
{
	uint32_t event = perfdata_event_of_id(p, id);
	if (event >= p->events.n || !*name)
		return 0;
	return set_name(&p->events.v[event], name) ? 0 : -ENOMEM;
}

/* EVENT_DESC: the attrs again, in the same order, each with its name and ids. */
static bool read_event_desc(struct perfdata *p, struct bytes *b)
{
	uint32_t n = get_u32(p, b), attr_bytes = get_u32(p, b);
	for (uint32_t i = 0; i < n && !b->bad; i++) {
		bytes_take(b, attr_bytes);
		uint32_t n_ids = get_u32(p, b);
		const char *name = get_string(p, b);
		uint64_t first = 0;
		for (uint32_t k = 0; k < n_ids && !b->bad; k++) {
			uint64_t id = get_u64(p, b);
			first = k == 0 ? id : first;
		}
		if (b->bad)
			break;
		uint32_t event = n_ids ? perfdata_event_of_id(p, first) : RECORD_NO_EVENT;
		if (event == RECORD_NO_EVENT)
			event = i;
		if (event < p->events.n && !set_name(&p->events.v[event], name))
			return false;
	}
	return !b->bad;
}

bool perfdata_add_build_id(struct perfdata *p, uint16_t misc, struct bytes b)
{
	get_u32(p, &b);  /* the pid: -1, or a guest's */
	const uint8_t *id = bytes_take(&b, 24);
	const char *filename = bytes_cstr(&b);
	if (b.bad || !*filename)
		return false;
	/* PERF_RECORD_MISC_BUILD_ID_SIZE, since perf 5.11; before that ids had 20 bytes */
	size_t n = misc & (1u << 15) ? id[20] : 20;
	unsigned mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (n > 20)
		return false;
	/* md5 and uuid ids are padded with zeros */
	while (!(misc & (1u << 15)) && n > 16 && !id[n - 1])
		n--;
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER || !n)
		return true;
	struct perfdata_build_id entry = {
		.filename = strdup(filename), .n_bytes = (uint8_t)n,
		.is_kernel = mode == PERF_RECORD_MISC_KERNEL,
	};
	memcpy(entry.bytes, id, n);
	if (entry.filename && VEC_PUSH(&p->build_ids, entry))
		return true;
	free((char *)entry.filename);
	return false;
}

static bool read_build_ids(struct perfdata *p, struct bytes *b)
{
	while (bytes_left(b)) {
		struct perf_event_header h = { 0 };
		const void *at = bytes_take(b, sizeof(h));
		if (!at)
			return false;
		memcpy(&h, at, sizeof(h));
		size_t size = perfdata_u16(p, h.size);
		const void *rest = size > sizeof(h) ? bytes_take(b, size - sizeof(h)) : NULL;
		if (!rest || !perfdata_add_build_id(p, perfdata_u16(p, h.misc),
						    bytes_of(rest, size - sizeof(h))))
			return false;
	}
	return true;
}

static bool read_clock_data(struct perfdata *p, struct bytes *b)
{
	get_u32(p, b);  /* version */
	get_u32(p, b);  /* clock id */
	p->info.wall_clock_ns = get_u64(p, b);
	p->info.clock_ns = get_u64(p, b);
	p->info.has_wall_clock = !b->bad;
	return !b->bad;
}

/* For the CPU's PMU: "branches" is the number of calls that it can record. */
static bool read_pmu_caps(struct perfdata *p, struct bytes *b)
{
	uint32_t n = get_u32(p, b);
	for (uint32_t i = 0; i < n && !b->bad; i++) {
		const char *name = get_string(p, b), *value = get_string(p, b);
		if (!b->bad && strcmp(name, "branches") == 0)
			p->info.n_branches_max = (uint32_t)strtoul(value, NULL, 10);
	}
	return !b->bad;
}

bool perfdata_knows_feature(uint64_t feature)
{
	return feature < PERFDATA_F_END ||
	       (feature >= PERFDATA_F_SIMPLEPERF && feature < PERFDATA_F_SIMPLEPERF_END);
}

bool perfdata_feature(struct perfdata *p, unsigned feature, struct bytes b)
{
	struct source_facts *facts = &p->source.facts;
	switch (feature) {
	case PERFDATA_F_TRACING_DATA:
		return perfdata_tracing(p, b);
	case PERFDATA_F_BUILD_ID:
		return read_build_ids(p, &b);
	case PERFDATA_F_HOSTNAME:
		return copy_string(p, &b, facts->hostname, sizeof(facts->hostname));
	case PERFDATA_F_OSRELEASE:
		return copy_string(p, &b, facts->kernel_release, sizeof(facts->kernel_release));
	case PERFDATA_F_ARCH:
		return copy_string(p, &b, facts->arch, sizeof(facts->arch));
	case PERFDATA_F_VERSION:
		return keep_string(p, &b, &p->perf_version);
	case PERFDATA_F_NRCPUS:
		get_u32(p, &b);  /* present */
		facts->n_cpus = get_u32(p, &b);
		return !b.bad;
	case PERFDATA_F_CMDLINE:
		return read_command(p, &b);
	case PERFDATA_F_EVENT_DESC:
		return read_event_desc(p, &b);
	case PERFDATA_F_SAMPLE_TIME:
		p->info.first_sample_ns = get_u64(p, &b);
		p->info.last_sample_ns = get_u64(p, &b);
		return !b.bad;
	case PERFDATA_F_CPU_PMU_CAPS:
		return read_pmu_caps(p, &b);
	case PERFDATA_F_CLOCK_DATA:
		return read_clock_data(p, &b);
	default:
		return true;
	}
}
