#include "base/mapguard.h"

#include "tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mapguard_table maps;

static void repair(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (!mapguard_repair(&maps, info->si_addr))
		_exit(128 + signal);
}

int main(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sigaction act = { .sa_sigaction = repair, .sa_flags = SA_SIGINFO };
	char name[] = "/tmp/cprof-test-mapguard-XXXXXX";
	int fd = mkstemp(name);
	if (fd < 0 || sigaction(SIGBUS, &act, NULL) < 0 || ftruncate(fd, (off_t)page * 4) < 0 ||
	    pwrite(fd, "first", 5, 0) != 5 || pwrite(fd, "last", 4, (off_t)page * 3) != 4)
		abort();
	unlink(name);
	volatile char *p = mmap(NULL, page * 4, PROT_READ, MAP_PRIVATE, fd, 0);
	struct mapguard *g = mapguard_add(&maps, (void *)p, page * 4);
	tap_ok(g && !mapguard_is_hit(g), "a mapping is watched");
	tap_ok(p[0] == 'f' && p[page * 3] == 'l' && !mapguard_is_hit(g), "its file is whole");
	if (ftruncate(fd, (off_t)page) < 0)
		abort();
	tap_int(p[page * 3], 0, "lost pages are zeros");
	tap_ok(mapguard_is_hit(g), "and the loss is known");
	tap_int(p[page * 2], 0, "also those before it");
	tap_int(p[0], 'f', "the others stay");
	tap_ok(!mapguard_repair(&maps, &act), "other memory is not touched");
	mapguard_remove(g);
	tap_ok(!mapguard_repair(&maps, (void *)p), "nor is a mapping that is no longer watched");
	tap_ok(!mapguard_is_hit(NULL), "no mapping, no loss");
	size_t n = 0;
	while (mapguard_add(&maps, (void *)p, page))
		n++;
	tap_ok(n > 64 && n <= MAPGUARD_MAPS_MAX, "a table is bounded");
	tap_ok(!mapguard_add(NULL, (void *)p, page), "no table, no guard");
	return tap_done();
}
