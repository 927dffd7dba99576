/* Cyanotype for C: the function in src/bridge.rs. */
#ifndef CYANOTYPE_H
#define CYANOTYPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Applies a graph in text form, for instance "exposure 0.5 | unsharp 2 0.8", to RGBA pixels with premultiplied alpha, in
 * place. `pixels` has width * height * 4 bytes without padding. Returns 0, or -1 with the reason in `error`, cut to
 * `error_size` bytes with the closing zero; `error` may be NULL. May be called from any thread; calls wait for each other.
 */
int cyanotype_apply(const char *graph, uint8_t *pixels, uint32_t width, uint32_t height, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
