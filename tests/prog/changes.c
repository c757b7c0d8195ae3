/*
 * changes SCENE [NEXT]: threads with known stacks that do not stay.
 *
 * Compiled with -DSIDE=even or -DSIDE=odd, with which the names of its functions begin.  A thread
 * naps for some 100 us in SIDE_nap <- SIDE_f1 <- SIDE_f2 <- SIDE_f3 <- SIDE_thread.  Each thread
 * writes "SIDE TID" to descriptor 3.
 *
 *	exit      twenty threads at a time, each of which ends after one nap
 *	exec      six threads, and after 2 ms the program NEXT replaces this one, with this one as
 *	          its own NEXT
 *	starts    no thread, and after 100 us the program NEXT replaces this one, likewise
 *	uid       six threads, while the effective user changes to another one and back
 *	maps      no thread; SIDE_burns <- SIDE_maps <- main, in copies of its code, each of which
 *	          is used for some 100 us.  The last thousand stay
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define OWN(name) JOIN(SIDE, name)
#define TEXT_(s) #s
#define TEXT(s) TEXT_(s)
#define SIDE_TEXT TEXT(SIDE)
#define OUT_OF_LINE __attribute__((noinline, noclone))

static volatile int sink;
static volatile int for_ever;

OUT_OF_LINE static void OWN(nap)(long us)
{
	const struct timespec t = { .tv_nsec = us * 1000 };
	nanosleep(&t, NULL);
	sink++;
}
OUT_OF_LINE static void OWN(f1)(long us) { OWN(nap)(us); sink++; }
OUT_OF_LINE static void OWN(f2)(long us) { OWN(f1)(us); sink++; }
OUT_OF_LINE static void OWN(f3)(long us) { OWN(f2)(us); sink++; }

static void *OWN(thread)(void *us)
{
	dprintf(3, "%s %d\n", SIDE_TEXT, gettid());
	do
		OWN(f3)((long)us);
	while (for_ever);
	return NULL;
}

static void start(pthread_t *t, long us)
{
	if (pthread_create(t, NULL, OWN(thread), (void *)us) != 0)
		perror("changes: pthread_create");
}

OUT_OF_LINE static void OWN(exits)(void)
{
	pthread_t t[20];
	for (;;) {
		for (long i = 0; i < 20; i++)
			start(&t[i], 100 + i * 37);
		for (int i = 0; i < 20; i++)
			pthread_join(t[i], NULL);
	}
}

static void start_some(void)
{
	pthread_t t;
	for_ever = 1;
	for (long i = 0; i < 6; i++)
		start(&t, 100 + i * 211);
}

OUT_OF_LINE static void OWN(execs)(char **argv)
{
	char *next[] = { argv[2], argv[1], argv[0], NULL };
	start_some();
	OWN(nap)(2000);
	execv(next[0], next);
	perror("changes: execv");
	exit(127);
}

OUT_OF_LINE static void OWN(starts)(char **argv)
{
	char *next[] = { argv[2], argv[1], argv[0], NULL };
	dprintf(3, "%s %d\n", SIDE_TEXT, gettid());
	OWN(nap)(100);
	execv(next[0], next);
	perror("changes: execv");
	exit(127);
}

/* Runs anywhere. */
OUT_OF_LINE static void OWN(burns)(long n)
{
	for (; n > 0; n--)
		__asm__ volatile("");
}

/* *arg: in, an address; out, the offset in the program's file. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long *at = arg;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		if (h->p_type == PT_LOAD && *at - h->p_vaddr < h->p_filesz) {
			*at += h->p_offset - h->p_vaddr;
			return 1;
		}
	}
	return 0;
}

OUT_OF_LINE static void OWN(maps)(void)
{
	enum { N_COPIES = 1000, BYTES = 8192 };
	static char *copies[N_COPIES];
	char *next = (char *)(1UL << 36);
	unsigned long offset = (unsigned long)OWN(burns), page = offset % 4096;
	int fd = open("/proc/self/exe", O_RDONLY);
	dl_iterate_phdr(find_offset, &offset);
	dprintf(3, "%s %d\n", SIDE_TEXT, gettid());
	for (int i = 0;; i = (i + 1) % N_COPIES) {
		if (copies[i])
			munmap(copies[i], BYTES);
		copies[i] = mmap(next, BYTES, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, (off_t)(offset - page));
		next += BYTES;
		if (copies[i] == MAP_FAILED) {
			perror("changes: mmap");
			exit(1);
		}
		((void (*)(long))(copies[i] + page))(400000);
		sink++;
	}
}

OUT_OF_LINE static void OWN(users)(void)
{
	start_some();
	for (;;) {
		if (seteuid(65534) != 0 || seteuid(0) != 0)
			perror("changes: seteuid");
		OWN(nap)(300);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "exec") == 0)
		OWN(execs)(argv);
	if (argc == 3 && strcmp(argv[1], "starts") == 0)
		OWN(starts)(argv);
	if (argc == 2 && strcmp(argv[1], "maps") == 0)
		OWN(maps)();
	if (argc == 2 && strcmp(argv[1], "uid") == 0)
		OWN(users)();
	if (argc == 2 && strcmp(argv[1], "exit") == 0)
		OWN(exits)();
	return 64;
}
