/* Profiles a part of a program: recording FILE.pb.gz */
#include <cprof.h>
#include <stdio.h>
#include <time.h>

#define MS 1000000ull

static unsigned long long cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static volatile unsigned long long sum;

static void spin(unsigned long long ns)
{
	for (unsigned long long end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 20000; i++)
			sum += (unsigned)i;
}

__attribute__((noinline)) static void read_input(void) { spin(200 * MS); sum++; }
__attribute__((noinline)) static void sort_rows(void) { spin(300 * MS); sum++; }
__attribute__((noinline)) static void print_result(void) { spin(200 * MS); sum++; }

int main(int argc, char **argv)
{
	struct cprof_recorder *r = NULL;
	struct cprof_error e;

	(void)argc;
	read_input();
	if (cprof_record_begin(NULL, &r, &e) < 0)
		fprintf(stderr, "no profile: %s\n%s\n", e.what, e.hint);
	sort_rows();
	if (cprof_record_end(r, argv[1], &e) < 0) {
		fprintf(stderr, "%s\n%s\n", e.what, e.hint);
		return 1;
	}
	print_result();
	return 0;
}
