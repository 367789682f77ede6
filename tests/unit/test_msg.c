/* Messages: what does not fit its row is refused and no descriptor of it stays open. */
#include "tests/unit/helper.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/base/msg.h"

enum { HELLO = 1, WITH_FDS, BIG, FULL };

static const struct msg_row rows[] = {
	{HELLO, "hello", 16, 0},
	{WITH_FDS, "with-fds", 0, 2},
	{BIG, "big", MSG_PAYLOAD_MAX, 0},
	{FULL, "full", 4, MSG_FDS_MAX},
};
static const struct msg_protocol protocol = {"test", rows, ARRAY_SIZE(rows)};

struct raw_header {
	uint32_t magic;
	uint16_t type, reserved;
	uint32_t length;
};

#define MAGIC 0x53627831u

static int setup(void **state)
{
	int *pair = calloc(3, sizeof(int));

	*state = pair;
	if (msg_socketpair(pair) < 0)
		return 1;
	pair[2] = count_fds();
	return 0;
}

static int teardown(void **state)
{
	int *pair = *state;

	assert_int_equal(count_fds(), pair[2]);
	close(pair[0]);
	close(pair[1]);
	free(pair);
	return 0;
}

/* Send any bytes with any descriptors, as a hostile peer would. */
static void send_raw(int fd, const void *data, size_t len, int fds_n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 32)];
	} control = {0};
	struct iovec iov = {(void *)data, len};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds_n) {
		struct cmsghdr *cmsg;
		int null = open("/dev/null", O_RDONLY);

		hdr.msg_control = control.bytes;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)fds_n);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)fds_n);
		for (int i = 0; i < fds_n; i++)
			memcpy(CMSG_DATA(cmsg) + (size_t)i * sizeof(int), &null, sizeof(int));
		assert_int_equal(sendmsg(fd, &hdr, 0), (ssize_t)len);
		close(null);
	} else {
		assert_int_equal(sendmsg(fd, &hdr, 0), (ssize_t)len);
	}
}

static void test_payload(void **state)
{
	int *pair = *state;
	static unsigned char big[MSG_PAYLOAD_MAX];
	struct msg msg;

	assert_int_equal(msg_send(pair[0], &protocol, HELLO, "hi", 2, NULL, 0), 0);
	assert_int_equal(msg_send(pair[0], &protocol, HELLO, NULL, 0, NULL, 0), 0);
	memset(big, 0xab, sizeof(big));
	assert_int_equal(msg_send(pair[0], &protocol, BIG, big, sizeof(big), NULL, 0), 0);
	assert_int_equal(msg_receive(pair[1], &protocol, &msg), 0);
	assert_int_equal(msg.type, HELLO);
	assert_int_equal(msg.len, 2);
	assert_memory_equal(msg.payload, "hi", 2);
	assert_int_equal(msg.fd_count, 0);
	assert_int_equal(msg_receive(pair[1], &protocol, &msg), 0);
	assert_int_equal(msg.len, 0);
	assert_int_equal(msg_receive(pair[1], &protocol, &msg), 0);
	assert_int_equal(msg.len, sizeof(big));
	assert_memory_equal(msg.payload, big, sizeof(big));
}

static void test_fds(void **state)
{
	int *pair = *state;
	int fds[2] = {open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY)};
	struct stat st, want;
	struct msg msg;

	assert_int_equal(msg_send(pair[0], &protocol, WITH_FDS, NULL, 0, fds, 2), 0);
	assert_int_equal(stat("/dev/zero", &want), 0);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(msg_receive(pair[1], &protocol, &msg), 0);
	assert_int_equal(msg.fd_count, 2);
	assert_int_equal(fcntl(msg.fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(msg.fds[1], &st), 0);
	assert_true(st.st_rdev == want.st_rdev);
	assert_int_equal(msg.fds[2], -EBADF);
	/* A taken descriptor is not closed. */
	fds[0] = take_fd(&msg.fds[0]);
	msg_close_fds(&msg);
	assert_int_equal(msg.fd_count, 0);
	assert_true(fcntl(fds[0], F_GETFD) >= 0);
	close(fds[0]);
	msg_close_fds(&msg);
}

