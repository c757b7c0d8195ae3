/*
 * A layout is used only if it fits the goroutines that the program has now.  For a version that is
 * newer than the known ones, it comes from the program's debug information.  Without that, the
 * layouts of known versions are tried, the newest first, and one is taken if it is proven.
 */

#include "symbolize/runtime/go-program.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/go-proof.h"
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
		if (ret->place == GO_PLACE_NONE || !go_proof_fits(from, l, ret->allgs, main_pc))
			continue;
		ret->layout = *l;
		ret->layout_from = GO_PROGRAM_PROVEN;
		return true;
	}
	ret->place = GO_PLACE_NONE;
	return false;
}

static bool has_debug_layout(const struct go_places *from, struct go_layout *ret)
{
	return from->debug_layout && from->debug_layout(from->debug_ctx, ret);
}

static enum go_program_result open_newer(const struct go_places *from, uint64_t main_pc,
					 struct go_program *ret)
{
	if (!is_newer(&ret->version) || !main_pc)
		return GO_PROGRAM_UNSUPPORTED;
	if (!has_debug_layout(from, &ret->layout))
		return prove_layout(from, main_pc, ret) ? GO_PROGRAM_OK : GO_PROGRAM_UNSUPPORTED;
	ret->layout_from = GO_PROGRAM_DEBUG;
	ret->place = go_places_allgs(from, &ret->layout, main_pc, true, &ret->allgs);
	return ret->place == GO_PLACE_NONE ? GO_PROGRAM_NO_LIST : GO_PROGRAM_OK;
}

static enum go_program_result open_known(const struct go_places *from, uint64_t main_pc,
					 struct go_program *ret)
{
	ret->layout = *go_layout_of(&ret->version);
	ret->place = go_places_allgs(from, &ret->layout, main_pc, false, &ret->allgs);
	return ret->place == GO_PLACE_NONE ? GO_PROGRAM_NO_LIST : GO_PROGRAM_OK;
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
	enum go_program_result r = go_layout_of(&ret->version) ? open_known(from, main_pc, ret)
							       : open_newer(from, main_pc, ret);
	if (r == GO_PROGRAM_OK)
		go_places_reasons(from, &ret->reasons);
	return r;
}
