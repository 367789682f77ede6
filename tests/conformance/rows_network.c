/* What a profile promises of the network: an empty namespace, and sockets of few kinds (calls.c).
 */
#include "tests/conformance/conform.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_own(const char *what)
{
	return strcmp(what, "own") == 0;
}

/* A listener of this process's own on a free port of loopback. */
static int own_port(int type)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &size) < 0)
		return 0;
	if (type == SOCK_STREAM)
		listen(fd, 1);
	return ntohs(addr.sin_port);
}

static long act_tcp(const char *what)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	long r;

	addr.sin_port = htons((uint16_t)(is_own(what) ? own_port(SOCK_STREAM) : outside.tcp_port));
	r = or_errno(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	close(fd);
	return r;
}

/* The first datagram to a port without a listener is answered by an error, which the second one
 * tells. */
static long act_udp(const char *what)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long r;

	addr.sin_port = htons((uint16_t)(is_own(what) ? own_port(SOCK_DGRAM) : outside.udp_port));
	r = or_errno(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	if (r == 0)
		r = or_errno(send(fd, "x", 1, 0));
	usleep(20000);
	if (r >= 0)
		r = or_errno(send(fd, "x", 1, 0));
	close(fd);
	return r;
}

static long abstract_address(struct sockaddr_un *addr, const char *name)
{
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path + 1, name, strlen(name));
	return (long)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static long act_abstract(const char *what)
{
	struct sockaddr_un addr = {0};
	socklen_t size;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), own = socket(AF_UNIX, SOCK_STREAM, 0);
	long r;

	size = (socklen_t)abstract_address(&addr, is_own(what) ? "conform-own" : outside.abstract);
	if (is_own(what) && (bind(own, (struct sockaddr *)&addr, size) < 0 || listen(own, 1) < 0))
		return -errno;
	r = or_errno(connect(fd, (struct sockaddr *)&addr, size));
	close(fd);
	close(own);
	return r;
}

/* "lo": loopback is there; "others": so is another interface. */
static long act_interface(const char *what)
{
	struct if_nameindex *all = if_nameindex(), *one;
	bool lo = false, others = false;

	for (one = all; one && one->if_index; one++) {
		if (strcmp(one->if_name, "lo") == 0)
			lo = true;
		else
			others = true;
	}
	if (all)
		if_freenameindex(all);
	return (strcmp(what, "lo") == 0 ? lo : others) ? 0 : -ENODEV;
}

/* A way to an address of documentation: no packet leaves. */
static long act_route(const char *address)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long r;

	inet_pton(AF_INET, address, &addr.sin_addr);
	r = or_errno(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	close(fd);
	return r;
}

#define NETWORK(name, act, control, probe, refusal)                                                \
	{                                                                                          \
		SETTING_CLOSED, "networkBoundary", "network namespace", name, act, control, probe, \
			refusal, 0                                                                 \
	}

static const struct row rows[] = {
	NETWORK("a connection to a port of the host", act_tcp, "own", "outside", ECONNREFUSED),
	NETWORK("datagrams to one", act_udp, "own", "outside", ECONNREFUSED),
	NETWORK("an abstract socket of the host", act_abstract, "own", "outside", ECONNREFUSED),
	NETWORK("interfaces beside loopback", act_interface, "lo", "others", ENODEV),
	NETWORK("a way to elsewhere", act_route, "127.0.0.1", "192.0.2.1", ENETUNREACH),
	{SETTING_OPEN, "processBoundary", "landlock", "scope: abstract sockets", act_abstract,
	 "own", "outside", EPERM, 0},
};

const struct row_table rows_network = {rows, sizeof(rows) / sizeof(rows[0])};
