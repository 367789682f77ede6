/*
 * One property from an annotation's text.
 *
 * A small part of GVariant's text form (that is what the field's clients write): booleans, numbers
 * with or without their type, texts in single or double quotes, and arrays of one of these. An
 * integer without a type is an int32, as there. Everything is bounded, and nothing is guessed: what
 * systemd does with a property depends on its type.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/cleanup.h"

#define TEXT_MAX     4096
#define ELEMENTS_MAX 64
#define NAME_MAX_LEN 64
#define USEC_PER_SEC 1000000ULL

struct scalar {
	char type;	   /* D-Bus's letter */
	size_t from, len;  /* of a number's digits, or of a text, in text */
	bool negative, on; /* on: the value of a boolean */
};

struct value {
	char *text; /* texts without their escapes, numbers as written */
	size_t used;
	struct scalar v[ELEMENTS_MAX];
	size_t n;
	bool is_array;
	char type; /* of the elements, 0: not known yet */
};

/* ---- which properties ---- */

/* What decides whose processes the scope holds and where it stands, what acts on other units, on
 * the machine, or with a program: the runtime's own, or not the bundle's to say. */
static const char *const refused[] = {
	"AccessSELinuxContext",
	"BPFProgram",
	"BindsTo",
	"ConflictedBy",
	"Conflicts",
	"Controller",
	"Delegate",
	"Description",
	"FailureAction",
	"IPEgressFilterPath",
	"IPIngressFilterPath",
	"JobTimeoutAction",
	"JobTimeoutRebootArgument",
	"JoinsNamespaceOf",
	"Markers",
	"NFTSet",
	"Names",
	"OnFailure",
	"OnFailureJobMode",
	"OnSuccess",
	"OnSuccessJobMode",
	"PIDFDs",
	"PIDs",
	"PartOf",
	"PropagatesReloadTo",
	"PropagatesStopTo",
	"RebootArgument",
	"RefuseManualStart",
	"RefuseManualStop",
	"ReloadPropagatedFrom",
	"Requires",
	"RequiresMountsFor",
	"Requisite",
	"Slice",
	"StartLimitAction",
	"StopPropagatedFrom",
	"SuccessAction",
	"Upholds",
	"Wants",
	"WantsMountsFor",
};

static int check_name(const char *name, struct sbx_error *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_LEN || name[0] < 'A' || name[0] > 'Z')
		len = 0;
	for (size_t i = 0; i < len; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
		      (name[i] >= '0' && name[i] <= '9')))
			len = 0;
	if (len == 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/annotations",
				   "\"%s\" is no name of a property of systemd", name);
	if (strncmp(name, "Delegate", 8) == 0)
		name = "Delegate";
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (strcmp(name, refused[i]) == 0)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/annotations",
					   "set the property \"%s\" of the container's scope: it "
					   "is not a bundle's to set",
					   name);
	return 0;
}

/* ---- the text ---- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static const struct {
	const char *word;
	char type;
} words[] = {
	{"boolean", 'b'}, {"byte", 'y'},   {"int16", 'n'}, {"uint16", 'q'},
	{"int32", 'i'},	  {"uint32", 'u'}, {"int64", 'x'}, {"uint64", 't'},
	{"double", 'd'},  {"string", 's'}, {"true", '1'},  {"false", '0'},
};

/* The type of a leading word, 0 for none. true and false are '1' and '0'. */
static char read_word(const char **at)
{
	size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && memcmp(words[i].word, *at, len) == 0) {
			*at = skip_blanks(*at + len);
			return words[i].type;
		}
	return 0;
}

static int read_text(const char **at, struct value *value, struct scalar *s)
{
	char quote = *(*at)++;

	s->from = value->used;
	while (**at != quote) {
		char c = *(*at)++;

		if (c == '\\') {
			c = *(*at)++;
			if (c == 'n')
				c = '\n';
			else if (c == 't')
				c = '\t';
			else if (c != '\\' && c != '\'' && c != '"')
				return -EINVAL;
		}
		if (c == '\0')
			return -EINVAL;
		value->text[value->used++] = c;
	}
	(*at)++;
	s->len = value->used - s->from;
	value->text[value->used++] = '\0';
	s->type = 's';
	return 0;
}

