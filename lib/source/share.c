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

void share_scan(struct source *s, uint32_t reader)
{
	s->ops->share->scan(s, reader);
}

void share_read(struct source *s, uint32_t reader)
{
	s->ops->share->read(s, reader);
}

void share_end(struct source *s)
{
	s->ops->share->end(s);
}

struct share_place share_place(const struct source *s, uint32_t reader)
{
	return s->ops->share->place(s, reader);
}

void share_plan(struct source *s)
{
	s->ops->share->plan(s);
}

uint32_t share_reader_of(const struct source *s, uint32_t tid)
{
	return s->ops->share->reader_of(s, tid);
}

unsigned share_fullest_percent(struct source *s)
{
	return s->ops->share ? s->ops->share->fullest_percent(s) : 0;
}
