const mark = '[redacted]'
const maxCharacters = 8192
const maxItems = 100
const maxDepth = 5

/** Names of fields whose values are always secrets. */
const secretName =
  /pass(word|wd|phrase)?$|secret|token$|api-?_?key|private-?_?key|authorization|cookie|credential$|^pwd$|^headers?$|^body$|^query$|verifier|setup-?_?code/i
/** The prefixes of secrets: the board's own tokens, webhook secrets, and tokens of providers. */
const tokens =
  /\b(svc_[a-z]{2}_|whsec_|sk-|ghp_|gho_|ghs_|ghu_|github_pat_|xox[abprs]-|AKIA|ya29\.|eyJ[\w-]{8,}\.)[\w./+=-]{3,}/g
const schemes = /\b(authorization["']?\s*[:=]\s*["']?)?(bearer|basic)\s+[\w.~+/=-]{4,}/gi
/** `password=...`, `"apiKey": "..."` in running text. */
const assigned =
  /\b([\w-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|cookie|verifier|setup[_-]?code)\\{0,8}["']?\s*[:=]\s*)(\\{1,8}"[^"]*"?|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s&,;)\]}]+)/gi
const authorities = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@"']+@/gi
const queries = /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s?#"'<>]+)[?#][^\s"'<>)]*/gi
/** The query of a path without a host. */
const pathQueries = /(\/[\w./%~:@{}-]{0,200})\?[\w%.~+[\]-]{1,100}=[^\s"'<>)]*/g
const suspicious =
  /\?|svc_|whsec_|sk-|gh[opsu]_|github_pat_|xox|AKIA|ya29\.|eyJ|bearer|basic|:\/\/|pass|secret|token|key|cookie|verifier|code/i

/**
 * The last line of defense: removes secrets from a text. Replaces NUL and lone surrogates, which the stores refuse, with marks.
 */
function text(given: string, maxLength = maxCharacters): string {
  const bounded = given.length > maxLength ? `${given.slice(0, maxLength)}…` : given
  const clean = (bounded.includes('\0') ? bounded.replaceAll('\0', '\u2400') : bounded).toWellFormed()
  if (!suspicious.test(clean)) return clean
  return clean
    .replace(queries, '$1?…')
    .replace(pathQueries, '$1?…')
    .replace(authorities, `$1${mark}@`)
    .replace(tokens, `$1${mark}`)
    .replace(schemes, (_, head = '', scheme) => `${head}${scheme} ${mark}`)
    .replace(assigned, `$1${mark}`)
}

function value(given: unknown, depth: number): unknown {
  if (typeof given === 'string') return text(given)
  if (given === null || typeof given === 'boolean') return given
  if (typeof given === 'number') return Number.isFinite(given) ? given : String(given)
  if (typeof given !== 'object') return given === undefined ? undefined : text(String(given), 200)
  if (given instanceof Date) return Number.isNaN(given.getTime()) ? null : given.toISOString()
  if (given instanceof Error) return text(given.stack ?? String(given))
  if (ArrayBuffer.isView(given)) return `${given.byteLength} bytes`
  if (depth >= maxDepth) return '…'
  if (Array.isArray(given)) return given.slice(0, maxItems).map(each => value(each, depth + 1))
  return fields(given as Record<string, unknown>, depth + 1)
}

function fields(given: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  const clean: Record<string, unknown> = {}
  let count = 0
  for (const name in given) {
    if (!Object.hasOwn(given, name) || given[name] === undefined || ++count > maxItems) continue
    clean[text(name, 100)] = secretName.test(name) ? mark : value(given[name], depth)
  }
  return clean
}

/** Removes secrets from values that are about to be logged. */
export const redact = {
  text,
  fields: (given: Readonly<Record<string, unknown>>): Record<string, unknown> => fields(given),
}
