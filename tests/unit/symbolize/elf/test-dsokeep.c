/* Which files stay open, when they are opened again, and what is lost. */

#include "base/host.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/dsokeep.h"
#include "symbolize/elf/symdebug.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define N_DSOS 6

static struct {
	int result;             /* 0: succeeds */
	int n_calls;
	const void *last_origin;
} opener;

static int reopen(void *ctx, const struct dso *d, const void *origin)
{
	(void)ctx;
	(void)d;
	opener.n_calls++;
	opener.last_origin = origin;
	return opener.result ? opener.result : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static struct dso *add(struct dso_table *t, uint64_t ino)
{
	const struct dso_key key = { .kind = DSO_ELF, .maj = 8, .ino = ino };
	struct dso *d = dso_table_add(t, &key, "/file");
	if (d)
		dso_set_file(d, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "/file");
	if (!d || d->fd < 0 || dsokeep_add(&t->keep, d, malloc(1)) < 0)
		abort();
	return d;
}

static int n_open(struct dso *const *d)
{
	int n = 0;
	for (int i = 0; i < N_DSOS; i++)
		n += d[i]->fd >= 0;
	return n;
}

static void test_order(struct dso_table *t, struct dso **d)
{
	t->keep.max_open = 3;
	t->keep.reopen = reopen;
	for (int i = 0; i < N_DSOS; i++)
		d[i] = add(t, (uint64_t)i + 1);
	tap_ok(n_open(d) == 3 && t->keep.n_open == 3, "only the allowed number stays open");
	tap_ok(d[3]->fd >= 0 && d[4]->fd >= 0 && d[5]->fd >= 0, "the last ones");
	tap_ok(dsokeep_has_file(d[0]) && d[0]->fd < 0 && d[0]->is_elf,
	       "a closed file is still known");

	int fd = dsokeep_hold(d[0]);
	tap_ok(fd >= 0 && fd == d[0]->fd && opener.n_calls == 1 &&
	       opener.last_origin == d[0]->kept->origin, "it is opened again by its origin");
	tap_ok(d[3]->fd < 0 && n_open(d) == 3, "and the least recently used one is closed");
	dsokeep_release(d[0]);
	dsokeep_release((dsokeep_hold(d[4]), d[4]));
	dsokeep_release((dsokeep_hold(d[1]), d[1]));
	tap_ok(d[4]->fd >= 0 && d[5]->fd < 0, "use counts, not the time of opening");
}

static void test_holds(struct dso_table *t, struct dso **d)
{
	for (int i = 0; i < N_DSOS; i++)
		dsokeep_hold(d[i]);
	tap_int(n_open(d), N_DSOS, "files in use are not closed");
	tap_int((long long)dsokeep_shed(&t->keep, 9), 0, "not even when descriptors are lacking");
	for (int i = 0; i < N_DSOS; i++)
		dsokeep_release(d[i]);
	tap_int((long long)dsokeep_shed(&t->keep, 4), 4, "afterwards they may be");
	tap_ok(n_open(d) == 2 && d[4]->fd >= 0 && d[5]->fd >= 0, "the least recently used first");
}

static void test_loss(struct dso_table *t, struct dso **d)
{
	dsokeep_shed(&t->keep, N_DSOS);
	opener.result = -EMFILE;
	opener.n_calls = 0;
	tap_int(dsokeep_hold(d[0]), -EMFILE, "no descriptor is free");
	tap_int(opener.n_calls, 1, "there is nothing to close");
	tap_ok(!dsokeep_is_lost(d[0]), "one may be later");
	opener.result = 0;
	tap_int(dsokeep_hold(d[1]) >= 0, true, "as for this file");
	dsokeep_release(d[1]);
	opener.result = -EMFILE;
	opener.n_calls = 0;
	tap_int(dsokeep_hold(d[0]), -EMFILE, "no descriptor is free");
	tap_ok(opener.n_calls == 2 && d[1]->fd < 0, "another file is closed for it");

	opener.result = -ESTALE;
	opener.n_calls = 0;
	tap_int(dsokeep_hold(d[2]), -EMFILE, "a file that was deleted");
	tap_int(dsokeep_hold(d[2]), -EMFILE, "cannot be opened again");
	tap_int(dsokeep_dup(d[2]), -EMFILE, "nor for a duplicate");
	tap_ok(dsokeep_is_lost(d[2]) && opener.n_calls == 1, "it is not searched again");
	opener.result = 0;
}

static void test_dup(struct dso_table *t, struct dso **d)
{
	struct rlimit limit, few;
	dsokeep_release((dsokeep_hold(d[0]), d[0]));
	dsokeep_release((dsokeep_hold(d[1]), d[1]));
	int top = open("/dev/null", O_RDONLY | O_CLOEXEC);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = (struct rlimit){ (rlim_t)top + 1, limit.rlim_max };
	t->keep.max_open = N_DSOS;
	setrlimit(RLIMIT_NOFILE, &few);
	int fd = dsokeep_dup(d[1]);
	tap_ok(fd >= 0 && d[0]->fd < 0 && d[1]->fd >= 0,
	       "a duplicate when no descriptor is free takes that of another file");
	setrlimit(RLIMIT_NOFILE, &limit);
	close(fd);
	close(top);
}

static void test_debug_file(struct dso_table *t, struct dso **d)
{
	struct host host;
	struct rlimit limit, few;
	struct symdebug_unread unread = { 0 };
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		abort();
	struct symdebug_place where = { .host = &host, .unread = &unread };
	dsokeep_release((dsokeep_hold(d[0]), d[0]));
	dsokeep_release((dsokeep_hold(d[1]), d[1]));
	int top = open("/dev/null", O_RDONLY | O_CLOEXEC);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = (struct rlimit){ (rlim_t)top + 1, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	tap_int(symdebug_open_file(&where, "/etc/passwd"), -ENOENT,
		"a debug file is not opened when no descriptor is free");
	tap_int(unread.n_no_descriptor, 1, "which is counted");
	where.keep = &t->keep;
	int fd = symdebug_open_file(&where, "/etc/passwd");
	setrlimit(RLIMIT_NOFILE, &limit);
	tap_ok(fd >= 0 && unread.n_no_descriptor == 1, "unless others may be closed for it");
	close(fd);
	close(top);
	host_close(&host);
}

/* Call frame information is read in pieces, when it is needed. */
static void test_cfi(struct dso_table *t, struct dso *d)
{
	struct cfi *c = NULL;
	struct cfi_rule before, after;
	uint8_t code;
	tap_int(cfi_open_dso(d, &c), 0, "the CFI of a file that may be closed");
	if (!c)
		return;
	const struct dso_segment *text = &d->segment[0];
	dsokeep_shed(&t->keep, N_DSOS);
	uint64_t vaddr = text->vaddr;
	do
		cfi_rule_at(c, vaddr += 64, &before);
	while (before.kind == CFI_NONE && vaddr < text->vaddr + text->n_mem_bytes);
	tap_ok(before.kind != CFI_NONE && d->fd >= 0, "a rule opens the file again");
	cfi_close(c);
	cfi_open_dso(d, &c);
	dsokeep_shed(&t->keep, N_DSOS);
	tap_int((long long)cfi_read_code(c, vaddr, &code, 1), 1, "code does");
	dsokeep_shed(&t->keep, N_DSOS);
	opener.result = -ESTALE;
	cfi_rule_at(c, vaddr, &after);
	/* the table or the entry cannot be read, depending on the size of the program */
	tap_ok(after.kind == CFI_BAD || after.kind == CFI_NONE,
	       "without the file there is no rule: kind %u", after.kind);
	tap_ok(dsokeep_is_lost(d), "which is known as a loss");
	opener.result = 0;
	cfi_close(c);
}

static int n_descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(void)
{
	struct dso_table t;
	struct dso *d[N_DSOS];
	struct dso single = { .fd = -1 };
	int n_before = n_descriptors();
	tap_int(dso_table_init(&t, NULL), 0, "a table");
	test_order(&t, d);
	test_holds(&t, d);
	test_loss(&t, d);
	test_dup(&t, d);
	test_debug_file(&t, d);
	test_cfi(&t, d[1]);

	dso_close_file(d[0]);
	tap_ok(!dsokeep_has_file(d[0]) && dsokeep_hold(d[0]) == -ENOENT,
	       "a file that is closed for good is not opened again");
	dso_table_done(&t);
	tap_int(n_descriptors(), n_before, "the table closes all files");

	tap_int(dsokeep_hold(&single), -ENOENT, "a DSO without a file, outside of any table");
	dso_set_file(&single, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL);
	tap_ok(dsokeep_has_file(&single) && dsokeep_hold(&single) == single.fd, "one with a file");
	dsokeep_release(&single);
	dso_close_file(&single);
	return tap_done();
}
