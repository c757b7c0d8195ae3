/* Each thread records itself, at a rate of its own: threads FOLDER */
#include <cprof.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct job {
	const char *rate;
	const char *folder;
	void (*work)(void);
	struct cprof_error error;
	int code;
};

static unsigned long long cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void spin(void)
{
	for (unsigned long long end = cpu_ns() + 600000000; cpu_ns() < end;)
		for (volatile unsigned i = 0; i < 20000; i++)
			;
}

__attribute__((noinline)) static void parse(void) { spin(); __asm__ volatile(""); }
__attribute__((noinline)) static void index_all(void) { spin(); __asm__ volatile("" : : "r"(1)); }
__attribute__((noinline)) static void compress(void) { spin(); __asm__ volatile("" : : "r"(2)); }

static void *run(void *arg)
{
	struct job *j = arg;
	struct cprof_config config = { .self = CPROF_SELF_THREAD, .freq = j->rate };
	struct cprof_recorder *r;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.pb.gz", j->folder, j->rate);
	j->code = cprof_record_begin(&config, &r, &j->error);
	if (j->code < 0)
		return NULL;
	j->work();
	j->code = cprof_record_end(r, path, &j->error);
	return NULL;
}

int main(int argc, char **argv)
{
	struct job job[] = {
		{ .rate = "199", .work = parse }, { .rate = "499", .work = index_all },
		{ .rate = "997", .work = compress },
	};
	pthread_t thread[3];
	int failed = argc != 2;

	for (int i = 0; i < 3; i++) {
		job[i].folder = argv[1];
		if (pthread_create(&thread[i], NULL, run, &job[i]) != 0)
			return 1;
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		if (job[i].code < 0)
			fprintf(stderr, "%s Hz: %s\n%s\n", job[i].rate, job[i].error.what,
				job[i].error.hint);
		failed |= job[i].code < 0;
	}
	return failed;
}
