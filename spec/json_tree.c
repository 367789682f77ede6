/*
 * Reading a parsed tree: members by name, exact numbers, and the way back from a node to its place
 * in the document (RFC 6901).
 */
#include "spec/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"

const struct json_node *json_get(const struct json_node *node, const char *key)
{
	if (!node || node->type != JSON_OBJECT)
		return NULL;
	for (const struct json_node *m = node->child; m; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m;
	return NULL;
}

int json_int64(const struct json_node *node, int64_t *ret)
{
	if (!node || node->type != JSON_NUMBER)
		return -EINVAL;
	return num_parse_i64(node->text, INT64_MIN, INT64_MAX, ret);
}

int json_uint64(const struct json_node *node, uint64_t *ret)
{
	size_t digits;

	if (!node || node->type != JSON_NUMBER)
		return -EINVAL;
	if (node->text[0] != '-')
		return num_parse_u64(node->text, 0, UINT64_MAX, ret);
	/* A negative integer is one, only out of range; "-0" is zero. */
	digits = strspn(node->text + 1, "0123456789");
	if (node->text[1 + digits] != '\0')
		return -EINVAL;
	if (strcmp(node->text, "-0") != 0)
		return -ERANGE;
	*ret = 0;
	return 0;
}

int json_double(const struct json_node *node, double *ret)
{
	double value;

	if (!node || node->type != JSON_NUMBER)
		return -EINVAL;
	value = strtod(node->text, NULL);
	if (!isfinite(value))
		return -ERANGE;
	*ret = value;
	return 0;
}

struct pointer_out {
	char *out;
	size_t size, len;
};

static void pointer_putc(struct pointer_out *p, char c)
{
	if (p->len + 1 < p->size)
		p->out[p->len++] = c;
}

static void pointer_puts(struct pointer_out *p, const char *text)
{
	for (; *text; text++) {
		if (*text == '~' || *text == '/')
			pointer_putc(p, '~');
		pointer_putc(p, *text == '~' ? '0' : *text == '/' ? '1' : *text);
	}
}

static size_t index_of(const struct json_node *element)
{
	const struct json_node *node = element->parent->child;
	size_t index = 0;

	for (; node && node != element; node = node->next)
		index++;
	return index;
}

void json_pointer(const struct json_node *node, char *out, size_t size)
{
	const struct json_node *path[JSON_DEPTH_MAX + 1];
	struct pointer_out p = {.out = out, .size = size};
	char index[24];
	size_t n = 0;

	if (size == 0)
		return;
	for (; node && node->parent && n < ARRAY_SIZE(path); node = node->parent)
		path[n++] = node;
	while (n-- > 0) {
		pointer_putc(&p, '/');
		if (path[n]->key) {
			pointer_puts(&p, path[n]->key);
		} else {
			snprintf(index, sizeof(index), "%zu", index_of(path[n]));
			pointer_puts(&p, index);
		}
	}
	out[p.len] = '\0';
}
