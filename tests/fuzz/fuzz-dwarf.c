/*
 * Debug information in all its sections (dwinput.h).  For each address of a unit, finds the
 * functions, their names, the line and the paths of files, as symdwarf.c does.
 *
 * The seeds are small functions that inline each other, compiled by gcc and clang with
 * "-g -O2 -shared -fPIC -nostdlib", in DWARF 2, 4 and 5, and in 64-bit DWARF 5.
 */

#include "symbolize/dwarf/dwindex.h"
#include "symbolize/dwarf/dwline.h"
#include "symbolize/dwarf/dwname.h"
#include "symbolize/dwarf/dwtext.h"
#include "symbolize/dwarf/dwwalk.h"
#include "tests/fuzz/dwinput.h"

#define N_PLACES 192
#define FIRST_VADDR 0x1000
#define STEP_BYTES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t volatile n_bytes_seen;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void see(const char *text)
{
	if (text)
		n_bytes_seen += strlen(text);
}

static void read_names(const struct dwunit *u, const struct dwwalk *w, struct dwline *lines)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		struct dwname name;
		struct dwcall call;
		check(w->nodes.v[i].parent < (int32_t)i);
		dwname_read(u, w->nodes.v[i].off, &name, &call);
		if (lines)
			see(dwline_path(lines, call.file));
	}
}

static void read_unit(const struct dwunit *u, const struct dwindex_place *place, size_t n)
{
	struct dwwalk_place places[N_PLACES];
	struct dwline_row row[N_PLACES];
	struct dwwalk w = { .u = u, .place = places, .n = n };
	struct dwline lines;
	for (size_t i = 0; i < n; i++) {
		places[i] = (struct dwwalk_place){ .vaddr = place[i].vaddr };
		row[i] = (struct dwline_row){ .vaddr = place[i].vaddr };
	}
	dwwalk_run(&w);
	for (size_t i = 0; i < n; i++)
		check(places[i].top < (int32_t)w.nodes.n);
	bool has_lines = dwline_open(&lines, u);
	if (has_lines)
		dwline_run(&lines, row, n);
	read_names(u, &w, has_lines ? &lines : NULL);
	for (size_t i = 0; i < n && has_lines; i++)
		if (row[i].found)
			see(dwline_path(&lines, row[i].file));
	if (has_lines)
		dwline_close(&lines);
	VEC_FREE(&w.nodes);
}

/* All n places are in one unit. */
static void read_places(struct dwfile *file, const struct dwindex_place *place, size_t n)
{
	struct dwunit u;
	if (!dwunit_open(file, place->unit, &u))
		return;
	see(dwunit_string(&u, &u.comp_dir));
	read_unit(&u, place, n);
	dwunit_close(&u);
}

static void read_file(struct dwfile *file)
{
	struct dwindex_place place[N_PLACES], more[N_PLACES];
	struct dwindex index;
	size_t n;
	for (uint32_t i = 0; i < N_PLACES; i++)
		place[i] = (struct dwindex_place){
			.vaddr = FIRST_VADDR + STEP_BYTES * i, .index = i };
	dwfile_begin(file);
	dwindex_find(&index, file, place, N_PLACES);
	size_t n_found = (size_t)(index.place - place);
	check(n_found <= N_PLACES);
	for (size_t i = 0, end; i < n_found; i = end) {
		for (end = i + 1; end < n_found && place[end].unit == place[i].unit; end++)
			;
		check(place[i].unit != DWINDEX_NO_UNIT);
		while ((n = dwindex_next(&index, place[i].unit, more)) > 0)
			read_places(file, more, n);
		read_places(file, place + i, end - i);
	}
	while ((n = dwindex_next(&index, UINT64_MAX, more)) > 0)
		read_places(file, more, n);
	dwindex_done(&index);
	check(dwtext_read(file, &file->sections));
	for (uint32_t i = 0; i < file->texts.n; i++)
		see(dwtext_get(file, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwinput in;
	dwinput_open(&in, data, size);
	read_file(&in.file);
	check(!in.file.out_of_memory);
	dwinput_close(&in);
	return 0;
}
