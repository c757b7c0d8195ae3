/* Three recorders of one program at the same time, each with a rate of its own: waits FOLDER */
#include <cprof.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Holds the lock for 2 ms, as if it wrote to a disk. */
static void *store(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		usleep(2000);
		pthread_mutex_unlock(&lock);
		usleep(100);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct cprof_config config[] = {
		{ .kind = cprof_wall_recorder(), .freq = "99" },      /* running time at 99 Hz */
		{ .kind = cprof_block_recorder(), .period = "1ms" },  /* one per ms of delay */
		{ .kind = cprof_mutex_recorder() },                   /* each contention */
	};
	struct cprof_recorder *r[3] = { NULL };
	struct cprof_error e;
	pthread_t thread[2];
	char path[4096];
	int n_failed = argc != 2;

	for (int i = 0; i < 3; i++) {
		config[i].self = CPROF_SELF_PROCESS;
		if (cprof_recorder_new(&config[i], &r[i], &e) < 0 ||
		    cprof_recorder_start(r[i], &e) < 0) {
			fprintf(stderr, "%s\n%s\n", e.what, e.hint);
			cprof_recorder_free(r[i]);
			r[i] = NULL;
		}
	}
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, store, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++) {
		if (!r[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s.pb.gz", argv[1],
			 cprof_kind_name(config[i].kind));
		if (cprof_recorder_stop(r[i], &e) < 0 ||
		    cprof_recorder_write_file(r[i], 0, path, &e) < 0) {
			fprintf(stderr, "%s\n", e.what);
			n_failed++;
		}
		cprof_recorder_free(r[i]);
	}
	return n_failed != 0;
}
