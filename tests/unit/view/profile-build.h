#ifndef CPROF_TESTS_UNIT_VIEW_PROFILE_BUILD_H
#define CPROF_TESTS_UNIT_VIEW_PROFILE_BUILD_H

/*
 * Builds profiles from text for tests.  Each sample is a line
 *
 *	VALUE[,VALUE] FRAME FRAME ... [; KEY=VALUE ...]
 *
 * leaf first.  A frame is NAME, or NAME+NAME for functions inlined at one address, innermost first.
 * NAME@FILE:LINE sets the source line (default NAME.c:1); [FILE] is an address without a name.  A
 * label value of digits, ':' and a unit is numeric.  Equal frames are one location.
 */

#include "base/err.h"
#include "proto/pprof.h"
#include "proto/sink.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct pprof *p;
	struct sink sink;
	char *frame[256], *function[256];
	uint64_t location_of[256], n_locations, n_functions;
	uint64_t mapping;
};

static uint64_t build_function(struct build *b, const char *name, const char *file)
{
	char key[256];
	snprintf(key, sizeof(key), "%s@%s", name, file);
	for (uint64_t i = 0; i < b->n_functions; i++)
		if (strcmp(b->function[i], key) == 0)
			return i + 1;
	b->function[b->n_functions++] = strdup(key);
	return pprof_function(b->p, &(struct pprof_function){ name, name, file, 1 });
}

static uint64_t build_location(struct build *b, const char *frame)
{
	for (uint64_t i = 0; i < b->n_locations; i++)
		if (strcmp(b->frame[i], frame) == 0)
			return b->location_of[i];
	struct pprof_line line[8];
	size_t n = 0;
	uint64_t mapping = b->mapping;
	char *copy = strdup(frame), *save = NULL;
	if (frame[0] == '[') {
		copy[strlen(copy) - 1] = '\0';
		mapping = pprof_mapping(b->p, &(struct pprof_mapping){
			.memory_start = 0x10000 * (b->n_locations + 2),
			.memory_limit = 0x10000 * (b->n_locations + 3), .filename = copy + 1 });
	} else {
		for (char *w = strtok_r(copy, "+", &save); w; w = strtok_r(NULL, "+", &save)) {
			char file[128], *at = strchr(w, '@'), *colon = strrchr(w, ':');
			long number = 1;
			if (at && colon > at) {
				number = strtol(colon + 1, NULL, 10);
				*at = *colon = '\0';
				snprintf(file, sizeof(file), "%s", at + 1);
			} else {
				snprintf(file, sizeof(file), "%s.c", w);
			}
			line[n++] = (struct pprof_line){ build_function(b, w, file), number, 0 };
		}
	}
	free(copy);
	b->frame[b->n_locations] = strdup(frame);
	uint64_t id = pprof_location(b->p, mapping, 0x1000 * (b->n_locations + 1), line, n, false);
	return b->location_of[b->n_locations++] = id;
}

static void build_sample(struct build *b, const char *text)
{
	int64_t value[8];
	uint64_t location[64];
	struct pprof_label label[16];
	size_t n_values = 0, n_locations = 0, n_labels = 0;
	char *copy = strdup(text), *save = NULL, *end;
	char *word = strtok_r(copy, " ", &save);
	for (char *v = word; v; v = *end ? end + 1 : NULL)
		value[n_values++] = strtoll(v, &end, 10);
	while ((word = strtok_r(NULL, " ", &save)) && strcmp(word, ";") != 0)
		location[n_locations++] = build_location(b, word);
	while ((word = strtok_r(NULL, " ", &save))) {
		char *eq = strchr(word, '='), *colon = strchr(eq, ':');
		*eq = '\0';
		struct pprof_label *l = &label[n_labels++];
		*l = (struct pprof_label){ .key = word, .str = eq + 1 };
		if (colon) {
			*colon = '\0';
			*l = (struct pprof_label){ .key = word, .num = strtoll(eq + 1, NULL, 10),
						   .num_unit = colon + 1 };
		}
	}
	pprof_sample(b->p, location, n_locations, value, n_values, label, n_labels);
	free(copy);
}

/* types: "samples/count cpu/nanoseconds".  b->sink holds the bytes until build_done. */
static void __attribute__((unused))
build_profile(struct build *b, const char *types, const char *const *line, size_t n)
{
	struct err e = { 0 };
	char *copy = strdup(types), *save = NULL;
	*b = (struct build){ 0 };
	if (pprof_new(sink_write, &b->sink, 1, &b->p, &e) < 0)
		abort();
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *slash = strchr(w, '/');
		*slash = '\0';
		pprof_sample_type(b->p, w, slash + 1);
	}
	pprof_period(b->p, "cpu", "nanoseconds", 1000);
	pprof_times(b->p, 1000000000, 2000000000);
	b->mapping = pprof_mapping(b->p, &(struct pprof_mapping){
		.memory_start = 0x1000, .memory_limit = 0x10000, .filename = "/bin/app",
		.has_functions = true });
	for (size_t i = 0; i < n; i++)
		build_sample(b, line[i]);
	if (pprof_finish(b->p, &e) < 0)
		abort();
	free(copy);
}

static void __attribute__((unused)) build_done(struct build *b)
{
	pprof_free(b->p);
	for (uint64_t i = 0; i < b->n_locations; i++)
		free(b->frame[i]);
	for (uint64_t i = 0; i < b->n_functions; i++)
		free(b->function[i]);
	VEC_FREE(&b->sink.bytes);
	*b = (struct build){ 0 };
}

#define BUILD(b, types, ...) \
	build_profile(b, types, (const char *const[]){ __VA_ARGS__ }, \
		      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

#endif
