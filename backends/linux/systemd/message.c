/*
 * From a property in JSON to its place in a message, by the type that it names.
 */
#include "backends/linux/systemd/message.h"

#include <errno.h>
#include <string.h>

static int append_text(sd_bus_message *m, const struct json_node *value)
{
	return value->type == JSON_STRING ? sd_bus_message_append_basic(m, 's', value->text)
					  : -EINVAL;
}

static int append_bool(sd_bus_message *m, const struct json_node *value)
{
	int on = value->type == JSON_TRUE;

	return on || value->type == JSON_FALSE ? sd_bus_message_append_basic(m, 'b', &on) : -EINVAL;
}

static int append_double(sd_bus_message *m, const struct json_node *value)
{
	double number;
	int rc = json_double(value, &number);

	return rc < 0 ? rc : sd_bus_message_append_basic(m, 'd', &number);
}

/* The bytes of the value's low end are those of every smaller type on a little-endian machine, and
 * not on others: so one case each. */
static int append_integer(sd_bus_message *m, char type, const struct json_node *value)
{
	int64_t wide = 0;
	uint64_t t = 0;
	uint8_t y;
	int16_t n;
	uint16_t q;
	int32_t i;
	uint32_t u;
	int rc = type == 't' ? json_uint64(value, &t) : json_int64(value, &wide);

#define FITS(letter, variable)                                                                     \
	case letter:                                                                               \
		variable = (__typeof__(variable))wide;                                             \
		return variable != wide ? -ERANGE : sd_bus_message_append_basic(m, type, &variable)
	if (rc < 0)
		return rc;
	switch (type) {
		FITS('y', y);
		FITS('n', n);
		FITS('q', q);
		FITS('i', i);
		FITS('u', u);
	case 'x':
		return sd_bus_message_append_basic(m, type, &wide);
	case 't':
		return sd_bus_message_append_basic(m, type, &t);
	default:
		return -EINVAL;
	}
#undef FITS
}

static int append_scalar(sd_bus_message *m, char type, const struct json_node *value)
{
	if (!value)
		return -EINVAL;
	switch (type) {
	case 's':
		return append_text(m, value);
	case 'b':
		return append_bool(m, value);
	case 'd':
		return append_double(m, value);
	default:
		return append_integer(m, type, value);
	}
}

/* One letter, or "a" and one letter. */
static int append_value(sd_bus_message *m, const char *type, const struct json_node *value)
{
	int rc;

	if (type[0] != 'a')
		return append_scalar(m, type[0], value);
	if (!value || value->type != JSON_ARRAY)
		return -EINVAL;
	rc = sd_bus_message_open_container(m, 'a', type + 1);
	for (const struct json_node *item = value->child; rc >= 0 && item; item = item->next)
		rc = append_scalar(m, type[1], item);
	return rc < 0 ? rc : sd_bus_message_close_container(m);
}

int message_append_property(sd_bus_message *m, const struct json_node *property)
{
	const struct json_node *name = json_get(property, "name");
	const struct json_node *type = json_get(property, "type");
	int rc;

	if (!name || name->type != JSON_STRING || !type || type->type != JSON_STRING ||
	    strspn(type->text, "abdinqstuxy") != type->len || type->len == 0 ||
	    type->len != 1 + (size_t)(type->text[0] == 'a'))
		return -EINVAL;
	rc = sd_bus_message_open_container(m, 'r', "sv");
	if (rc >= 0)
		rc = sd_bus_message_append_basic(m, 's', name->text);
	if (rc >= 0)
		rc = sd_bus_message_open_container(m, 'v', type->text);
	if (rc >= 0)
		rc = append_value(m, type->text, json_get(property, "value"));
	if (rc >= 0)
		rc = sd_bus_message_close_container(m);
	return rc < 0 ? rc : sd_bus_message_close_container(m);
}
