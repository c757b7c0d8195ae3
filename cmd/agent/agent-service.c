/*
 * Container runtimes write the id of a container into the name of its cgroup:
 *     /system.slice/docker-ID.scope   /docker/ID   cri-containerd-ID.scope   crio-ID   libpod-ID
 * and the kubelet that of the pod:
 *     /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/   /kubepods/podUID/
 * with '_' for '-' where systemd does not allow these.  The names of pods and containers are in
 * /var/log/pods/NAMESPACE_POD_UID/CONTAINER and /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log.
 */
#include "cmd/agent/agent-service.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/path.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define ID_DIGITS 64u
#define UID_CHARS 36u

static bool is_hex(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return true;
}

/* The id in one part of the path. */
static bool find_id(const char *part, size_t n, char ret[ID_DIGITS + 1])
{
	static const char *const ends[] = { "", ".scope", ".service" };
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n_end = strlen(ends[i]);
		if (n < ID_DIGITS + n_end || memcmp(part + n - n_end, ends[i], n_end) != 0)
			continue;
		const char *id = part + n - n_end - ID_DIGITS;
		if (!is_hex(id, ID_DIGITS) || (id > part && id[-1] != '-'))
			continue;
		memcpy(ret, id, ID_DIGITS);
		ret[ID_DIGITS] = '\0';
		return true;
	}
	return false;
}

/* The uid of a pod: 8-4-4-4-12 digits, or 32 of a static pod. */
static bool find_uid(const char *part, size_t n, char ret[UID_CHARS + 1])
{
	if (n > 6 && memcmp(part + n - 6, ".slice", 6) == 0)
		n -= 6;
	const char *pod = NULL;
	for (size_t i = 0; i + 3 < n; i++)
		if (memcmp(part + i, "pod", 3) == 0 && (i == 0 || part[i - 1] == '-'))
			pod = part + i + 3;
	size_t n_uid = pod ? (size_t)(part + n - pod) : 0;
	if (n_uid != UID_CHARS && n_uid != 32)
		return false;
	for (size_t i = 0; i < n_uid; i++) {
		ret[i] = pod[i] == '_' ? '-' : pod[i];
		if (ret[i] != '-' && !is_hex(&ret[i], 1))
			return false;
	}
	ret[n_uid] = '\0';
	return true;
}

static void set_text(char to[SERVICE_TEXT_MAX], const char *text, size_t n)
{
	snprintf(to, SERVICE_TEXT_MAX, "%.*s", (int)(n < SERVICE_TEXT_MAX ? n : SERVICE_TEXT_MAX),
		 text);
}

/* A unit that says what runs: no session of a user, and no manager. */
static bool is_unit(const char *part, size_t n)
{
	if (n <= 8 || memcmp(part + n - 8, ".service", 8) != 0)
		return false;
	return strncmp(part, "user@", 5) != 0;
}

static void read_cgroup(const char *cgroup, struct service *s, char unit[SERVICE_TEXT_MAX])
{
	for (const char *at = cgroup; *at;) {
		size_t n = strcspn(at, "/");
		if (!s->container_id[0])
			find_id(at, n, s->container_id);
		if (!s->pod_uid[0])
			find_uid(at, n, s->pod_uid);
		/* "getty@tty1.service" is one of many getty. */
		if (is_unit(at, n) && !s->container_id[0])
			set_text(unit, at, strcspn(at, "@") < n ? strcspn(at, "@") : n - 8);
		at += n + (at[n] == '/');
	}
}

/* ---- the kubelet's folders ----------------------------------------------------------- */

static DIR *open_folder(int log_fd, const char *name)
{
	int fd = log_fd < 0 ? -1 : openat(log_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* "NAMESPACE_POD_UID" */
static void find_pod(int log_fd, struct service *s)
{
	CLEANUP_CLOSEDIR DIR *dir = open_folder(log_fd, "pods");
	const struct dirent *d;
	while (dir && (d = readdir(dir))) {
		const char *uid = strrchr(d->d_name, '_'), *pod = strchr(d->d_name, '_');
		if (!uid || uid == pod || strcmp(uid + 1, s->pod_uid) != 0)
			continue;
		set_text(s->namespace, d->d_name, (size_t)(pod - d->d_name));
		set_text(s->pod, pod + 1, (size_t)(uid - pod - 1));
		return;
	}
}

/* "POD_NAMESPACE_CONTAINER-ID.log" */
static void find_container(int log_fd, struct service *s)
{
	CLEANUP_CLOSEDIR DIR *dir = open_folder(log_fd, "containers");
	const struct dirent *d;
	const size_t n_end = 1 + ID_DIGITS + 4;
	while (dir && (d = readdir(dir))) {
		size_t n = strlen(d->d_name);
		const char *name = strrchr(d->d_name, '_');
		if (!name || n < n_end || d->d_name + n - n_end <= name ||
		    strncmp(d->d_name + n - n_end + 1, s->container_id, ID_DIGITS) != 0 ||
		    strcmp(d->d_name + n - 4, ".log") != 0)
			continue;
		set_text(s->container, name + 1, (size_t)(d->d_name + n - n_end - name - 1));
		return;
	}
}

void service_find(const char *cgroup, const char *exe, const char *process_name, int log_fd,
		  struct service *ret)
{
	char unit[SERVICE_TEXT_MAX] = "";
	*ret = (struct service){ .name = "" };
	read_cgroup(cgroup, ret, unit);
	if (ret->pod_uid[0])
		find_pod(log_fd, ret);
	if (ret->container_id[0])
		find_container(log_fd, ret);
	bool is_kernel = !*exe && (!*cgroup || strcmp(cgroup, "/") == 0);
	const char *name = ret->container[0] ? ret->container : unit[0] ? unit
			 : is_kernel ? "kernel" : *exe ? path_base_name(exe)
			 : *process_name ? process_name : "unknown";
	set_text(ret->name, name, strlen(name));
}

uint64_t service_hash(const char *cgroup, const char *exe, const char *build_id)
{
	uint64_t h = hash_bytes_fixed(cgroup, strlen(cgroup));
	h = hash_pair_fixed(h, hash_bytes_fixed(exe, strlen(exe)));
	return hash_pair_fixed(h, hash_bytes_fixed(build_id, strlen(build_id)));
}
