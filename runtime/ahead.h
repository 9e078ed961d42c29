// Begin ahead.h: kernels that were compiled for a device when the program was (`flc build
// --device`), and what those hold.

// Digits are the characters from '#' on, without those that a string literal may not hold as they
// are: '?' and '\\'.
RT_FN uint32_t rt_ahead_digit(char c) {
  return (uint32_t)(c - '#' - (c > '?') - (c > '\\'));
}

// Four bytes per five digits; what was added to fill the last four is after the end of the gzip
// data, where nobody looks.  The caller frees the bytes; NULL if they are damaged.
RT_FN char *rt_ahead_unpack(const struct rt_ahead_program *p, size_t *length) {
  enum { DIGITS = 5, BYTES = 4 };
  struct rt_text t = { NULL, 0, 0 };
  for (int i = 0; p->pieces[i]; i++) {
    const char *s = p->pieces[i];
    for (size_t left = strlen(s); left >= DIGITS; left -= DIGITS, s += DIGITS) {
      uint32_t word = 0;
      char bytes[BYTES];
      for (int k = 0; k < DIGITS; k++)
        word = word * 85 + rt_ahead_digit(s[k]);
      for (int k = 0; k < BYTES; k++)
        bytes[k] = (char)(word >> (24 - 8 * k) & 255);
      rt_text_bytes(&t, bytes, BYTES);
    }
  }
  *length = t.length;
  char *bytes = rt_text_take(&t);
  if (rt_gunzip(&bytes, length)) return bytes;
  free(bytes);
  return NULL;
}

// Is this the device, and are driver and platform the ones?
RT_FN void rt_ahead_open(struct rt_context *ctx) {
  const struct rt_ahead *a = ctx->program->ahead;
  const struct rt_device *d = &ctx->device;
  if (!a) return;
  ctx->uses_ahead = strcmp(a->device, d->name) == 0 &&
                    strcmp(a->driver, d->driver) == 0 &&
                    strcmp(a->platform, d->platform_version) == 0;
  rt_log(ctx, "compiled ahead for %s, driver %s, %s", a->device, a->driver, a->platform);
  if (!ctx->uses_ahead)
    rt_log(ctx, "not used, as this is %s, driver %s, %s", d->name, d->driver,
           d->platform_version);
}

// The program that the text is about; NULL if there is none that the driver accepts.
RT_FN struct rt_module *rt_ahead_build(struct rt_context *ctx, const char *about,
                                       const char *options) {
  const struct rt_ahead *a = ctx->program->ahead;
  int i = 0, count = ctx->uses_ahead ? a->count : 0;
  while (i < count && strcmp(a->programs[i].about, about) != 0)
    i++;
  if (i == count) return NULL;
  struct rt_binary binary = { NULL, NULL, 0 };
  binary.bytes = (unsigned char *)rt_ahead_unpack(&a->programs[i], &binary.length);
  struct rt_module *module =
      binary.bytes ? rt_build_from_binary(ctx, false, &binary, options) : NULL;
  if (!module)
    rt_log(ctx, "what was compiled ahead is %s",
           binary.bytes ? "refused by the driver" : "damaged");
  free(binary.bytes);
  return module;
}
// End ahead.h
