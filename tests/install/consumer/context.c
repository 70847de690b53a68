/* One context of a client, which needs no file of ours. */
#include <volt/tls.h>

int main(void) {
  char why[200];
  volt_tls_context *context;
  volt_tls_config config = {.alpn = "http/1.1"};
  if (volt_tls_context_create(&context, VOLT_TLS_CLIENT, &config, why, sizeof why) != VOLT_OK)
    return 1;
  volt_tls_context_drop(context);
  return 0;
}