/* Digits with perhaps a fraction, no exponent: no property has one. */
static int read_number(const char **at, char type, struct value *value, struct scalar *s)
{
	static const char digits[] = "0123456789";
	const char *start = *at;
	size_t whole, len;

	s->negative = *start == '-';
	whole = strspn(start + s->negative, digits);
	len = s->negative + whole;
	s->type = type ? type : 'i';
	if (start[len] == '.') {
		size_t fraction = strspn(start + len + 1, digits);

		if (fraction == 0 || (type && type != 'd'))
			return -EINVAL;
		s->type = 'd';
		len += 1 + fraction;
	}
	/* as JSON has them: "007" is no number */
	if (whole == 0 || (whole > 1 && start[s->negative] == '0') || len > 40)
		return -EINVAL;
	s->from = value->used;
	s->len = len;
	memcpy(value->text + value->used, start, len);
	value->used += len;
	value->text[value->used++] = '\0';
	*at += len;
	return 0;
}

static int read_scalar(const char **at, struct value *value, struct scalar *s)
{
	char type = read_word(at);

	*s = (struct scalar){.type = type};
	if (type == 'b') {
		type = read_word(at);
		if (type != '1' && type != '0')
			return -EINVAL;
	}
	if (type == '1' || type == '0') {
		s->on = type == '1';
		s->type = 'b';
		return 0;
	}
	if (**at == '\'' || **at == '"')
		return type && type != 's' ? -EINVAL : read_text(at, value, s);
	if (type == 's')
		return -EINVAL;
	return read_number(at, type, value, s);
}

static int read_array(const char **at, struct value *value)
{
	value->is_array = true;
	*at = skip_blanks(*at + 1);
	while (**at != ']') {
		struct scalar *s = &value->v[value->n];
		int rc;

		if (value->n == ELEMENTS_MAX)
			return -E2BIG;
		rc = read_scalar(at, value, s);
		if (rc < 0)
			return rc;
		/* the first element's type holds for those that name none */
		if (value->n > 0 && s->type == 'i' && value->type != 's' && value->type != 'b')
			s->type = value->type;
		if (value->n > 0 && s->type != value->type)
			return -EINVAL;
		value->type = s->type;
		value->n++;
		*at = skip_blanks(*at);
		if (**at == ',')
			*at = skip_blanks(*at + 1);
		else if (**at != ']')
			return -EINVAL;
	}
	(*at)++;
	return value->n ? 0 : -EINVAL; /* its type would be a guess */
}

static int read_value(const char *at, struct value *value)
{
	int rc;

	at = skip_blanks(at);
	if (*at == '[') {
		rc = read_array(&at, value);
	} else {
		rc = read_scalar(&at, value, &value->v[0]);
		value->type = value->v[0].type;
		value->n = 1;
	}
	return rc == 0 && *skip_blanks(at) ? -EINVAL : rc;
}

/* ---- ranges ---- */

static int read_magnitude(const char *digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (; *digits; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*digits - '0'), &value))
			return -ERANGE;
	*ret = value;
	return 0;
}

/* Does the number fit D-Bus's type? */
static int check_range(const struct value *value, const struct scalar *s)
{
	static const struct {
		char type;
		uint64_t max, below_zero;
	} ranges[] = {
		{'y', UINT8_MAX, 0},  {'n', INT16_MAX, 32768},
		{'q', UINT16_MAX, 0}, {'i', INT32_MAX, 2147483648},
		{'u', UINT32_MAX, 0}, {'x', INT64_MAX, (uint64_t)INT64_MAX + 1},
		{'t', UINT64_MAX, 0},
	};
	uint64_t magnitude;

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (ranges[i].type != s->type)
			continue;
		if (read_magnitude(value->text + s->from + s->negative, &magnitude) < 0)
			return -ERANGE;
		return magnitude > (s->negative ? ranges[i].below_zero : ranges[i].max) ? -ERANGE
											: 0;
	}
	return 0;
}

