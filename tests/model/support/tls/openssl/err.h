// err.h: errors that OpenSSL has queued, for a model: none.
#ifndef VOLT_MODEL_ERR_H
#define VOLT_MODEL_ERR_H

inline void ERR_clear_error() {
}

#endif
