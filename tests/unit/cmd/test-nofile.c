#include "cmd/nofile.h"
#include "tap.h"

#include <sys/resource.h>

int main(void)
{
	struct rlimit now, limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max > 100 ? 100 : limit.rlim_max / 2;
	setrlimit(RLIMIT_NOFILE, &limit);
	nofile_restore();
	getrlimit(RLIMIT_NOFILE, &now);
	tap_ok(now.rlim_cur == limit.rlim_cur, "nothing to restore");
	nofile_raise();
	nofile_raise();
	getrlimit(RLIMIT_NOFILE, &now);
	tap_ok(now.rlim_cur == limit.rlim_max && now.rlim_max == limit.rlim_max,
	       "the soft limit is the hard one");
	nofile_restore();
	getrlimit(RLIMIT_NOFILE, &now);
	tap_ok(now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max,
	       "the soft limit is the original one again");
	return tap_done();
}
