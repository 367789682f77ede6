/*
 * rtnetlink(7), as much as moving a network device takes: a message with attributes, its
 * acknowledgement, and lists.
 */
#ifndef SBX_LINUX_RTNL_H
#define SBX_LINUX_RTNL_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTNL_MESSAGE_BYTES 1024

struct rtnl_message {
	union {
		struct nlmsghdr head;
		char data[RTNL_MESSAGE_BYTES];
	};
	bool overflow; /* it does not fit: rtnl_talk() says -EMSGSIZE */
};

/* A socket in the network namespace of the caller. A descriptor or -errno. */
int rtnl_open(void);

/* Begin with a fixed part, struct ifinfomsg say, then add attributes. */
void rtnl_begin(struct rtnl_message *m, uint16_t type, uint16_t flags, const void *fixed,
		size_t len);
void rtnl_add(struct rtnl_message *m, uint16_t type, const void *data, size_t len);

/* Send it and wait for the kernel's word: 0 or -errno. */
int rtnl_talk(int fd, struct rtnl_message *m);

/*
 * Send a request and show each answer (a list's parts, with NLM_F_DUMP in flags) to see(), which
 * stops it by a negative errno. 0 or -errno.
 */
typedef int (*rtnl_see)(const struct nlmsghdr *head, void *data);
int rtnl_ask(int fd, struct rtnl_message *m, rtnl_see see, void *data);

/* The attribute of an answer whose fixed part is fixed_len long, its size in *ret_len; NULL: none.
 */
const void *rtnl_attribute(const struct nlmsghdr *head, size_t fixed_len, uint16_t type,
			   size_t *ret_len);

#endif
