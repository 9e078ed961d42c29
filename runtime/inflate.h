// Begin inflate.h: input that is compressed with gzip (RFC 1951, RFC 1952).

enum { RT_CODE_BITS = 15, RT_CODE_ENTRIES = 1 << RT_CODE_BITS, RT_MAX_SYMBOLS = 288 };

struct rt_inflater {
  const unsigned char *in;
  size_t length, at;  // bytes, and the next one that is not in `bits`
  uint64_t bits;      // that were read and not yet used, the first one lowest
  int bit_count;
  struct rt_text out;
  size_t start;  // of the member at hand in `out`
  // By the next 15 bits: symbol * 16 + length of its code; 0: no code begins so.
  uint16_t literals[RT_CODE_ENTRIES], distances[RT_CODE_ENTRIES];
};

// Makes at least `count` <= 32 bits ready; zeros follow the end.
RT_FN void rt_inflate_fill(struct rt_inflater *z, int count) {
  while (z->bit_count < count) {
    uint64_t byte = z->at < z->length ? z->in[z->at] : 0;
    z->at++;
    z->bits |= byte << z->bit_count;
    z->bit_count += 8;
  }
}

RT_FN unsigned rt_inflate_bits(struct rt_inflater *z, int count) {
  rt_inflate_fill(z, count);
  unsigned value = (unsigned)(z->bits & ((UINT64_C(1) << count) - 1));
  z->bits >>= count;
  z->bit_count -= count;
  return value;
}

// Has more been used than there is?
RT_FN bool rt_inflate_ended(const struct rt_inflater *z) {
  return z->at > z->length + (size_t)(z->bit_count / 8);
}

// ---- codes

// Codes of one length are consecutive numbers, shorter ones before longer ones, and are
// sent with their first bit first.  False if there are too many.
RT_FN bool rt_inflate_codes(uint16_t *table, const unsigned char *lengths, int count) {
  unsigned next = 0;
  memset(table, 0, RT_CODE_ENTRIES * sizeof *table);
  for (int length = 1; length <= RT_CODE_BITS; length++, next <<= 1)
    for (int symbol = 0; symbol < count; symbol++) {
      if (lengths[symbol] != length) continue;
      if (next >> length) return false;
      unsigned reversed = 0;
      for (int bit = 0; bit < length; bit++)
        reversed |= (next >> bit & 1) << (length - 1 - bit);
      for (unsigned i = reversed; i < RT_CODE_ENTRIES; i += 1u << length)
        table[i] = (uint16_t)(symbol << 4 | length);
      next++;
    }
  return true;
}

// The next symbol, or -1.
RT_FN int rt_inflate_symbol(struct rt_inflater *z, const uint16_t *table) {
  rt_inflate_fill(z, RT_CODE_BITS);
  int entry = table[z->bits & (RT_CODE_ENTRIES - 1)];
  z->bits >>= entry & 15;
  z->bit_count -= entry & 15;
  return entry ? entry >> 4 : -1;
}

// ---- blocks

RT_FN bool rt_inflate_stored(struct rt_inflater *z) {
  rt_inflate_bits(z, z->bit_count % 8);
  unsigned length = rt_inflate_bits(z, 16), check = rt_inflate_bits(z, 16);
  z->at -= (size_t)(z->bit_count / 8);
  z->bits = 0;
  z->bit_count = 0;
  if ((length ^ check) != 0xFFFF || z->at > z->length || length > z->length - z->at)
    return false;
  rt_text_bytes(&z->out, z->in + z->at, length);
  z->at += length;
  return true;
}

// Repeats what was written `distance` bytes before; the two may overlap.
RT_FN bool rt_inflate_copy(struct rt_inflater *z, size_t distance, size_t length) {
  if (distance > z->out.length - z->start) return false;
  rt_text_reserve(&z->out, length);
  char *to = z->out.data + z->out.length;
  for (size_t i = 0; i < length; i++)
    to[i] = to[(ptrdiff_t)i - (ptrdiff_t)distance];
  z->out.length += length;
  return true;
}

// The distance, then the copy that it belongs to.
RT_FN bool rt_inflate_repeat(struct rt_inflater *z, int symbol) {
  static const uint16_t lengths[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                      15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                      67, 83, 99, 115, 131, 163, 195, 227, 258 };
  if (symbol > 285) return false;
  int more = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
  size_t length = lengths[symbol - 257] + rt_inflate_bits(z, more);
  int code = rt_inflate_symbol(z, z->distances);
  if (code < 0 || code > 29) return false;
  int extra = code < 2 ? 0 : code / 2 - 1;
  size_t first = code < 2 ? (size_t)code + 1 : ((size_t)(2 + code % 2) << extra) + 1;
  return rt_inflate_copy(z, first + rt_inflate_bits(z, extra), length);
}

RT_FN bool rt_inflate_block(struct rt_inflater *z) {
  for (;;) {
    int symbol = rt_inflate_symbol(z, z->literals);
    if (symbol < 0 || rt_inflate_ended(z)) return false;
    if (symbol == 256) return true;
    char byte = (char)symbol;
    if (symbol < 256)
      rt_text_bytes(&z->out, &byte, 1);
    else if (!rt_inflate_repeat(z, symbol))
      return false;
  }
}

RT_FN bool rt_inflate_fixed(struct rt_inflater *z) {
  unsigned char lengths[RT_MAX_SYMBOLS];
  for (int i = 0; i < RT_MAX_SYMBOLS; i++)
    lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  rt_inflate_codes(z->literals, lengths, RT_MAX_SYMBOLS);
  memset(lengths, 5, 30);
  rt_inflate_codes(z->distances, lengths, 30);
  return rt_inflate_block(z);
}

