/*
 * decode_object() walks the members in document order and finds each one's row by name; tables are
 * short, so the cost is linear in the document. A bit per row remembers what was seen, for required
 * members and because JSON has already refused a second one of a name.
 */
#include "spec/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"

#define DETAIL_MAX 512

/* ---- messages ---- */

int decode_fail(struct decoder *d, const struct json_node *node, const char *fmt, ...)
{
	char pointer[sizeof(d->err->pointer)];
	char detail[DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	json_pointer(node, pointer, sizeof(pointer));
	if (pointer[0])
		return sbx_fail_at(d->err, d->code, pointer, "check %s: \"%s\" %s", d->what,
				   pointer, detail);
	return sbx_fail_at(d->err, d->code, pointer, "check %s: the document %s", d->what, detail);
}

int decode_no_memory(struct decoder *d)
{
	return sbx_fail(d->err, SBX_E_RESOURCE_LIMIT, ENOMEM, "check %s", d->what);
}

const char *decode_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",	     [JSON_FALSE] = "a boolean", [JSON_TRUE] = "a boolean",
		[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return (size_t)type < ARRAY_SIZE(names) ? names[type] : "unknown";
}

int decode_want(struct decoder *d, const struct json_node *node, enum json_type type)
{
	if (node->type == type)
		return 0;
	return decode_fail(d, node, "is %s, want %s", decode_type_name(node->type),
			   decode_type_name(type));
}

/* ---- single values ---- */

static int fail_number(struct decoder *d, const struct json_node *node, int r, int64_t min,
		       uint64_t max)
{
	if (r == -EINVAL)
		return decode_fail(d, node, "is %.40s, want an integer", node->text);
	return decode_fail(d, node, "is %.40s, want %" PRId64 " to %" PRIu64, node->text, min, max);
}

int decode_u64(struct decoder *d, const struct json_node *node, uint64_t min, uint64_t max,
	       uint64_t *ret)
{
	uint64_t value;
	int r = decode_want(d, node, JSON_NUMBER);

	if (r < 0)
		return r;
	r = json_uint64(node, &value);
	if (r == 0 && (value < min || value > max))
		r = -ERANGE;
	if (r < 0)
		return fail_number(d, node, r, (int64_t)min, max);
	*ret = value;
	return 0;
}

static int decode_i64(struct decoder *d, const struct json_node *node, int64_t min, int64_t max,
		      int64_t *ret)
{
	int64_t value;
	int r = decode_want(d, node, JSON_NUMBER);

	if (r < 0)
		return r;
	r = json_int64(node, &value);
	if (r == 0 && (value < min || value > max))
		r = -ERANGE;
	if (r < 0)
		return fail_number(d, node, r, min, (uint64_t)max);
	*ret = value;
	return 0;
}

static bool has_range(const struct decode_row *row)
{
	return row->min != 0 || row->max != 0;
}

static int row_u64(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		   uint64_t kind_max, uint64_t *ret)
{
	return decode_u64(d, node, has_range(row) ? (uint64_t)row->min : 0,
			  has_range(row) ? row->max : kind_max, ret);
}

static int row_i64(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		   int64_t *ret)
{
	return decode_i64(d, node, has_range(row) ? row->min : INT64_MIN,
			  has_range(row) ? (int64_t)row->max : INT64_MAX, ret);
}

static int row_bool(struct decoder *d, const struct json_node *node, bool *ret)
{
	if (node->type != JSON_TRUE && node->type != JSON_FALSE)
		return decode_want(d, node, JSON_TRUE);
	*ret = node->type == JSON_TRUE;
	return 0;
}

static int check_word(struct decoder *d, const struct json_node *node, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(node->text, *words) == 0)
			return 0;
	return decode_fail(d, node, "is \"%.64s\", which is not known", node->text);
}

/* A string with the row's checks. */
static int row_text(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		    char **ret)
{
	int r = decode_want(d, node, JSON_STRING);

	if (r == 0 && row->words)
		r = check_word(d, node, row->words);
	if (r == 0 && row->check)
		r = row->check(d, node);
	if (r == 0)
		*ret = (char *)node->text; /* the model never writes through it */
	return r;
}

static int row_string(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		      const char **ret)
{
	char *text;
	int r;

	if (node->type == JSON_STRING && node->len == 0) {
		if (row->empty_absent && !row->required)
			return 0;
		if (row->required)
			return decode_fail(d, node, "is empty");
	}
	r = row_text(d, node, row, &text);
	if (r == 0)
		*ret = text;
	return r;
}

int decode_check_absolute(struct decoder *d, const struct json_node *value)
{
	if (value->text[0] == '/')
		return 0;
	return decode_fail(d, value, "is \"%.128s\", want an absolute path", value->text);
}

int decode_check_not_empty(struct decoder *d, const struct json_node *value)
{
	return value->len > 0 ? 0 : decode_fail(d, value, "is empty");
}

/* ---- lists ---- */

static int want_list(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		     enum json_type type)
{
	int r = decode_want(d, node, type);

	if (r == 0 && row->max_count && node->count > row->max_count)
		return decode_fail(d, node, "has %u entries, at most %u are allowed", node->count,
				   row->max_count);
	return r;
}

static int row_strings(struct decoder *d, const struct json_node *node,
		       const struct decode_row *row, struct strings *ret)
{
	char **list;
	size_t n = 0;
	int r = want_list(d, node, row, JSON_ARRAY);

	if (r < 0)
		return r;
	list = arena_alloc_array(d->arena, (size_t)node->count + 1, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = node->child; e; e = e->next) {
		r = row_text(d, e, row, &list[n++]);
		if (r < 0)
			return r;
	}
	*ret = (struct strings){.v = list, .n = n};
	return 0;
}

