/*
 * A layout is used only if it fits the goroutines that the program has now.  For a version that is
 * newer than the known ones, the layouts of these are tried, the newest first.  One of them is
 * taken if it shows the first goroutine, with number 1 and runtime.main as its first function, and
 * if all that are read at both ends of the list are plausible.
 */

#include "symbolize/runtime/go-program.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-memory.h"

static bool read_version(const struct go_places *from, struct go_version *ret, bool *ret_found)
{
	struct cfi_place place;
	*ret_found = cfi_find_section(from->cfi, ".go.buildinfo", &place);
	return *ret_found &&
	       go_version_read(from->memory, place.vaddr + from->bias, place.n_bytes, ret);
}

/* Can the first byte of its data be read? */
static bool is_readable(const struct go_places *from)
{
	uint8_t byte;
	return runtime_memory_read(from->memory, from->data_start, &byte, 1);
}

static bool is_newer(const struct go_version *v)
{
	return v->major == 1 && v->minor > GO_LAYOUT_NEWEST;
}

static bool prove_layout(const struct go_places *from, uint64_t main_pc, struct go_program *ret)
{
	const struct go_layout *l;
	for (unsigned int i = 0; (l = go_layout_known(i)); i++) {
		/* older ones have other labels, which cannot be recognised in the same way */
		if (l->label_format != GO_LABELS_SLICE)
			continue;
		ret->place = go_places_allgs(from, l, main_pc, true, &ret->allgs);
		if (ret->place == GO_PLACE_NONE)
			continue;
		ret->layout = *l;
		ret->layout_from = GO_PROGRAM_PROVEN;
		return true;
	}
	return false;
}

enum go_program_result go_program_open(const struct go_places *from, struct go_program *ret)
{
	static const char *const main_name[] = { "runtime.main" };
	uint64_t main_pc;
	bool is_go;
	*ret = (struct go_program){ .place = GO_PLACE_NONE };
	if (!from->table)
		return GO_PROGRAM_NOT_GO;
	if (!is_readable(from))
		return GO_PROGRAM_UNREADABLE;
	if (!read_version(from, &ret->version, &is_go))
		return GO_PROGRAM_NOT_GO;
	go_places_functions(from, main_name, &main_pc, 1);
	const struct go_layout *l = go_layout_of(&ret->version);
	if (l) {
		ret->layout = *l;
		ret->place = go_places_allgs(from, l, main_pc, false, &ret->allgs);
		if (ret->place == GO_PLACE_NONE)
			return GO_PROGRAM_NO_LIST;
	} else if (!is_newer(&ret->version) || !main_pc || !prove_layout(from, main_pc, ret)) {
		return GO_PROGRAM_UNSUPPORTED;
	}
	go_places_reasons(from, &ret->reasons);
	return GO_PROGRAM_OK;
}
