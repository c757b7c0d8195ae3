/* Which requests get the page of `cprof report --http`. */
#include "cmd/report/pagerequest.h"

#include "tap.h"

#include <stdlib.h>

static void parse(const char *text, enum pagerequest want, const char *what)
{
	tap_int(pagerequest_parse(text, strlen(text), "c0ffee", 6060), want, what);
}

#define HERE "Host: 127.0.0.1:6060\r\n"

int main(void)
{
	parse("GET /c0ffee/ HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_PAGE, "the page");
	parse("GET /c0ffee/ HTTP/1.0\r\nhost:\tlocalhost:6060 \r\n\r\n", PAGEREQUEST_PAGE,
	      "by the other name");
	parse("GET /c0ffee/alive HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_ALIVE, "it is open");
	parse("GET /c0ffee/ HTTP/1.1\r\n" HERE "\r", PAGEREQUEST_MORE, "an incomplete head");
	parse("", PAGEREQUEST_MORE, "nothing yet");
	parse("GET / HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_NONE, "no token");
	parse("GET /c0ffef/ HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_NONE, "a wrong token");
	parse("GET /c0ffee HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_NONE, "no slash");
	parse("GET /c0ffee/../x HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_NONE, "another path");
	parse("GET /c0ffee/ HTTP/1.1\r\nHost: evil.example:6060\r\n\r\n", PAGEREQUEST_FORBIDDEN,
	      "another name");
	parse("GET /c0ffee/ HTTP/1.1\r\nHost: 127.0.0.1:6061\r\n\r\n", PAGEREQUEST_FORBIDDEN,
	      "another port");
	parse("GET /c0ffee/ HTTP/1.1\r\n" HERE "Host: evil.example\r\n\r\n",
	      PAGEREQUEST_FORBIDDEN, "two names");
	parse("GET /c0ffee/ HTTP/1.1\r\n\r\n", PAGEREQUEST_FORBIDDEN, "no name");
	parse("POST /c0ffee/ HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_METHOD, "another method");
	parse("GET http://127.0.0.1:6060/c0ffee/ HTTP/1.1\r\n" HERE "\r\n", PAGEREQUEST_BAD,
	      "a request to a proxy");
	parse("GET /c0ffee/\r\n" HERE "\r\n", PAGEREQUEST_BAD, "no version");
	parse("\r\n\r\n", PAGEREQUEST_BAD, "an empty head");
	static char large[PAGEREQUEST_BYTES_MAX];
	memset(large, 'a', sizeof(large));
	tap_int(pagerequest_parse(large, sizeof(large), "c0ffee", 6060), PAGEREQUEST_BAD,
		"a head without an end");
	static const char zero[] = "GET /c0ffee/ HTTP/1.1\r\nA: \0\r\n" HERE "\r\n";
	tap_int(pagerequest_parse(zero, sizeof(zero) - 1, "c0ffee", 6060), PAGEREQUEST_BAD,
		"a zero byte");
	return tap_done();
}
