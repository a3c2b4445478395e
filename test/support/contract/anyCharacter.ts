import fc from 'fast-check'

const codePoints = (min: number, max: number) => fc.integer({ min, max })

/** Any Unicode character. fast-check's own `binary` builds a table of a million entries, which takes half a second and 80 MB of memory. */
export const anyCharacter = fc
  .oneof(
    { arbitrary: codePoints(0, 0xd7_ff), weight: 1 },
    // Code points other than surrogates.
    { arbitrary: codePoints(0xe0_00, 0x10_ff_ff), weight: 19 },
  )
  .map(codePoint => String.fromCodePoint(codePoint))
