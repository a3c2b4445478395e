const maxBytes = 255

/**
 * Sanitizes a client's file name: the last part of a path, without control and direction characters, at most 255 bytes
 * with the whole extension. For display only; no file on the server has it.
 */
export function cleanFilename(sent: string | undefined): string {
  const last = (sent ?? '').toWellFormed().replaceAll('%22', '"').split(/[/\\]/).at(-1)!
  const name = shorten(
    last.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, '').trim(),
  )
  return /^\.*$/.test(name) ? 'attachment' : name
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name
  const extension = /\.[a-z0-9]{1,16}$/i.exec(name)?.[0] ?? ''
  let bytes = Buffer.byteLength(extension)
  let kept = ''
  for (const character of name) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxBytes) break
    kept += character
  }
  return kept + extension
}