/* ---- seconds ---- */

static bool is_in_seconds(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 3, "Sec") == 0 && name[len - 4] != 'U';
}

/* Seconds with up to six digits of a fraction, exactly. */
static int seconds_to_usec(const struct value *value, uint64_t *ret)
{
	const struct scalar *s = &value->v[0];
	const char *digits = value->text + s->from, *dot;
	uint64_t whole, part = 0, unit = USEC_PER_SEC;
	char front[48];

	if (value->is_array || s->type == 's' || s->type == 'b' || s->negative)
		return -EINVAL;
	dot = strchr(digits, '.');
	snprintf(front, sizeof(front), "%.*s", (int)(dot ? dot - digits : (long)s->len), digits);
	if (read_magnitude(front, &whole) < 0)
		return -ERANGE;
	for (const char *at = dot ? dot + 1 : ""; *at && unit > 1; at++) {
		unit /= 10;
		part += (uint64_t)(*at - '0') * unit;
	}
	if (__builtin_mul_overflow(whole, USEC_PER_SEC, &whole) ||
	    __builtin_add_overflow(whole, part, ret))
		return -ERANGE;
	return 0;
}

/* ---- writing ---- */

static void write_scalar(struct json_writer *w, const char *key, const struct value *value,
			 const struct scalar *s)
{
	if (s->type == 'b')
		json_write_bool(w, key, s->on);
	else if (s->type == 's')
		json_write_string(w, key, value->text + s->from);
	else
		json_write_number_text(w, key, value->text + s->from);
}

static void write_value(struct json_writer *w, const char *name, const struct value *value)
{
	const char type[] = {value->is_array ? 'a' : value->type,
			     value->is_array ? value->type : '\0', '\0'};

	json_begin_object(w, NULL);
	json_write_string(w, "name", name);
	json_write_string(w, "type", type);
	if (value->is_array)
		json_begin_array(w, "value");
	for (size_t i = 0; i < value->n; i++)
		write_scalar(w, value->is_array ? NULL : "value", value, &value->v[i]);
	if (value->is_array)
		json_end_array(w);
	json_end_object(w);
}

static int write_usec(struct json_writer *w, const char *name, const struct value *value)
{
	char usec_name[NAME_MAX_LEN + 2];
	uint64_t usec;
	int rc = seconds_to_usec(value, &usec);

	if (rc < 0)
		return rc;
	snprintf(usec_name, sizeof(usec_name), "%.*sUSec", (int)(strlen(name) - 3), name);
	json_begin_object(w, NULL);
	json_write_string(w, "name", usec_name);
	json_write_string(w, "type", "t");
	json_write_uint(w, "value", usec);
	json_end_object(w);
	return 0;
}

int systemd_value_write(struct json_writer *w, const char *name, const char *text,
			struct sbx_error *err)
{
	/* Each scalar grows by its NUL at most, and stands between two other bytes. */
	char storage[TEXT_MAX + ELEMENTS_MAX + 1];
	struct value value = {.text = storage};
	int rc = check_name(name, err);

	if (rc < 0)
		return rc;
	rc = strlen(text) < TEXT_MAX ? read_value(text, &value) : -E2BIG;
	for (size_t i = 0; rc == 0 && i < value.n; i++)
		rc = check_range(&value, &value.v[i]);
	if (rc == 0 && is_in_seconds(name))
		rc = write_usec(w, name, &value);
	else if (rc == 0)
		write_value(w, name, &value);
	return rc == 0 ? 0
		       : sbx_fail_at(
				 err, SBX_E_INVALID_CONFIG, "/annotations",
				 "set the property \"%s\" of the container's scope to \"%.80s\": "
				 "%s",
				 name, text,
				 rc == -EINVAL ? "want a value such as true, uint64 5, 'text' "
						 "or ['a', 'b']"
					       : "it is out of range");
}
