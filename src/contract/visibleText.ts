/** Untrusted text in which nothing is hidden: control and format characters are spelled out, except line breaks and tabs. */
export const visibleText = (text: string, maxLength: number): string =>
  (text.length > maxLength ? `${text.slice(0, maxLength)}\n[${text.length - maxLength} more characters]` : text)
    .toWellFormed()
    .replace(
      /[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029]/gu,
      character => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
    )
