/* The settings file: only a group of the caller allows anything, and every name is a valid one. */

#include "cmd/settings.h"

#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool is_member(void *ctx, const char *name)
{
	bool *is_asked = ctx, r = name[0] == 'w';
	check(*name && strlen(name) < LOGIN_NAME_MAX && !strpbrk(name, " \t\n"));
	*is_asked |= r;
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	bool is_asked = false;
	int r = settings_parse((const char *)data, size, is_member, &is_asked, &e);
	check(r == -EINVAL ? e.what[0] != '\0' : r == is_asked);
	return 0;
}
