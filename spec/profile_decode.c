/*
 * The table walk and the values that every object of a profile document shares. Texts are copied
 * into the profile's arena, so that nothing points into the tree afterwards.
 */
#include "spec/profile_decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"

int profile_refuse(const struct profile_decoder *p, const struct json_node *node, const char *fmt,
		   ...)
{
	char pointer[PROFILE_POINTER_MAX], *text = NULL;
	va_list ap;
	int r;

	json_pointer(node, pointer, sizeof(pointer));
	va_start(ap, fmt);
	r = vasprintf(&text, fmt, ap);
	va_end(ap);
	r = sbx_fail_at(p->err, SBX_E_INVALID_PROFILE, pointer, "%s", r < 0 ? fmt : text);
	if (text)
		free(text);
	return r;
}

int profile_no_memory(const struct profile_decoder *p)
{
	return sbx_fail(p->err, SBX_E_INVALID_PROFILE, ENOMEM, "read the profile");
}

static const char *type_name(const struct json_node *node)
{
	static const char *const names[] = {"null",	"a boolean", "a boolean", "a number",
					    "a string", "an array",  "an object"};

	return (size_t)node->type < ARRAY_SIZE(names) ? names[node->type] : "?";
}

int profile_expect(const struct profile_decoder *p, const struct json_node *node,
		   enum json_type type, const char *what)
{
	if (node->type == type)
		return 0;
	return profile_refuse(p, node, "the value must be %s, it is %s", what, type_name(node));
}

int profile_decode_object(const struct profile_decoder *p, const struct json_node *node,
			  const struct profile_member_row *rows, size_t rows_n, void *ret)
{
	int r = profile_expect(p, node, JSON_OBJECT, "an object");

	if (r < 0)
		return r;
	for (const struct json_node *child = node->child; child; child = child->next) {
		size_t i = 0;

		while (i < rows_n && strcmp(rows[i].key, child->key) != 0)
			i++;
		if (i == rows_n)
			return profile_refuse(p, child, "the member \"%s\" is not known",
					      child->key);
		r = rows[i].parse(p, child, (char *)ret + rows[i].offset);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < rows_n; i++)
		if (rows[i].required && !json_get(node, rows[i].key))
			return profile_refuse(p, node, "the member \"%s\" is missing", rows[i].key);
	return 0;
}

int profile_decode_word(const struct profile_decoder *p, const struct json_node *node,
			const struct profile_word *words, int *ret)
{
	char list[128] = "";
	int r = profile_expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	for (const struct profile_word *w = words; w->word; w++) {
		if (strcmp(w->word, node->text) == 0) {
			*ret = w->value;
			return 0;
		}
		strncat(list, w == words ? "" : ", ", sizeof(list) - strlen(list) - 1);
		strncat(list, w->word, sizeof(list) - strlen(list) - 1);
	}
	return profile_refuse(p, node, "the value \"%s\" is none of %s", node->text, list);
}

int profile_decode_access(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	int value = 0, r = profile_decode_word(p, node, profile_access_words, &value);

	if (r == 0)
		*(enum access *)ret = (enum access)value;
	return r;
}

int profile_decode_flag(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	if (node->type != JSON_TRUE && node->type != JSON_FALSE)
		return profile_expect(p, node, JSON_TRUE, "a boolean");
	*(bool *)ret = node->type == JSON_TRUE;
	return 0;
}

int profile_decode_port(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	uint64_t port;

	if (node->type != JSON_NUMBER || json_uint64(node, &port) < 0 || port < 1 ||
	    port > UINT16_MAX)
		return profile_refuse(p, node, "the port must be a number of 1 to 65535");
	*(uint16_t *)ret = (uint16_t)port;
	return 0;
}

int profile_decode_text(const struct profile_decoder *p, const struct json_node *node, char **ret)
{
	int r = profile_expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	*ret = arena_strndup(p->arena, node->text, node->len);
	return *ret ? 0 : profile_no_memory(p);
}

int profile_new_array(const struct profile_decoder *p, const struct json_node *node, size_t max,
		      size_t size, void **ret)
{
	int r = profile_expect(p, node, JSON_ARRAY, "an array");

	if (r < 0)
		return r;
	if (node->count > max)
		return profile_refuse(p, node, "the list has %u elements, more than %zu",
				      node->count, max);
	*ret = arena_alloc_array(p->arena, (size_t)node->count + 1, size);
	return *ret ? 0 : profile_no_memory(p);
}

const struct json_node *profile_last_element(const struct json_node *list, const char *key,
					     const char *text)
{
	const struct json_node *found = list;

	for (const struct json_node *child = list->child; child; child = child->next) {
		const struct json_node *member = json_get(child, key);

		if (member && member->type == JSON_STRING && strcmp(member->text, text) == 0)
			found = member;
	}
	return found;
}
