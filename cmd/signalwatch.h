#ifndef CPROF_CMD_SIGNALWATCH_H
#define CPROF_CMD_SIGNALWATCH_H

/*
 * A thread that ends the program when SIGINT, SIGTERM or SIGHUP has come and the main thread cannot
 * take it, because it waits for a file system that does not answer: for the folder of the output,
 * or for the cache.  No handler runs during such a wait, but the end of the process ends it.
 */

/* Starts it once in a process.  end: called in that thread with the signal; must not return.
 * Without memory for a thread there is none. */
void signalwatch_start(void (*end)(int signal));

#endif
