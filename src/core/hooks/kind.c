/* kind.c: see kind.h. */
#include "kind.h"

static const char *const kind_names[VOLT_KINDS_] = {
#define KIND_NAME(constant, name, api, counted) name,
    VOLT_KIND_TABLE_(KIND_NAME)
#undef KIND_NAME
};

const char *const volt_kind_apis_[VOLT_KINDS_] = {
#define KIND_API(constant, name, api, counted) api,
    VOLT_KIND_TABLE_(KIND_API)
#undef KIND_API
};

const uint8_t volt_kinds_counted_[VOLT_KINDS_] = {
#define KIND_COUNTED(constant, name, api, counted) VOLT_KIND_##counted##_,
    VOLT_KIND_TABLE_(KIND_COUNTED)
#undef KIND_COUNTED
};

const char *volt_kind_name_(volt_kind_ kind) {
  return kind_names[kind];
}
