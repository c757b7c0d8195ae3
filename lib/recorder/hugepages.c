#include "recorder/hugepages.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <stdlib.h>
#include <string.h>

uint64_t hugepages_faulted(const struct host *host)
{
	static const char key[] = "\nthp_fault_alloc ";
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(host, HOST_PROC, &text, NULL, "vmstat") < 0)
		return 0;
	const char *line = strstr(text, key);
	return line ? strtoull(line + sizeof(key) - 1, NULL, 10) : 0;
}
