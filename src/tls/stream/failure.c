/* failure.c: which code a failure of OpenSSL has, and in which words.
 *
 * Labels: tls */
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "stream.h"

/* Of a certificate that was refused. */
static int failure_of_certificate(long verdict) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return VOLT_TLS_EEXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID: return VOLT_TLS_ENOTYET;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return VOLT_TLS_ENAME;
    case X509_V_ERR_CERT_REVOKED: return VOLT_TLS_EREVOKED;
    default: return VOLT_TLS_EUNTRUSTED;
  }
}

static bool failure_is_alert(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET;
}

/* The last error that OpenSSL has queued says it. */
static int failure_of_openssl(volt_tls *t) {
  unsigned long error = ERR_peek_last_error();
  long verdict = SSL_get_verify_result(t->ssl);
  bool is_verdict =
      ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  if (is_verdict) {
    t->why = X509_verify_cert_error_string(verdict);
    return failure_of_certificate(verdict);
  }
  const char *reason = ERR_reason_error_string(error);
  t->why = reason ? reason : "unknown reason";
  if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return VOLT_ENOMEM;
  return failure_is_alert(error) ? VOLT_TLS_EREFUSED : VOLT_TLS_EPROTOCOL;
}

int volt_tls_failed_(volt_tls *t, int returned) {
  int kind = SSL_get_error(t->ssl, returned);
  if (kind == SSL_ERROR_WANT_READ && t->error == VOLT_OK) return VOLT_EAGAIN;
  if (kind == SSL_ERROR_ZERO_RETURN) {
    t->has_ended = 1;
    return VOLT_OK;
  }
  if (t->error != VOLT_OK) { /* of the socket */
    t->why = volt_strerror(t->error);
  } else if (t->has_eof && kind != SSL_ERROR_SSL) {
    t->error = VOLT_TLS_ETRUNCATED;
  } else if (t->has_eof &&
             ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    t->error = VOLT_TLS_ETRUNCATED;
  } else {
    t->error = failure_of_openssl(t);
  }
  if (t->error == VOLT_TLS_ETRUNCATED) t->why = volt_strerror(t->error);
  ERR_clear_error();
  return t->error;
}