// The lengths of `count` codes, which are coded themselves: 16 to 18 repeat.
RT_FN bool rt_inflate_lengths(struct rt_inflater *z, unsigned char *lengths, int count) {
  for (int i = 0; i < count;) {
    int symbol = rt_inflate_symbol(z, z->literals);
    if (symbol < 0 || rt_inflate_ended(z) || (symbol == 16 && i == 0)) return false;
    if (symbol < 16) {
      lengths[i++] = (unsigned char)symbol;
      continue;
    }
    unsigned char again = symbol == 16 ? lengths[i - 1] : 0;
    int times = symbol == 16   ? 3 + (int)rt_inflate_bits(z, 2)
                : symbol == 17 ? 3 + (int)rt_inflate_bits(z, 3)
                               : 11 + (int)rt_inflate_bits(z, 7);
    if (times > count - i) return false;
    memset(lengths + i, again, (size_t)times);
    i += times;
  }
  return true;
}

RT_FN bool rt_inflate_dynamic(struct rt_inflater *z) {
  static const unsigned char order[] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                         11, 4,  12, 3, 13, 2, 14, 1, 15 };
  unsigned char lengths[RT_MAX_SYMBOLS + 32] = { 0 };
  int literals = 257 + (int)rt_inflate_bits(z, 5);
  int distances = 1 + (int)rt_inflate_bits(z, 5);
  int count = 4 + (int)rt_inflate_bits(z, 4);
  for (int i = 0; i < count; i++)
    lengths[order[i]] = (unsigned char)rt_inflate_bits(z, 3);
  if (literals > 286 || !rt_inflate_codes(z->literals, lengths, 19)) return false;
  memset(lengths, 0, sizeof lengths);
  return rt_inflate_lengths(z, lengths, literals + distances) && lengths[256] &&
         rt_inflate_codes(z->literals, lengths, literals) &&
         rt_inflate_codes(z->distances, lengths + literals, distances) &&
         rt_inflate_block(z);
}

RT_FN bool rt_inflate_blocks(struct rt_inflater *z) {
  bool last = false, ok = true;
  while (ok && !last) {
    last = rt_inflate_bits(z, 1) != 0;
    unsigned kind = rt_inflate_bits(z, 2);
    ok = kind == 0   ? rt_inflate_stored(z)
         : kind == 1 ? rt_inflate_fixed(z)
         : kind == 2 ? rt_inflate_dynamic(z)
                     : false;
  }
  return ok && !rt_inflate_ended(z);
}

// ---- files

RT_FN uint32_t rt_crc32(const char *bytes, size_t length) {
  uint32_t table[256], crc = UINT32_MAX;
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int bit = 0; bit < 8; bit++)
      table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xEDB88320) : 0);
  }
  for (size_t i = 0; i < length; i++)
    crc = crc >> 8 ^ table[(crc ^ (unsigned char)bytes[i]) & 255];
  return ~crc;
}

RT_FN bool rt_gzip_begins(const struct rt_inflater *z) {
  return z->length - z->at > 2 && z->in[z->at] == 0x1F && z->in[z->at + 1] == 0x8B;
}

// Past a text that ends with a NUL.
RT_FN void rt_gzip_skip_text(struct rt_inflater *z) {
  while (z->at < z->length && z->in[z->at])
    z->at++;
  z->at++;
}

RT_FN bool rt_gzip_header(struct rt_inflater *z) {
  enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, HEADER = 10 };
  if (z->length - z->at < HEADER || z->in[z->at + 2] != 8) return false;
  int flags = z->in[z->at + 3];
  z->at += HEADER;
  if (flags & EXTRA) {
    size_t low = rt_inflate_bits(z, 8), high = rt_inflate_bits(z, 8);
    z->at += low | high << 8;
  }
  if (flags & NAME) rt_gzip_skip_text(z);
  if (flags & COMMENT) rt_gzip_skip_text(z);
  if (flags & HEADER_CRC) z->at += 2;
  return z->at <= z->length;
}

// A member of the file: header, blocks, checksum and length.
RT_FN bool rt_gzip_member(struct rt_inflater *z) {
  z->start = z->out.length;
  if (!rt_gzip_header(z) || !rt_inflate_blocks(z)) return false;
  rt_inflate_bits(z, z->bit_count % 8);
  uint32_t crc = rt_inflate_bits(z, 32), size = rt_inflate_bits(z, 32);
  z->at -= (size_t)(z->bit_count / 8);
  z->bits = 0;
  z->bit_count = 0;
  size_t length = z->out.length - z->start;
  return z->at <= z->length && size == (uint32_t)length &&
         crc == rt_crc32(z->out.data + z->start, length);
}

// The bytes, unpacked if they are compressed: replaces and frees `*bytes`.  False if they
// are damaged.
RT_FN bool rt_gunzip(char **bytes, size_t *length) {
  struct rt_inflater *z = (struct rt_inflater *)rt_host_alloc(sizeof *z);
  z->in = (const unsigned char *)*bytes;
  z->length = *length;
  bool packed = rt_gzip_begins(z), ok = true;
  rt_text_reserve(&z->out, packed ? 4 * *length : 0);
  while (ok && z->at < z->length && rt_gzip_begins(z))
    ok = rt_gzip_member(z);
  size_t unpacked = z->out.length;
  char *out = rt_text_take(&z->out);
  free(z);
  if (!packed || !ok) {
    free(out);
    return ok;
  }
  free(*bytes);
  *bytes = out;
  *length = unpacked;
  return true;
}
// End inflate.h
