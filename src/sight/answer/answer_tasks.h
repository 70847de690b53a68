/* answer_tasks.h: a task in an answer, and what it waits for. */
#ifndef VOLT_SIGHT_ANSWER_ANSWER_TASKS_H
#define VOLT_SIGHT_ANSWER_ANSWER_TASKS_H

#include "../../core/hooks/kind.h"
#include "../../rt/inspect/inspect.h"
#include "json.h"

/* Nothing if it is NONE. */
void volt_answer_put_kind_(volt_json_ *to, volt_kind_ kind);

/* What a task waits for, of an open line. object NULL: there is none. */
void volt_answer_put_object_(volt_json_ *to, const char *operation, volt_kind_ kind,
                             const void *object);

/* Where an await is; nothing if site is NULL. */
void volt_answer_put_site_(volt_json_ *to, const struct volt_site_ *site, uint32_t line);

/* 0: it has not waited yet. */
uint64_t volt_answer_age_ns_(uint64_t now_ns, uint64_t since_ns);

/* The function of a task that has no name, as a task without VOLT_TASK_BEGIN; 0: its function or
 * the fiber has one. */
uintptr_t volt_answer_nameless_(const volt_seen_ *s);

/* A line of a task, which stays open. functions: knows the one that has no name, or may ask for it. */
struct volt_functions_;
void volt_answer_task_line_(volt_json_ *to, volt_rt *rt, const volt_seen_ *s, uint64_t age_ns,
                            struct volt_functions_ *functions);

#endif
