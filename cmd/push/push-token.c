#include "cmd/push/push-token.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/push/push-opts.h"
#include "cmd/smallfile.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* RFC 4648, section 4 */
static char *base64(const char *text)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(text);
	char *out = malloc((n + 2) / 3 * 4 + 1), *p = out;
	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = 0;
		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			*p++ = i + k > n ? '=' : digit[three >> (18 - 6 * k) & 63];
	}
	*p = '\0';
	return out;
}

int push_token_read(const struct push_opts *o, char **ret, struct err *e)
{
	*ret = NULL;
	if (!o->token_file)
		return 0;
	/* The recorder's group has nothing to do with it; root may give the file ours. */
	CLEANUP_FREE char *token = smallfile_read("--token-file", o->token_file, 037, e);
	if (!token)
		return e->code ? e->code : -EINVAL;
	token[strcspn(token, "\r\n")] = '\0';
	if (!*token)
		return err_set(e, EINVAL, "--token-file: '%s' has no token", o->token_file);
	if (!o->user)
		return asprintf(ret, "Bearer %s", token) < 0 ? -ENOMEM : 0;
	CLEANUP_FREE char *pair = NULL;
	if (asprintf(&pair, "%s:%s", o->user, token) < 0)
		return -ENOMEM;
	CLEANUP_FREE char *coded = base64(pair);
	return !coded || asprintf(ret, "Basic %s", coded) < 0 ? -ENOMEM : 0;
}
