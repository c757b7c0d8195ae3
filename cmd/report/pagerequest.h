#ifndef CPROF_CMD_REPORT_PAGEREQUEST_H
#define CPROF_CMD_REPORT_PAGEREQUEST_H

/* What a browser requests from `cprof report --http`: the head of an HTTP/1.x request. */

#include <stddef.h>

enum pagerequest {
	PAGEREQUEST_MORE,          /* the head is not complete yet */
	PAGEREQUEST_PAGE,
	PAGEREQUEST_ALIVE,         /* the page is open: answered when it is closed */
	PAGEREQUEST_NONE,          /* another path, or a wrong token: 404 */
	PAGEREQUEST_FORBIDDEN,     /* another name of this host (DNS rebinding): 403 */
	PAGEREQUEST_BAD,           /* no such request: 400 */
	PAGEREQUEST_METHOD,        /* not GET: 405 */
};

/* The longest head that is read. */
#define PAGEREQUEST_BYTES_MAX 16384

#define PAGEREQUEST_TOKEN_MAX 64

/* The paths are /TOKEN/ and /TOKEN/alive, and the host 127.0.0.1:PORT or localhost:PORT.  text has
 * n bytes of any kind. */
enum pagerequest pagerequest_parse(const char *text, size_t n, const char *token, unsigned port);

#endif
