/*
 * Option rows become getopt_long's table; what it finds goes to the row's values. The only thing
 * getopt_long cannot do is the single-dash long form ("-no-subreaper"), so such words are rewritten
 * first, and only where the word is exactly the name of a row.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/options.h"

static bool row_is_named(const struct option_row *row, const char *word, size_t len)
{
	return strlen(row->name) == len && strncmp(row->name, word, len) == 0;
}

/* "-name" to "--name": points into a fresh string that lives as long as the process. */
static int rewrite_single_dash(char **word, const struct option_row *rows, size_t rows_n)
{
	const char *name = *word + 1;
	size_t len = strcspn(name, "=");
	char *longer;

	if ((*word)[0] != '-' || (*word)[1] == '-' || len < 2)
		return 0;
	for (size_t i = 0; i < rows_n; i++) {
		if (!row_is_named(&rows[i], name, len))
			continue;
		if (asprintf(&longer, "-%s", *word) < 0)
			return -ENOMEM;
		*word = longer;
		return 0;
	}
	return 0;
}

static int rewrite_words(int argc, char **argv, const struct option_row *rows, size_t rows_n,
			 bool stop_at_operand)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			break;
		if (stop_at_operand && argv[i][0] != '-' && i > 1 && argv[i - 1][0] != '-')
			break;
		if (rewrite_single_dash(&argv[i], rows, rows_n) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int store_value(const struct option_row *row, struct option_values *values, const char *text,
		       struct sbx_error *err)
{
	if (row->kind == OPTION_FLAG) {
		/* "--flag=false" is how managers written in Go turn a flag off. */
		if (!text || strcmp(text, "true") == 0)
			values->value = "";
		else if (strcmp(text, "false") == 0)
			values->value = NULL;
		else
			return sbx_fail(err, SBX_E_USAGE, 0, "use --%s without a value, not \"%s\"",
					row->name, text);
		return 0;
	}
	values->value = text;
	if (row->kind == OPTION_LIST) {
		if (!values->list)
			values->list = calloc(OPTION_VALUES_MAX, sizeof(*values->list));
		if (!values->list)
			return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the command line");
		if (values->count == OPTION_VALUES_MAX)
			return sbx_fail(err, SBX_E_USAGE, 0, "too many --%s options, at most %d",
					row->name, OPTION_VALUES_MAX);
		values->list[values->count++] = text;
	}
	return 0;
}

int options_parse(int argc, char **argv, const struct option_row *rows, size_t rows_n,
		  bool stop_at_operand, struct option_values *values, int *ret_operand,
		  struct sbx_error *err)
{
	struct option table[OPTION_ROWS_MAX + 1] = {0};
	char letters[3 * OPTION_ROWS_MAX + 3];
	size_t used = 0;
	int found;

	if (rows_n > OPTION_ROWS_MAX)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "handle more than %d options",
				OPTION_ROWS_MAX);
	if (stop_at_operand)
		letters[used++] = '+';
	letters[used++] = ':';
	for (size_t i = 0; i < rows_n; i++) {
		table[i].name = rows[i].name;
		table[i].has_arg =
			rows[i].kind == OPTION_FLAG ? optional_argument : required_argument;
		table[i].val = 256 + (int)i;
		if (rows[i].letter) {
			letters[used++] = rows[i].letter;
			if (rows[i].kind != OPTION_FLAG)
				letters[used++] = ':';
		}
	}
	letters[used] = '\0';
	if (rewrite_words(argc, argv, rows, rows_n, stop_at_operand) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the command line");
	optind = 0;
	opterr = 0;
	while ((found = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		size_t i = 0;
		int rc;

		if (found == '?') {
			sbx_fail(err, SBX_E_USAGE, 0, "unknown option \"%s\"",
				 optopt > 0 && optopt < 256 ? (char[]){'-', (char)optopt, 0}
							    : argv[optind - 1]);
			return -ENOENT;
		}
		if (found == ':')
			return sbx_fail(err, SBX_E_USAGE, 0, "option \"%s\" requires an argument",
					argv[optind - 1]);
		if (found >= 256)
			i = (size_t)found - 256;
		else
			while (rows[i].letter != found)
				i++;
		rc = store_value(&rows[i], &values[i], optarg, err);
		if (rc < 0)
			return rc;
	}
	*ret_operand = optind;
	return 0;
}

void options_describe(const struct option_row *rows, size_t rows_n, struct buf *out)
{
	for (size_t i = 0; i < rows_n; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", rows[i].letter ? "-" : " ",
			 rows[i].letter ? rows[i].letter : ' ', rows[i].letter ? ", " : "  ",
			 rows[i].name, rows[i].kind == OPTION_FLAG ? "" : " ",
			 rows[i].kind == OPTION_FLAG ? "" : rows[i].value_name);
		buf_printf(out, "  %-34s %s\n", left, rows[i].help);
	}
}

static size_t row_index(const struct invocation *in, const char *name)
{
	size_t i = 0;

	while (i < in->rows_n && strcmp(in->rows[i].name, name) != 0)
		i++;
	return i;
}

const struct option_values *invocation_list(const struct invocation *in, const char *name)
{
	static const struct option_values none;
	size_t i = row_index(in, name);

	return i < in->rows_n ? &in->values[i] : &none;
}

const char *invocation_value(const struct invocation *in, const char *name)
{
	return invocation_list(in, name)->value;
}

bool invocation_flag(const struct invocation *in, const char *name)
{
	return invocation_value(in, name) != NULL;
}
