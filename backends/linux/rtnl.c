/*
 * Every answer comes from the kernel (nl_pid 0) and to our number; whatever else arrives is passed
 * over. A request without NLM_F_DUMP asks for an acknowledgement, so that both kinds have an end.
 */
#include "backends/linux/rtnl.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"

#define ANSWER_BYTES 32768

int rtnl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

void rtnl_begin(struct rtnl_message *m, uint16_t type, uint16_t flags, const void *fixed,
		size_t len)
{
	static uint32_t number;
	bool dump = (flags & NLM_F_DUMP) == NLM_F_DUMP; /* NLM_F_EXCL is one of its bits */

	memset(m, 0, sizeof(*m));
	m->head = (struct nlmsghdr){
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags | (dump ? 0 : NLM_F_ACK)),
		.nlmsg_seq = ++number,
	};
	memcpy(NLMSG_DATA(&m->head), fixed, len);
	m->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
}

void rtnl_add(struct rtnl_message *m, uint16_t type, const void *data, size_t len)
{
	size_t at = NLMSG_ALIGN(m->head.nlmsg_len);
	struct rtattr *attribute = (struct rtattr *)(m->data + at);

	if (len > sizeof(m->data) || at + RTA_SPACE(len) > sizeof(m->data)) {
		m->overflow = true;
		return;
	}
	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attribute), data, len);
	m->head.nlmsg_len = (uint32_t)(at + RTA_LENGTH(len));
}

/* One datagram of answers. 1 at the end of all, 0 where more follows, or -errno. */
static int read_answers(const struct nlmsghdr *head, int len, uint32_t number, rtnl_see see,
			void *data)
{
	for (; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
		const struct nlmsgerr *error = NLMSG_DATA(head);
		int rc = 0;

		if (head->nlmsg_seq != number)
			continue;
		if (head->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EINTR;
		if (head->nlmsg_type == NLMSG_DONE)
			return 1;
		if (head->nlmsg_type == NLMSG_ERROR) {
			if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*error)))
				return -EPROTO;
			return error->error < 0 ? error->error : 1;
		}
		if (see)
			rc = see(head, data);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int rtnl_ask(int fd, struct rtnl_message *m, rtnl_see see, void *data)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	int rc = 0;

	if (m->overflow)
		return -EMSGSIZE;
	if (send(fd, m->data, m->head.nlmsg_len, 0) < 0)
		return -errno;
	while (rc == 0) {
		struct sockaddr_nl from = {0};
		struct iovec part = {answer, sizeof(answer)};
		struct msghdr message = {.msg_name = &from,
					 .msg_namelen = sizeof(from),
					 .msg_iov = &part,
					 .msg_iovlen = 1};
		ssize_t len = recvmsg(fd, &message, 0);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		if (message.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		if (from.nl_pid == 0)
			rc = read_answers((const struct nlmsghdr *)answer, (int)len,
					  m->head.nlmsg_seq, see, data);
	}
	return rc < 0 ? rc : 0;
}

int rtnl_talk(int fd, struct rtnl_message *m)
{
	return rtnl_ask(fd, m, NULL, NULL);
}

const void *rtnl_attribute(const struct nlmsghdr *head, size_t fixed_len, uint16_t type,
			   size_t *ret_len)
{
	const char *start = (const char *)head + NLMSG_SPACE(fixed_len);
	const struct rtattr *attribute = (const struct rtattr *)start;
	int left; /* RTA_NEXT takes the padding off as well */

	if (head->nlmsg_len < NLMSG_SPACE(fixed_len))
		return NULL;
	left = (int)(head->nlmsg_len - NLMSG_SPACE(fixed_len));
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if ((attribute->rta_type & NLA_TYPE_MASK) != type)
			continue;
		*ret_len = RTA_PAYLOAD(attribute);
		return RTA_DATA(attribute);
	}
	return NULL;
}
