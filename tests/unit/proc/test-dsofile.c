#include "base/cleanup.h"
#include "base/host.h"
#include "base/strtab.h"
#include "proc/dsofile.h"
#include "proc/procs.h"
#include "source/record.h"
#include "source/synth.h"
#include "tests/unit/tap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/*
 * A host in a folder: root/ is its root, proc/7 a process of it, proc/8 one in a
 * container whose root is c/.
 */
static char base[] = "/tmp/test-dsofile-XXXXXX";
static struct host host;

static const char *in_base(const char *name)
{
	static char path[4][512];
	static unsigned next;
	char *p = path[next++ % 4];
	snprintf(p, sizeof(path[0]), "%s/%s", base, name);
	return p;
}

static void put(const char *name, const void *bytes, size_t n)
{
	char path[512];
	snprintf(path, sizeof(path), "%s", in_base(name));
	for (char *p = path + strlen(base) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	if (!n)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		tap_ok(false, "cannot write %s", path);
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static struct dsofile want(uint32_t pid, const char *real, const char *filename)
{
	struct stat st = { 0 };
	if (stat(in_base(real), &st) < 0)
		tap_ok(false, "cannot stat %s", real);
	return (struct dsofile){ .pid = pid, .start = 0x400000, .end = 0x401000,
				 .maj = major(st.st_dev), .min = minor(st.st_dev),
				 .ino = st.st_ino, .filename = filename };
}

/* The path of the file that was found (below the base folder), or the errno's name. */
static const char *opened(const struct dsofile *w)
{
	static char text[512];
	CLEANUP_FREE char *path = NULL;
	struct stat st;
	int fd = dsofile_open(&host, w, &path);
	if (fd < 0)
		return fd == -ESTALE ? "ESTALE" : fd == -ENOENT ? "ENOENT" :
		       fd == -ELOOP ? "ELOOP" : "another errno";
	bool right = fstat(fd, &st) == 0 && st.st_ino == w->ino;
	close(fd);
	snprintf(text, sizeof(text), "%s%s", right ? "" : "WRONG FILE ", path + strlen(base) + 1);
	return text;
}

static void test_open(void)
{
	put("root/bin/prog", "host", 4);
	put("c/bin/prog", "container", 9);
	put("c/real/lib.so", "lib", 3);
	put("c/bin/fifo-is-made-here", "", 0);
	put("proc/7/map_files/", "", 0);
	put("proc/8/map_files/", "", 0);
	tap_ok(symlink(in_base("root"), in_base("proc/7/root")) == 0 &&
	       symlink(in_base("c"), in_base("proc/8/root")) == 0 &&
	       symlink("/real", in_base("c/lib")) == 0 &&
	       symlink("/real/lib.so", in_base("c/bin/link")) == 0 &&
	       mkfifo(in_base("c/bin/fifo"), 0600) == 0, "fixture");

	struct dsofile w = want(7, "root/bin/prog", "/bin/prog");
	tap_str(opened(&w), "proc/7/root/bin/prog", "a process of the host");
	w.pid = 9;
	tap_str(opened(&w), "root/bin/prog", "a process that has ended: the same file of the host");
	w = want(8, "c/bin/prog", "/bin/prog");
	tap_str(opened(&w), "proc/8/root/bin/prog", "a process in a container");
	w.pid = 9;
	tap_str(opened(&w), "ESTALE", "a container that has ended: never a host file of that name");
	w.pid = 8;
	/* A tmpfs itself has an anonymous device, whose number proves nothing. */
	if (w.maj == 0) {
		tap_skip("another device", "the folder for temporary files has an anonymous one");
	} else {
		w.maj = 12;
		tap_str(opened(&w), "ESTALE", "another device");
	}
	w.maj = 0;
	tap_str(opened(&w), "proc/8/root/bin/prog", "an anonymous device: the inode is enough");
	w = want(9, "root/bin/prog", "/bin/prog");
	w.maj = 0;
	w.min++;
	tap_str(opened(&w), "ESTALE", "but not for the host's file");

	w = want(8, "c/real/lib.so", "/lib/lib.so");
	tap_str(opened(&w), "proc/8/root/lib/lib.so", "absolute links stay inside the container");
	w = want(8, "c/real/lib.so", "/bin/link");
	tap_str(opened(&w), "ELOOP", "the kernel refuses links: the last part is not a link");
	w = want(8, "c/bin/fifo", "/bin/fifo");
	tap_str(opened(&w), "ESTALE", "a FIFO is not a regular file, and does not block");
	w = want(8, "c/bin/prog", "/bin/gone");
	tap_str(opened(&w), "ENOENT", "no such file");

	tap_ok(symlink(in_base("c/bin/prog"), in_base("proc/8/map_files/400000-401000")) == 0,
	       "a mapped file");
	w = want(8, "c/bin/prog", "/bin/prog (deleted)");
	tap_str(opened(&w), "proc/8/map_files/400000-401000", "a deleted file by its mapping");
	w.filename = "/memfd:jit (deleted)";
	tap_str(opened(&w), "proc/8/map_files/400000-401000", "memory with a name, too");
	w = want(8, "c/real/lib.so", "/lib/lib.so");
	tap_str(opened(&w), "proc/8/root/lib/lib.so", "another file is mapped there now");

	tap_ok(symlink(in_base("c/bin/prog"), in_base("proc/8/exe")) == 0 &&
	       dsofile_exe_ino(&host, 8) == want(8, "c/bin/prog", "").ino,
	       "inode of the main binary");
	w = want(8, "c/bin/prog", "/bin/prog (deleted)");
	w.start = 0x700000;
	tap_str(opened(&w), "proc/8/exe", "a deleted main binary without access to its mappings");
	w = want(8, "c/real/lib.so", "/lib/gone.so");
	tap_str(opened(&w), "ESTALE", "it is not another file");
	tap_int((long long)dsofile_exe_ino(&host, 9), 0, "no executable of a gone process");
	void *image = NULL;
	tap_int(dsofile_read_vdso(&host, 8, 0x1000, 0x3000, &image), -ENOENT, "memory of no "
		"process");
	put("proc/8/mem", "0123456789", 10);
	tap_ok(dsofile_read_vdso(&host, 8, 2, 6, &image) == 4 && !memcmp(image, "2345", 4),
	       "a vdso by reading memory");
	free(image);
	tap_int(dsofile_read_vdso(&host, 8, 2, 20, &image), -EIO, "not all of it");
	tap_int(dsofile_read_vdso(&host, 8, 0, 1ull << 40, &image), -EINVAL, "too much of it");
}

/* ---- through procs ------------------------------------------------------------------ */

static struct strtab strings;
static struct dso_table dsos;
static struct procs p;

static void setup(const struct host *h)
{
	strtab_init(&strings, NULL);
	dso_table_init(&dsos, NULL);
	procs_init(&p, NULL, &strings, &dsos, h);
}

static void teardown(void)
{
	procs_done(&p);
	dso_table_done(&dsos);
	strtab_done(&strings);
}

static struct dso *map(uint32_t pid, uint64_t start, const char *real, const char *filename)
{
	struct dsofile w = want(pid, real, filename);
	struct record r = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .pid = pid,
			    .tid = pid, .mmap = { .start = start, .len = 0x1000, .maj = w.maj,
			    .min = w.min, .ino = w.ino, .prot = PROT_READ | PROT_EXEC,
			    .filename = filename } };
	procs_feed(&p, &r, true);
	const struct procs_map *m = procs_space_find(&procs_process(&p, pid)->space, start);
	return m ? dso_get(&dsos, m->dso) : NULL;
}

/* The files of a container are closed one after the other. */
static void test_roots(struct dso *inside, struct dso *lost)
{
	int root_fd = inside->root_fd;
	for (uint32_t i = 0; i < dsos.n; i++)
		if (dsos.dso[i] != lost)
			dso_close_file(dsos.dso[i]);
	mapdso_close_roots(&p.mapdso);
	tap_ok(p.mapdso.n_roots == 1 && lost->root_fd == root_fd,
	       "a root folder stays open as long as a file that came from it");
	dso_close_file(lost);
	mapdso_close_roots(&p.mapdso);
	tap_ok(p.mapdso.n_roots == 0 && fcntl(root_fd, F_GETFD) < 0,
	       "and is closed after the last one");
	tap_ok(inside->root_fd == 0 && lost->root_fd == 0, "nobody uses its number any more");
	if (symlink(in_base("c"), in_base("proc/8/root")) == 0)
		map(8, 0x50000, "c/real/lib.so", "/lib/lib.so");
	tap_ok(lost->fd >= 0 && lost->root_fd > 0, "a process that maps a file opens it again");
}

static void test_procs(void)
{
	setup(&host);
	struct dso *on_host = map(7, 0x10000, "root/bin/prog", "/bin/prog");
	struct dso *inside = map(8, 0x10000, "c/bin/prog", "/bin/prog");
	tap_ok(on_host != inside && on_host->fd >= 0 && inside->fd >= 0 &&
	       on_host->fd != inside->fd, "same path, two files");
	struct stat st, c;
	tap_ok(on_host->root_fd == 0 && inside->root_fd > 0 && fstat(inside->root_fd, &st) == 0 &&
	       stat(in_base("c"), &c) == 0 && st.st_ino == c.st_ino, "its root folder is kept");
	char bytes[16] = "";
	tap_ok(pread(inside->fd, bytes, sizeof(bytes), 0) == 9 && !strcmp(bytes, "container"),
	       "each its own contents");
	struct dso *lost = map(9, 0x20000, "c/real/lib.so", "/lib/lib.so");
	tap_ok(lost->fd == -1 && lost->open_errno == ENOENT, "a file that cannot be opened has a "
	       "reason");
	struct dso *again = map(8, 0x20000, "c/real/lib.so", "/lib/lib.so");
	tap_ok(again == lost && lost->fd >= 0 && lost->open_errno == 0,
	       "and is opened when another process maps it");
	tap_int(lost->root_fd, inside->root_fd, "once for all of its files");
	int fd = lost->fd;
	map(7, 0x30000, "c/real/lib.so", "/lib/lib.so");
	tap_int(lost->fd, fd, "once open it stays so");

	struct rlimit limit, none;
	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){ 3, limit.rlim_max };
	put("c/bin/third", "third", 5);
	setrlimit(RLIMIT_NOFILE, &none);
	struct dso *refused = map(8, 0x40000, "c/bin/third", "/bin/third");
	setrlimit(RLIMIT_NOFILE, &limit);
	tap_ok(refused->fd == -1 && refused->open_errno == EMFILE,
	       "a lack of descriptors is the reason: %s", strerror(refused->open_errno));
	map(7, 0x40000, "c/bin/third", "/bin/third");
	tap_ok(refused->fd == -1 && refused->open_errno != EMFILE, "it is tried again later");

	struct dso *const used[] = { on_host, inside, lost };
	for (int i = 0; i < 3; i++)
		dsokeep_release((dsokeep_hold(used[i]), used[i]));
	put("c/bin/second", "second", 6);
	dsos.keep.max_open = dsos.keep.n_open;
	struct dso *many = map(8, 0x30000, "c/bin/second", "/bin/second");
	tap_ok(many->fd >= 0 && many->open_path && on_host->fd == -1,
	       "descriptors are bounded: the least recently used file is closed");
	tap_int((long long)dsos.keep.n_open, 3, "as many as allowed");
	tap_ok(dsokeep_hold(on_host) >= 0 && pread(on_host->fd, bytes, 4, 0) == 4 &&
	       !memcmp(bytes, "host", 4) && inside->fd == -1, "it is opened again when it is read");
	dsokeep_release(on_host);
	unlink(in_base("proc/8/root"));
	tap_ok(dsokeep_hold(inside) >= 0 && pread(inside->fd, bytes, 9, 0) == 9 &&
	       !memcmp(bytes, "container", 9), "in a container whose process has ended, too");
	dsokeep_release(inside);
	dsokeep_shed(&dsos.keep, 9);
	unlink(in_base("root/bin/prog"));
	put("root/bin/prog", "other", 5);
	tap_int(dsokeep_hold(on_host), -EMFILE, "another file of that name is not used");
	tap_ok(dsokeep_is_lost(on_host), "which is a loss");
	test_roots(inside, lost);
	teardown();

	/* /proc/8/exe is c/bin/prog, but another file is mapped below it. */
	setup(&host);
	map(8, 0x1000, "c/real/lib.so", "/lib/lib.so");
	const struct procs_process *proc = procs_process(&p, 8);
	tap_str(dso_get(&dsos, proc->exe)->path, "/lib/lib.so", "the first file is used instead");
	map(8, 0x10000, "c/bin/prog", "/bin/prog");
	map(8, 0x20000, "c/bin/second", "/bin/second");
	tap_str(dso_get(&dsos, proc->exe)->path, "/bin/prog", "until /proc/PID/exe comes");
	tap_str(dso_get(&dsos, p.first_exe)->path, "/bin/prog", "also as first main binary");
	teardown();

	setup(&host);
	p.only_targets = true;
	struct dso *other = map(8, 0x10000, "c/bin/prog", "/bin/prog");
	tap_ok(other->fd == -1 && other->open_errno == 0 && p.first_exe == UINT32_MAX,
	       "not opened for a process that is not a target");
	procs_target_process(&p, procs_process(&p, 8));
	tap_ok(other->fd >= 0, "opened when the process becomes a target");
	teardown();

	/* A memfd that contains an ELF file is a file; any other one is JIT code. */
	Elf64_Ehdr elf = { .e_ident = ELFMAG, .e_type = ET_DYN };
	put("c/memfd", &elf, sizeof(elf));
	put("c/jit", "\x90\x90\x90\x90\x90", 5);
	symlink(in_base("c/memfd"), in_base("proc/8/map_files/700000-701000"));
	symlink(in_base("c/jit"), in_base("proc/8/map_files/800000-801000"));
	setup(&host);
	struct dso *d = map(8, 0x700000, "c/memfd", "/memfd:lib (deleted)");
	tap_ok(d->key.kind == DSO_ELF && d->fd >= 0, "a library in a memfd");
	tap_str(d->path, "/memfd:lib", "its name");
	tap_ok(map(8, 0x900000, "c/memfd", "/memfd:lib (deleted)") == d,
	       "found again by its inode");
	d = map(8, 0x800000, "c/jit", "/memfd:jit (deleted)");
	tap_ok(d->key.kind == DSO_ANON, "JIT code in a memfd");
	teardown();
}

