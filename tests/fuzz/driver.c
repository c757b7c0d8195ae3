/*
 * Replaces libFuzzer for targets that are built without it: feeds the target each seed of the given
 * folders and files, then damaged copies of it made by a fixed rule, so that every run does the
 * same.  Faults show as a crash or as a sanitizer's report; one TAP line per seed.
 *
 * The copies are exactly as large as their content, in memory of their own, so that the address
 * sanitizer sees the first byte read beyond the end.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DRIVER_MAX_TRIALS 3000

static unsigned n_seeds;

static void driver_feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = calloc(1, size ? size : 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static uint32_t driver_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Prefixes, interesting values written over bytes, and random overwriting. */
static unsigned driver_damage(const uint8_t *data, size_t size)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	unsigned n = 0;
	uint32_t random = 2463534242u;
	uint8_t *damaged = malloc(size ? size : 1);

	if (!damaged)
		abort();
	size_t step = size / (DRIVER_MAX_TRIALS / 3) + 1;
	for (size_t cut = 0; cut < size; cut += step, n++)
		driver_feed(data, cut);
	for (size_t at = 0; at < size; at += step * sizeof(values))
		for (size_t v = 0; v < sizeof(values); v++, n++) {
			memcpy(damaged, data, size);
			damaged[at + v * step < size ? at + v * step : at] = values[v];
			driver_feed(damaged, size);
		}
	for (int round = 0; size && round < DRIVER_MAX_TRIALS / 3; round++, n++) {
		memcpy(damaged, data, size);
		for (uint32_t k = driver_random(&random) % 8 + 1; k; k--)
			damaged[driver_random(&random) % size] = (uint8_t)driver_random(&random);
		driver_feed(damaged, size);
	}
	free(damaged);
	return n;
}

static int driver_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (!f || fstat(fileno(f), &st)) {
		printf("Bail out! cannot open '%s': %s\n", path, strerror(errno));
		return 1;
	}
	size_t size = (size_t)st.st_size;
	uint8_t *data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, f) != size) {
		printf("Bail out! cannot read '%s'\n", path);
		return 1;
	}
	fclose(f);
	driver_feed(data, size);
	unsigned n = driver_damage(data, size);
	free(data);
	const char *base = strrchr(path, '/');
	printf("ok %u - %s, and %u damaged copies of it\n", ++n_seeds, base ? base + 1 : path, n);
	fflush(stdout);
	return 0;
}

static int driver_folder(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), status = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.' && !status) {
			char file[4096];
			snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
			status = driver_file(file);
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}

int main(int argc, char **argv)
{
	driver_feed((const uint8_t *)"", 0);
	printf("ok %u - an empty input\n", ++n_seeds);
	fflush(stdout);
	for (int i = 1; i < argc; i++) {
		int status = driver_folder(argv[i]);
		if (status == -ENOTDIR)
			status = driver_file(argv[i]);
		if (status) {
			printf("Bail out! cannot read '%s'\n", argv[i]);
			return 1;
		}
	}
	if (n_seeds < 2) {
		puts("Bail out! no seeds");
		return 1;
	}
	printf("1..%u\n", n_seeds);
	return 0;
}