static int row_u32s(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		    uint32_t **ret, size_t *ret_n)
{
	uint32_t *list;
	uint64_t value;
	size_t n = 0;
	int r = want_list(d, node, row, JSON_ARRAY);

	if (r < 0 || node->count == 0)
		return r;
	list = arena_alloc_array(d->arena, node->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = node->child; e; e = e->next) {
		r = row_u64(d, e, row, UINT32_MAX, &value);
		if (r < 0)
			return r;
		list[n++] = (uint32_t)value;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int row_array(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		     void **ret, size_t *ret_n)
{
	char *list;
	size_t n = 0;
	int r = want_list(d, node, row, JSON_ARRAY);

	if (r < 0 || node->count == 0)
		return r;
	list = arena_alloc_array(d->arena, node->count, row->table->size);
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = node->child; e; e = e->next) {
		r = decode_object(d, e, row->table, list + n * row->table->size);
		if (r < 0)
			return r;
		n++;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int row_map(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		   struct oci_key_values *ret)
{
	struct oci_key_value *list;
	size_t n = 0;
	int r = want_list(d, node, row, JSON_OBJECT);

	if (r < 0 || node->count == 0)
		return r;
	list = arena_alloc_array(d->arena, node->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = node->child; e; e = e->next) {
		char *value;

		r = row_text(d, e, row, &value);
		if (r < 0)
			return r;
		list[n++] = (struct oci_key_value){.key = e->key, .value = value};
	}
	*ret = (struct oci_key_values){.v = list, .n = n};
	return 0;
}

static int row_new_object(struct decoder *d, const struct json_node *node,
			  const struct decode_row *row, void **ret)
{
	void *made = arena_alloc(d->arena, row->table->size);
	int r;

	if (!made)
		return decode_no_memory(d);
	r = decode_object(d, node, row->table, made);
	if (r == 0)
		*ret = made;
	return r;
}

/* ---- rows ---- */

static int decode_number_row(struct decoder *d, const struct json_node *node,
			     const struct decode_row *row, void *member)
{
	uint64_t u = 0;
	int64_t s = 0;
	int r;

	if (row->kind == DECODE_I64 || row->kind == DECODE_OPT_I64)
		r = row_i64(d, node, row, &s);
	else
		r = row_u64(d, node, row, row->kind == DECODE_U32 ? UINT32_MAX : UINT64_MAX, &u);
	if (r == 0 && row->check)
		r = row->check(d, node);
	if (r < 0)
		return r;
	if (row->kind == DECODE_U32)
		*(uint32_t *)member = (uint32_t)u;
	else if (row->kind == DECODE_U64)
		*(uint64_t *)member = u;
	else if (row->kind == DECODE_I64)
		*(int64_t *)member = s;
	else if (row->kind == DECODE_OPT_U64)
		*(struct oci_opt_u64 *)member = (struct oci_opt_u64){.set = true, .v = u};
	else
		*(struct oci_opt_i64 *)member = (struct oci_opt_i64){.set = true, .v = s};
	return 0;
}

static int decode_row(struct decoder *d, const struct json_node *node, const struct decode_row *row,
		      char *out)
{
	void *member = out + row->offset;
	size_t *count = (size_t *)(void *)(out + row->count_offset);
	struct oci_opt_bool *flag = member;
	int r;

	switch (row->kind) {
	case DECODE_STRING:
		return row_string(d, node, row, member);
	case DECODE_STRINGS:
		return row_strings(d, node, row, member);
	case DECODE_BOOL:
		return row_bool(d, node, member);
	case DECODE_OPT_BOOL:
		r = row_bool(d, node, &flag->v);
		flag->set = r == 0;
		return r;
	case DECODE_U32:
	case DECODE_U64:
	case DECODE_I64:
	case DECODE_OPT_U64:
	case DECODE_OPT_I64:
		return decode_number_row(d, node, row, member);
	case DECODE_U32S:
		return row_u32s(d, node, row, member, count);
	case DECODE_STRUCT:
		return decode_object(d, node, row->table, member);
	case DECODE_OBJECT:
		return row_new_object(d, node, row, member);
	case DECODE_ARRAY:
		return row_array(d, node, row, member, count);
	case DECODE_MAP:
		return row_map(d, node, row, member);
	case DECODE_CUSTOM:
		return row->custom(d, node, member);
	}
	return sbx_fail(d->err, SBX_E_INTERNAL, 0, "decode \"%s\": unknown kind", row->name);
}

static const struct decode_row *find_row(const struct decode_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	return NULL;
}

int decode_object(struct decoder *d, const struct json_node *node, const struct decode_table *table,
		  void *out)
{
	uint64_t seen = 0;
	int r = decode_want(d, node, JSON_OBJECT);

	if (r < 0)
		return r;
	for (const struct json_node *m = node->child; m; m = m->next) {
		const struct decode_row *row = find_row(table, m->key);

		if (!row && table->closed)
			return decode_fail(d, m, "is not a member of this object");
		if (!row || m->type == JSON_NULL)
			continue;
		seen |= UINT64_C(1) << (row - table->rows);
		r = decode_row(d, m, row, out);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].required && !(seen & UINT64_C(1) << i))
			return decode_fail(d, node, "lacks the member \"%s\"", table->rows[i].name);
	return table->check ? table->check(d, node, out) : 0;
}
