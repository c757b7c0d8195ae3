/*
 * Loads a library, works in it, unloads it and loads another one, which the kernel usually maps at
 * the same address.  Prints `same_address yes` if it did.
 *
 * usage: dlopener [ROUNDS [LIBRARY_A LIBRARY_B]]
 */
#include "prog.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Runs the work of one library; returns the address of the library. */
static void *load_and_work(const char *file, const char *function, uint64_t rounds)
{
	void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "dlopener: %s\n", dlerror());
		exit(1);
	}
	void *symbol = dlsym(lib, function);
	Dl_info info;
	if (!symbol || !dladdr(symbol, &info))
		exit(1);
	void (*work)(uint64_t);
	memcpy(&work, &symbol, sizeof(work));
	work(rounds);
	dlclose(lib);
	return info.dli_fbase;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], a[PATH_MAX + 32], b[PATH_MAX + 32];
	uint64_t rounds = prog_arg(argc, argv, 1, 200);
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return 1;
	self[len] = 0;
	*strrchr(self, '/') = 0;
	snprintf(a, sizeof(a), "%s/liba.so", self);
	snprintf(b, sizeof(b), "%s/libb.so", self);
	void *base_a = load_and_work(argc > 3 ? argv[2] : a, "work_in_a", rounds);
	void *base_b = load_and_work(argc > 3 ? argv[3] : b, "work_in_b", rounds);
	printf("same_address %s\n", base_a == base_b ? "yes" : "no");
	prog_print_cpu();
	return 0;
}
