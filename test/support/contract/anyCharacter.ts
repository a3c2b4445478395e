import fc from 'fast-check'

const codePoints = (min: number, max: number) => fc.integer({ min, max })

/** Any character at all. fast-check's own `binary` makes a table of a million, which takes half a second and 80 MB that stay. */
export const anyCharacter = fc
  .oneof(
    { arbitrary: codePoints(0, 0xd7_ff), weight: 1 },
    // Beyond the halves of surrogate pairs.
    { arbitrary: codePoints(0xe0_00, 0x10_ff_ff), weight: 19 },
  )
  .map(codePoint => String.fromCodePoint(codePoint))
