#include "source/share.h"

#include "base/err.h"

#include <errno.h>

int share_set(struct source *s, uint32_t n, struct err *e)
{
	if (!s->ops->share && n > 1)
		return err_set(e, EOPNOTSUPP, "this kind of recording has one reader");
	return s->ops->share ? s->ops->share->set(s, n, e) : 0;
}

uint64_t share_begin(struct source *s)
{
	return s->ops->share->begin(s);
}

uint64_t share_position(const struct source *s, uint32_t reader)
{
	return s->ops->share->position(s, reader);
}