static void test_send_refuses(void **state)
{
	int *pair = *state;
	int fds[2] = {0, 0};
	char data[17] = {0};

	assert_int_equal(msg_send(pair[0], &protocol, HELLO, data, 17, NULL, 0), -EPROTO);
	assert_int_equal(msg_send(pair[0], &protocol, HELLO, data, 1, fds, 1), -EPROTO);
	assert_int_equal(msg_send(pair[0], &protocol, WITH_FDS, NULL, 0, fds, 1), -EPROTO);
	assert_int_equal(msg_send(pair[0], &protocol, 99, NULL, 0, NULL, 0), -EPROTO);
	assert_int_equal(recv(pair[1], data, sizeof(data), MSG_DONTWAIT), -1);
}

static void test_receive_refuses(void **state)
{
	int *pair = *state;
	static struct {
		struct raw_header h;
		unsigned char data[MSG_PAYLOAD_MAX + 100];
	} raw;
	struct msg msg = {.type = 77, .len = 5};
	static const struct {
		const char *what;
		struct raw_header h;
		size_t bytes; /* sent, with the header */
		int fds;
	} cases[] = {
		{"wrong magic", {MAGIC + 1, HELLO, 0, 0}, 12, 0},
		{"reserved", {MAGIC, HELLO, 1, 0}, 12, 0},
		{"unknown type", {MAGIC, 99, 0, 0}, 12, 0},
		{"short header", {MAGIC, HELLO, 0, 0}, 11, 0},
		{"length above bytes", {MAGIC, HELLO, 0, 8}, 19, 0},
		{"length below bytes", {MAGIC, HELLO, 0, 6}, 19, 0},
		{"length wraps", {MAGIC, HELLO, 0, 0xffffffff}, 19, 0},
		{"payload above row", {MAGIC, HELLO, 0, 17}, 29, 0},
		{"above every row", {MAGIC, BIG, 0, MSG_PAYLOAD_MAX + 50}, 12 + 8192 + 50, 0},
		{"fds not expected", {MAGIC, HELLO, 0, 0}, 12, 1},
		{"fds missing", {MAGIC, WITH_FDS, 0, 0}, 12, 0},
		{"fds too few", {MAGIC, WITH_FDS, 0, 0}, 12, 1},
		{"fds too many", {MAGIC, WITH_FDS, 0, 0}, 12, 3},
		{"fds more than fit", {MAGIC, FULL, 0, 0}, 12, MSG_FDS_MAX + 1},
		{"far more fds", {MAGIC, FULL, 0, 0}, 12, 30},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		raw.h = cases[i].h;
		send_raw(pair[0], &raw, cases[i].bytes, cases[i].fds);
		if (msg_receive(pair[1], &protocol, &msg) != -EPROTO)
			fail_msg("%s was taken", cases[i].what);
		assert_int_equal(count_fds(), pair[2]);
	}
	assert_int_equal(msg.type, 77); /* untouched */
	assert_int_equal(msg.len, 5);
	/* The border: exactly as many as fit is fine. */
	raw.h = (struct raw_header){MAGIC, FULL, 0, 0};
	send_raw(pair[0], &raw, 12, MSG_FDS_MAX);
	assert_int_equal(msg_receive(pair[1], &protocol, &msg), 0);
	assert_int_equal(msg.fd_count, MSG_FDS_MAX);
	msg_close_fds(&msg);
}

static void test_end(void **state)
{
	int *pair = *state, fds[2];
	struct msg msg;

	assert_int_equal(msg_socketpair(fds), 0);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	close(fds[0]);
	assert_int_equal(msg_receive(fds[1], &protocol, &msg), -ECONNRESET);
	assert_int_equal(msg_send(fds[1], &protocol, HELLO, NULL, 0, NULL, 0), -EPIPE);
	close(fds[1]);
	assert_int_equal(msg_receive(fds[1], &protocol, &msg), -EBADF);
	(void)pair;
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_payload),	 T(test_fds), T(test_send_refuses),
		T(test_receive_refuses), T(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
