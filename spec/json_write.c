/*
 * A writer keeps one flag per open level: whether the next value is the first, so that commas and
 * line breaks are decided in one place (begin_value). Errors are those of the buffer: sticky, one
 * check at the end by buf_failed(); more levels than JSON_WRITER_DEPTH_MAX fail the buffer too.
 */
#include "spec/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/text.h"

void json_writer_init(struct json_writer *w, struct buf *out, int indent)
{
	*w = (struct json_writer){.out = out, .indent = indent};
	w->first[0] = true;
}

static void new_line(struct json_writer *w)
{
	static const char blanks[] = "                                ";
	size_t left = (size_t)w->indent * (size_t)w->depth;

	if (w->indent <= 0)
		return;
	buf_putc(w->out, '\n');
	while (left > 0) {
		size_t n = left < sizeof(blanks) - 1 ? left : sizeof(blanks) - 1;

		buf_append(w->out, blanks, n);
		left -= n;
	}
}

/* The escape of a byte below 0x80 that may not stand as it is. */
static const char *escape_of(unsigned char c, char scratch[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	}
	snprintf(scratch, 8, "\\u%04x", c);
	return scratch;
}

/* What stands for itself, one byte long. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_quoted(struct buf *out, const char *text)
{
	size_t left = strlen(text);
	const char *run = text; /* bytes not yet copied start here */
	char scratch[8];

	buf_putc(out, '"');
	while (left > 0) {
		bool plain = is_plain((unsigned char)*text);
		size_t n = plain ? 1 : text_utf8_length(text, left);

		if (!plain && n <= 1) {
			buf_append(out, run, (size_t)(text - run));
			buf_puts(out, n ? escape_of((unsigned char)*text, scratch) : "\\ufffd");
			n = 1;
			run = text + n;
		}
		text += n;
		left -= n;
	}
	buf_append(out, run, (size_t)(text - run));
	buf_putc(out, '"');
}

/* Comma, line and key before a value. */
static void begin_value(struct json_writer *w, const char *key)
{
	if (w->depth > 0) {
		if (!w->first[w->depth])
			buf_putc(w->out, ',');
		new_line(w);
	}
	w->first[w->depth] = false;
	if (!key)
		return;
	put_quoted(w->out, key);
	buf_putc(w->out, ':');
	if (w->indent > 0)
		buf_putc(w->out, ' ');
}

static void begin_container(struct json_writer *w, const char *key, char bracket)
{
	begin_value(w, key);
	buf_putc(w->out, bracket);
	if (w->depth >= JSON_WRITER_DEPTH_MAX) {
		w->out->failed = true;
		return;
	}
	w->first[++w->depth] = true;
}

static void end_container(struct json_writer *w, char bracket)
{
	bool empty = w->first[w->depth];

	if (w->depth == 0) {
		w->out->failed = true;
		return;
	}
	w->depth--;
	if (!empty)
		new_line(w);
	buf_putc(w->out, bracket);
}

void json_begin_object(struct json_writer *w, const char *key)
{
	begin_container(w, key, '{');
}

void json_end_object(struct json_writer *w)
{
	end_container(w, '}');
}

void json_begin_array(struct json_writer *w, const char *key)
{
	begin_container(w, key, '[');
}

void json_end_array(struct json_writer *w)
{
	end_container(w, ']');
}

void json_write_string(struct json_writer *w, const char *key, const char *value)
{
	if (!value) {
		json_write_null(w, key);
		return;
	}
	begin_value(w, key);
	put_quoted(w->out, value);
}

void json_write_bool(struct json_writer *w, const char *key, bool value)
{
	json_write_number_text(w, key, value ? "true" : "false");
}

void json_write_int(struct json_writer *w, const char *key, int64_t value)
{
	begin_value(w, key);
	buf_printf(w->out, "%" PRId64, value);
}

void json_write_uint(struct json_writer *w, const char *key, uint64_t value)
{
	begin_value(w, key);
	buf_printf(w->out, "%" PRIu64, value);
}

void json_write_null(struct json_writer *w, const char *key)
{
	json_write_number_text(w, key, "null");
}

void json_write_number_text(struct json_writer *w, const char *key, const char *digits)
{
	begin_value(w, key);
	buf_puts(w->out, digits);
}

void json_write_strings(struct json_writer *w, const char *key, char *const *values, size_t count)
{
	json_begin_array(w, key);
	for (size_t i = 0; i < count; i++)
		json_write_string(w, NULL, values[i]);
	json_end_array(w);
}

static bool is_omitted(const struct json_node *member, const char *const *omit)
{
	for (; omit && *omit && member->key; omit++)
		if (strcmp(member->key, *omit) == 0)
			return true;
	return false;
}

static void write_leaf(struct json_writer *w, const char *key, const struct json_node *node)
{
	if (node->type == JSON_STRING)
		json_write_string(w, key, node->text);
	else if (node->type == JSON_NUMBER)
		json_write_number_text(w, key, node->text);
	else if (node->type == JSON_NULL)
		json_write_null(w, key);
	else
		json_write_bool(w, key, node->type == JSON_TRUE);
}

void json_write_node(struct json_writer *w, const char *key, const struct json_node *node)
{
	json_write_node_without(w, key, node, NULL);
}

void json_write_node_without(struct json_writer *w, const char *key, const struct json_node *node,
			     const char *const *omit)
{
	const struct json_node *at = node;

	/* Depth first along child, next and parent: the tree's depth costs no stack. */
	for (;;) {
		const char *name = at == node ? key : at->key;
		bool skipped = at->parent == node && at != node && is_omitted(at, omit);

		if (!skipped && (at->type == JSON_ARRAY || at->type == JSON_OBJECT)) {
			begin_container(w, name, at->type == JSON_ARRAY ? '[' : '{');
			if (at->child) {
				at = at->child;
				continue;
			}
			end_container(w, at->type == JSON_ARRAY ? ']' : '}');
		} else if (!skipped) {
			write_leaf(w, name, at);
		}
		while (at != node && !at->next) {
			at = at->parent;
			end_container(w, at->type == JSON_ARRAY ? ']' : '}');
		}
		if (at == node)
			return;
		at = at->next;
	}
}
