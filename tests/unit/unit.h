/* What every unit test includes before its own headers: cmocka and what it needs. */
#ifndef SBX_TESTS_UNIT_H
#define SBX_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#endif
