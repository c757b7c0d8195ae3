#include "view/model/model.h"

#include "base/err.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_free(struct model *m)
{
	if (!m)
		return;
	free(m->type);
	free(m->mapping);
	free(m->function);
	free(m->line);
	free(m->location);
	free(m->stack);
	free(m->stack_location);
	free(m->label);
	free(m->labels);
	free(m->sample);
	free(m->value);
	free(m->comment);
	strtab_done(&m->strings);
	free(m);
}

static bool find_name(const struct model *m, const char *name, uint32_t *ret_type)
{
	for (uint32_t i = 0; i < m->n_types; i++) {
		if (strcmp(model_string(m, m->type[i].type), name) == 0) {
			*ret_type = i;
			return true;
		}
	}
	return false;
}

int model_find_type(const struct model *m, const char *name, uint32_t *ret_type, struct err *e)
{
	if (!name) {
		if (!m->default_type || !find_name(m, model_string(m, m->default_type), ret_type))
			*ret_type = m->n_types - 1;
		return 0;
	}
	uint64_t number;
	if (find_name(m, name, ret_type))
		return 0;
	if (units_parse_u64(name, &number) == 0 && number < m->n_types) {
		*ret_type = (uint32_t)number;
		return 0;
	}
	char known[ERR_TEXT_MAX] = "";
	size_t n = 0;
	for (uint32_t i = 0; i < m->n_types && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i > 0 ? ", " : "",
				      model_string(m, m->type[i].type));
	int r = err_set(e, ENOENT, "no sample type '%s' in the profile", name);
	err_hint(e, "the types are: %s", known);
	return r;
}

uint32_t model_count_type(const struct model *m)
{
	uint32_t type;
	if (find_name(m, "samples", &type) || find_name(m, "sample", &type))
		return type;
	return strcmp(model_string(m, m->type[0].unit), "count") == 0 ? 0 : MODEL_NONE;
}
