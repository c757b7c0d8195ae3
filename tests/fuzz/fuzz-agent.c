/*
 * What cprof agent reads: its configuration, and cgroups, programs and names that processes choose
 * for themselves.
 */

#include "base/err.h"
#include "cmd/agent/agent-config.h"
#include "cmd/agent/agent-service.h"

#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_service(char *text)
{
	struct service s;
	char *exe = strchr(text, '\n'), *comm;
	if (exe)
		*exe++ = '\0';
	comm = exe ? strchr(exe, '\n') : NULL;
	if (comm)
		*comm++ = '\0';
	service_find(text, exe ? exe : "", comm ? comm : "", -1, &s);
	check(s.name[0] && strlen(s.name) < sizeof(s.name));
	check(strlen(s.container_id) == 0 || strlen(s.container_id) == 64);
	check(strlen(s.pod_uid) < sizeof(s.pod_uid));
	check(!s.container_id[0] || strstr(text, s.container_id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_config c;
	struct err e = { 0 };
	agent_config_init(&c);
	int r = agent_config_parse(&c, "f", (const char *)data, size, &e);
	check(r == 0 || e.what[0] != '\0');
	check(r < 0 || (c.rate && c.spool[0] == '/' && c.window_ns &&
			c.n_labels <= AGENT_LABELS_MAX && c.smallest_percent >= 0));
	agent_config_done(&c);
	char *text = strndup((const char *)data, size);
	check(text != NULL);
	check_service(text);
	free(text);
	return 0;
}
