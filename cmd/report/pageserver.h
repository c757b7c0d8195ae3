#ifndef CPROF_CMD_REPORT_PAGESERVER_H
#define CPROF_CMD_REPORT_PAGESERVER_H

/* Shows a page in a browser on this machine: `cprof report --http`. */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct pageserver_options {
	const void *page;
	size_t n_page_bytes;
	unsigned port;             /* of 127.0.0.1; 0: any free one */
	bool opens_browser;
};

/* Serves the page at an address with a random token, which is printed to stderr, until it was open
 * and is closed, or until SIGINT, SIGTERM or SIGHUP.  -errno with e set. */
int pageserver_run(const struct pageserver_options *o, struct err *e);

#endif
