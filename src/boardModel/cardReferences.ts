/** A part of a text: plain text, or the ID of a card that the text refers to as `#12`. */
export type TextPart = string | { cardId: string }

const reference = /(?<![\p{L}\p{N}_&#/])#([1-9]\d{0,8})(?![\p{L}\p{N}_])/u

/** Splits a text at its references to cards. `a#1`, `/#1`, `#1a` and `&#12;` are not references. */
export const splitReferences = (text: string): TextPart[] =>
  // Every second part is the ID that the expression captures.
  text
    .split(reference)
    .map((part, at) => (at % 2 === 1 ? { cardId: part } : part))
    .filter(part => part !== '')
