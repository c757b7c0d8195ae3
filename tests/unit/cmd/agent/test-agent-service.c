#include "cmd/agent/agent-service.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
#define UID_ "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0"

static struct service find(const char *cgroup, const char *exe, const char *comm, int log_fd)
{
	struct service s;
	service_find(cgroup, exe, comm, log_fd, &s);
	return s;
}

static void is_named(const char *cgroup, const char *exe, const char *comm, const char *want)
{
	char name[400];
	snprintf(name, sizeof(name), "%s %s %s", cgroup, exe, comm);
	tap_str(find(cgroup, exe, comm, -1).name, want, name);
}

static void names(void)
{
	is_named("/system.slice/nginx.service", "/usr/sbin/nginx", "nginx", "nginx");
	is_named("/system.slice/system-getty.slice/getty@tty1.service", "/sbin/agetty", "",
		 "getty");
	is_named("/user.slice/user-0.slice/session-3.scope", "/usr/bin/vim", "vim", "vim");
	is_named("/user.slice/user-1.slice/user@1.service/app.slice/app-foo.service", "/x", "x",
		 "app-foo");
	is_named("/user.slice/user-1.slice/user@1.service/init.scope", "/lib/systemd/systemd", "s",
		 "systemd");
	is_named("/", "/usr/bin/gcc", "cc1", "gcc");
	is_named("/", "", "kworker/0:1", "kernel");
	is_named("", "", "", "kernel");
	is_named("/a", "", "java", "java");
	is_named("/a", "", "", "unknown");
	is_named("/system.slice/.service", "/bin/a", "", "a");
	is_named("/system.slice/docker-" ID ".scope", "/usr/bin/redis", "redis", "redis");
}

static void has_id(const char *cgroup, const char *want)
{
	tap_str(find(cgroup, "/a", "", -1).container_id, want, cgroup);
}

static void containers(void)
{
	has_id("/docker/" ID, ID);
	has_id("/system.slice/docker-" ID ".scope", ID);
	has_id("/machine.slice/libpod-" ID ".scope/container", ID);
	has_id("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	       ".slice/cri-containerd-" ID ".scope", ID);
	has_id("/kubepods/besteffort/pod" UID "/" ID, ID);
	has_id("/docker/0" ID, "");
	has_id("/docker/" ID "0", "");
	has_id("/system.slice/docker.service", "");
	static const char *const pods[] = {
		"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope",
		"/kubepods/besteffort/pod" UID "/" ID,
	};
	for (size_t i = 0; i < 2; i++)
		tap_str(find(pods[i], "/a", "", -1).pod_uid, UID, pods[i]);
	tap_str(find("/podman.slice/tripod-1.slice", "/a", "", -1).pod_uid, "", "other pods");
}

static void make(const char *folder, const char *name, bool is_folder)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = is_folder ? mkdir(path, 0700) : open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (!is_folder && fd >= 0)
		close(fd);
}

static void kubernetes(void)
{
	char folder[] = "/tmp/test-service-XXXXXX", command[64];
	if (!mkdtemp(folder))
		return;
	make(folder, "pods", true);
	make(folder, "pods/shop_cart-7d9_" UID, true);
	make(folder, "pods/odd", true);
	make(folder, "pods/_" UID, true);
	make(folder, "containers", true);
	make(folder, "containers/cart-7d9_shop_server-" ID ".log", false);
	make(folder, "containers/x_y_-" ID, false);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct service s = find("/kubepods/pod" UID "/" ID, "/app/server", "server", fd);
	tap_str(s.namespace, "shop", "the namespace of a pod");
	tap_str(s.pod, "cart-7d9", "its name");
	tap_str(s.container, "server", "the container");
	tap_str(s.name, "server", "which is the service");
	s = find("/kubepods/pod" UID "/", "/app/pause", "pause", fd);
	tap_str(s.name, "pause", "a pod without a container has the name of its program");
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	tap_int(system(command), 0, "the folder is removed");
}

int main(void)
{
	names();
	containers();
	kubernetes();
	tap_ok(service_hash("/a", "/b", "c") != service_hash("/a", "/b", "d") &&
	       service_hash("/a", "/b", "") != service_hash("/b", "/a", ""),
	       "the hash depends on all that identifies a service");
	return tap_done();
}
