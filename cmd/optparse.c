#include "cmd/optparse.h"

#include "base/units.h"
#include "base/vec.h"
#include "cmd/cmd.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t optparse_time(struct argp_state *state, const char *option, const char *arg,
		       uint64_t min_ns, uint64_t max_ns)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];
	uint64_t ns = 0;
	if (units_parse_duration(arg, &ns) < 0)
		argp_error(state, "%s '%s' is not a time: write 5, 1.5s, 250ms or 2m", option, arg);
	if (ns < min_ns && min_ns == 1)
		argp_error(state, "%s '%s': the time must be longer than 0", option, arg);
	if (ns < min_ns || ns > max_ns)
		argp_error(state, max_ns == UINT64_MAX ? "%s '%s': the time must be at least %s" :
			   "%s '%s': the time must be between %s and %s", option, arg,
			   units_duration_text(min_ns, min), units_duration_text(max_ns, max));
	return ns;
}

uint64_t optparse_size(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t n_bytes = 0;
	if (units_parse_size(arg, &n_bytes) < 0 || n_bytes == 0)
		argp_error(state, "%s '%s' is not a size: write 65536, 512K, 4M or 1G", option,
			   arg);
	return n_bytes;
}

uint64_t optparse_number(struct argp_state *state, const char *option, const char *arg,
			 uint64_t min, uint64_t max)
{
	uint64_t n = 0;
	if (units_parse_u64(arg, &n) < 0 || n < min || n > max)
		argp_error(state, max == UINT64_MAX ? "%s '%s' is not a number" :
			   "%s '%s' is not a number from %" PRIu64 " to %" PRIu64,
			   option, arg, min, max);
	return n;
}

void optparse_thread_ids(struct argp_state *state, const char *arg, pid_t **v, size_t *n,
			 size_t *cap)
{
	for (const char *p = arg;;) {
		char *end;
		errno = 0;
		long id = strtol(p, &end, 10);
		if (!isdigit((unsigned char)*p) || errno || id <= 0 || id > INT32_MAX ||
		    (*end && *end != ','))
			argp_error(state, "-t '%s' is not a list of thread ids: give ids, as in "
				   "12,34 ('ps -eL' lists them)", arg);
		if (!vec_grow((void **)v, cap, *n, 1, sizeof(**v)))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		(*v)[(*n)++] = (pid_t)id;
		if (!*end)
			return;
		p = end + 1;
	}
}

void optparse_append(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		     size_t *cap)
{
	if (!vec_grow((void **)v, cap, *n, 1, sizeof(**v)))
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	(*v)[(*n)++] = arg;
}

void optparse_label(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		    size_t *cap)
{
	if (!strchr(arg, '=') || arg[0] == '=')
		argp_error(state, "--label '%s' is not KEY=VALUE", arg);
	optparse_append(state, arg, v, n, cap);
}
