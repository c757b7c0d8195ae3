#ifndef CPROF_CMD_AGENT_SERVICE_H
#define CPROF_CMD_AGENT_SERVICE_H

/* What a group of processes is called, by its cgroup and program. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVICE_TEXT_MAX 256

struct service {
	char name[SERVICE_TEXT_MAX];   /* never empty */
	char container_id[65];         /* 64 hexadecimal digits; "" */
	char pod_uid[37];              /* of Kubernetes; "" */
	char namespace[SERVICE_TEXT_MAX], pod[SERVICE_TEXT_MAX], container[SERVICE_TEXT_MAX];
};

/*
 * The name is that of the container, if the folder of the kubelet's logs tells, else of the systemd
 * unit, else of the program, else of the process; "kernel" for the kernel's own threads.  log_fd:
 * /var/log; -1: there is none.
 */
void service_find(const char *cgroup, const char *exe, const char *process_name, int log_fd,
		  struct service *ret);

/* Of what identifies it. */
uint64_t service_hash(const char *cgroup, const char *exe, const char *build_id);

#endif
