/* Debug information that is unpacked while recording goes on. */

#include "recorder/ahead.h"

#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include "base/err.h"
#include "base/host.h"
#include "cprof-names.h"

#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

static char root[] = "/tmp/cprof-test-XXXXXX";
static char cache[64];
static struct host host;

static size_t add_name(char *names, size_t *n, const char *name)
{
	size_t at = *n;
	strcpy(names + at, name);
	*n += strlen(name) + 1;
	return at;
}

/* A section full of bytes of little use. */
static void add_section(Elf *elf, size_t name, uint32_t type, void *bytes, size_t n, bool packed)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	data->d_buf = bytes;
	data->d_size = n;
	data->d_align = 1;
	data->d_version = EV_CURRENT;
	gelf_getshdr(scn, &sh);
	sh.sh_name = (uint32_t)name;
	sh.sh_type = type;
	gelf_update_shdr(scn, &sh);
	if (packed && elf_compress(scn, ELFCOMPRESS_ZLIB, 0) < 0)
		printf("Bail out! %s\n", elf_errmsg(-1));
}

/* A program with debug information of 500 + 200 KB. */
static struct dso make_file(const char *name, bool packed)
{
	static uint8_t info[500000], line[200000];
	static char names[100], path[100];
	size_t n = 1;
	GElf_Ehdr eh;
	for (size_t i = 0; i < sizeof(info); i++)
		info[i] = (uint8_t)(i * i >> 7);
	memcpy(line, info, sizeof(line));
	snprintf(path, sizeof(path), "%s/%s", root, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
	gelf_newehdr(elf, ELFCLASS64);
	gelf_getehdr(elf, &eh);
	eh.e_type = ET_DYN;
	eh.e_machine = EM_X86_64;
	eh.e_version = EV_CURRENT;
	eh.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	eh.e_shstrndx = 3;
	gelf_update_ehdr(elf, &eh);
	size_t info_name = add_name(names, &n, ".debug_info");
	size_t line_name = add_name(names, &n, ".debug_line");
	size_t own_name = add_name(names, &n, ".shstrtab");
	add_section(elf, info_name, SHT_PROGBITS, info, sizeof(info), packed);
	add_section(elf, line_name, SHT_PROGBITS, line, sizeof(line), packed);
	add_section(elf, own_name, SHT_STRTAB, names, n, false);
	if (elf_update(elf, ELF_C_WRITE) < 0)
		printf("Bail out! %s\n", elf_errmsg(-1));
	elf_end(elf);
	return (struct dso){ .key.kind = DSO_ELF, .fd = fd, .path = path };
}

/* How many files the cache has; they go. */
static unsigned n_cached(void)
{
	unsigned n = 0;
	DIR *d = opendir(cache);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		n += strncmp(e->d_name, "unpacked-", 9) == 0;
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	return n;
}

static void run(const struct dso *d, uint64_t n_bytes_min, bool stop)
{
	struct cprof_ahead *a = ahead_new(&host, cache, &d, 1);
	tap_ok(a && a->n_files == 1, "%s", d->path);
	a->n_bytes_min = n_bytes_min;
	if (stop)
		cprof_ahead_stop(a);
	cprof_ahead_run(a);
	cprof_ahead_free(a);
}

static void test_files(void)
{
	static char none[] = "none";
	struct dso d = make_file("packed", true);
	run(&d, 100000, false);
	tap_int(n_cached(), 2, "both sections are unpacked");
	run(&d, 500001, false);
	tap_int(n_cached(), 0, "not if there is less than that");
	run(&d, 0, true);
	tap_int(n_cached(), 0, "stopped before it begins it does nothing");
	close(d.fd);
	d = make_file("plain", false);
	run(&d, 0, false);
	tap_int(n_cached(), 0, "nor with what is not compressed");
	close(d.fd);
	d = (struct dso){ .key.kind = DSO_ELF, .fd = open("/dev/null", O_RDONLY), .path = none };
	run(&d, 0, false);
	tap_int(n_cached(), 0, "nor with what is no program");
	close(d.fd);
}

static void test_find(void)
{
	static struct engine g;
	struct ahead_seen seen = { 0 };
	const struct dso *found[AHEAD_FILES_MAX];
	struct dso file = make_file("packed", true);
	feed_open(&g, 0);
	tap_int(ahead_find(&seen, &g, found), 0, "there are no samples yet");
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x1000, 0x1000, 0, "/bin/hot");
	feed_mmap(&g, 7, 0x5000, 0x1000, 0, "/bin/cold");
	feed_mmap(&g, 7, 0x9000, 0x1000, 0, "/bin/idle");
	for (unsigned i = 0; i < 99; i++)
		feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x1010));
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x5010));
	for (uint32_t i = 0; i < g.dsos.n; i++)
		if (g.dsos.dso[i] && g.dsos.dso[i]->key.kind == DSO_ELF)
			dso_set_file(g.dsos.dso[i], dup(file.fd), NULL);
	tap_int(ahead_find(&seen, &g, found), 1, "a file with many samples");
	tap_str(found[0]->path, "/bin/hot", "not one with few");
	tap_int(ahead_find(&seen, &g, found), 0, "once");
	VEC_FREE(&seen.serials);
	engine_done(&g);
	close(file.fd);
}

int main(void)
{
	struct err e;
	char clean[64];
	if (!mkdtemp(root) || host_open(&host, NULL, NULL, NULL, &e) < 0)
		printf("Bail out! no temporary folder\n");
	snprintf(cache, sizeof(cache), "%s/cache", root);
	elf_version(EV_CURRENT);
	test_files();
	test_find();
	host_close(&host);
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
