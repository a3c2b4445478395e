const minSecretLength = 6
const mark = '***'

/** Replaces the secrets of one launch. */
export interface Redactor {
  text(text: string): string
  /** A JSON value with all its strings redacted, including field names. */
  value<T>(value: T): T
  /** The number of characters at the end of a text that might be the beginning of a secret. */
  lengthOfBegun(text: string): number
}

/**
 * Secrets are also found in their JSON and URL encodings. Secrets shorter than six characters are not redacted, because they
 * match ordinary words.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = [
    ...new Set(
      secrets
        .filter(secret => secret.length >= minSecretLength)
        .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
    ),
  ].sort((a, b) => b.length - a.length)
  const text = (given: string): string => forms.reduce((redacted, form) => redacted.replaceAll(form, mark), given)
  const redactValue = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(redactValue)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(Object.entries(given).map(([name, each]) => [text(name), redactValue(each)]))
  }
  const begunLength = (given: string, form: string): number => {
    for (let length = Math.min(form.length - 1, given.length); length > 0; length--)
      if (given.endsWith(form.slice(0, length))) return length
    return 0
  }
  return {
    text,
    value: given => (forms.length === 0 ? given : (redactValue(given) as typeof given)),
    lengthOfBegun: given => forms.reduce((maxLength, form) => Math.max(maxLength, begunLength(given, form)), 0),
  }
}

/** Replaces secrets in one text. */
export const redactSecrets = (text: string, secrets: readonly string[]): string => createRedactor(secrets).text(text)