/* ---- this process --------------------------------------------------------------------- */

static void feed(void *ctx, const struct record *r)
{
	procs_feed(ctx, r, true);
}

static void test_self(void)
{
	struct host self;
	if (host_open(&self, NULL, NULL, NULL, NULL) < 0)
		return;
	setup(&self);
	uint32_t pid = (uint32_t)getpid();
	synth_process(&self, getpid(), 1, feed, &p);
	struct procs_space *space = &procs_process(&p, pid)->space;
	const struct procs_map *m = procs_space_find(space, (uint64_t)(uintptr_t)&test_self);
	const struct dso *d = m ? dso_get(&dsos, m->dso) : NULL;
	tap_ok(d && d->is_elf && d->fd >= 0 && d->n_segments > 0, "the file of our own code is "
	       "open");
	tap_ok(d && p.first_exe == d->id && procs_process(&p, pid)->exe == d->id,
	       "and is the main binary");
	uint32_t n = space->map.n, serial = space->serial;
	size_t n_open = dsos.keep.n_open;
	synth_process(&self, getpid(), 2, feed, &p);
	tap_ok(space->map.n == n && space->serial == serial && dsos.keep.n_open == n_open,
	       "a second scan changes nothing");
	const struct dso *vdso = NULL;
	for (uint32_t i = 0; i < dsos.n; i++) {
		if (dsos.dso[i]->key.kind == DSO_VDSO)
			vdso = dsos.dso[i];
	}
	if (vdso)
		tap_ok(vdso->n_image_bytes > 0 && vdso->is_elf && vdso->n_segments > 0,
		       "the vdso's image is there");
	else
		tap_skip("vdso", "this kernel maps no vdso");
	teardown();
	host_close(&self);
}

int main(void)
{
	if (!mkdtemp(base))
		return 1;
	put("root/", "", 0);
	put("proc/", "", 0);
	char root[64], proc[64];
	snprintf(root, sizeof(root), "%s/root", base);
	snprintf(proc, sizeof(proc), "%s/proc", base);
	if (host_open(&host, root, proc, "/nonexistent", NULL) < 0)
		return 1;
	test_open();
	test_procs();
	test_self();
	host_close(&host);
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
