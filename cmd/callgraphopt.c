#include "cmd/callgraphopt.h"

#include "base/units.h"

#include <argp.h>
#include <string.h>

static uint32_t parse_size(struct argp_state *state, const char *arg)
{
	uint64_t size = 0;
	if (units_parse_size(arg, &size) < 0 || size == 0 || size > UINT32_MAX)
		argp_error(state, "--call-graph 'dwarf,%s': that is no size of a stack copy", arg);
	return (uint32_t)size;
}

enum cprof_callgraph callgraphopt_parse(struct argp_state *state, const char *arg,
					uint32_t *ret_bytes)
{
	static const struct { const char *name; enum cprof_callgraph mode; } modes[] = {
		{ "auto", CPROF_CALLGRAPH_AUTO }, { "dwarf", CPROF_CALLGRAPH_DWARF },
		{ "fp", CPROF_CALLGRAPH_FP }, { "lbr", CPROF_CALLGRAPH_LBR },
		{ "none", CPROF_CALLGRAPH_NONE },
	};
	if (ret_bytes)
		*ret_bytes = 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(arg, modes[i].name) == 0)
			return modes[i].mode;
	if (ret_bytes && strncmp(arg, "dwarf,", 6) == 0)
		*ret_bytes = parse_size(state, arg + 6);
	else
		argp_error(state, "--call-graph '%s': it is auto, dwarf%s, fp, lbr or none", arg,
			   ret_bytes ? ", dwarf,SIZE" : "");
	return CPROF_CALLGRAPH_DWARF;
}
