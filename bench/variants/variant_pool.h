/* variant_pool.h: what serve.c needs of a variant that keeps its permits in a pool. */
#ifndef VOLT_VARIANTS_VARIANT_POOL_H
#define VOLT_VARIANTS_VARIANT_POOL_H

#include "serve.h"
#include "state.h"

/* Members of volt_variant_: see serve.h. The line is that of a volt_variant_pool_. */
int volt_variant_pool_take_(volt_line_ *line, volt_waiter *w);
bool volt_variant_pool_settle_(const volt_variant_ *v, volt_line_ *line, uint32_t hand);
bool volt_variant_pool_is_closed_(volt_line_ *line);
void volt_variant_pool_close_(volt_line_ *line);

/* As the available() of a variant. */
uint32_t volt_variant_pool_available_(volt_variant_pool_ *pool);

void volt_variant_pool_init_(const volt_variant_ *v, volt_variant_pool_ *pool, uint32_t permits);

#endif
