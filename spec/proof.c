/*
 * A list that is judged when it is read. Evidence that there was no memory for counts against what
 * it carries, so that a shortage never looks like success.
 */
#include "spec/proof.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 512

const char *proof_text(const struct proof *proof, const char *fmt, ...)
{
	char text[TEXT_MAX] = "";
	const char *copy;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	copy = arena_strdup(proof->arena, text);
	return copy ? copy : "";
}

static struct evidence *new_evidence(struct proof *proof)
{
	if (proof->n == proof->cap) {
		size_t cap = proof->cap ? proof->cap * 2 : 128;
		struct evidence *v = arena_alloc_array(proof->arena, cap, sizeof(*v));

		if (!v)
			return NULL;
		if (proof->n)
			memcpy(v, proof->v, proof->n * sizeof(*v));
		proof->v = v;
		proof->cap = cap;
	}
	return &proof->v[proof->n++];
}

static const char *copy_text(struct proof *proof, const char *text)
{
	return arena_strdup(proof->arena, text ? text : "");
}

void proof_add(struct proof *proof, const struct evidence *evidence)
{
	struct evidence *e = new_evidence(proof);

	if (!e) {
		proof->lost |= evidence->carries;
		return;
	}
	e->mechanism = copy_text(proof, evidence->mechanism);
	e->probe = copy_text(proof, evidence->probe);
	e->control = copy_text(proof, evidence->control);
	e->outcome = copy_text(proof, evidence->outcome);
	e->reason = copy_text(proof, evidence->reason);
	e->carries = evidence->carries;
	e->proved = evidence->proved && e->mechanism && e->probe && e->control && e->outcome &&
		    e->reason;
}

uint32_t proof_bits(const struct proof *proof, uint32_t claimed)
{
	uint32_t carried = 0, broken = proof->lost;

	for (size_t i = 0; i < proof->n; i++) {
		carried |= proof->v[i].carries;
		if (!proof->v[i].proved)
			broken |= proof->v[i].carries;
	}
	return claimed & carried & ~broken;
}

static void write_evidence(struct json_writer *w, const struct evidence *e)
{
	json_begin_object(w, NULL);
	json_write_string(w, "mechanism", e->mechanism);
	json_write_string(w, "probe", e->probe);
	json_write_string(w, "control", e->control);
	json_write_string(w, "outcome", e->outcome);
	json_write_bool(w, "proved", e->proved);
	if (e->reason && *e->reason)
		json_write_string(w, "reason", e->reason);
	json_end_object(w);
}

static void write_guarantee(struct json_writer *w, const struct proof *proof, enum guarantee g,
			    bool proved)
{
	json_begin_object(w, guarantee_name(g));
	json_write_bool(w, "proved", proved);
	json_begin_array(w, "evidence");
	for (size_t i = 0; i < proof->n; i++)
		if (proof->v[i].carries & GUARANTEE_BIT(g))
			write_evidence(w, &proof->v[i]);
	json_end_array(w);
	json_end_object(w);
}

void proof_write(struct json_writer *w, const char *key, const struct proof *proof,
		 uint32_t claimed)
{
	uint32_t proved = proof_bits(proof, claimed);

	json_begin_object(w, key);
	json_write_bool(w, "proved", proved == claimed);
	json_write_uint(w, "guaranteeBits", proved);
	json_begin_object(w, "guarantees");
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		if (claimed & GUARANTEE_BIT(g))
			write_guarantee(w, proof, g, proved & GUARANTEE_BIT(g));
	json_end_object(w);
	json_end_object(w);
}
