import { refuse } from '../../src/contract/errors.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import { textParams, type Route } from '../../src/contract/route.ts'

/** Creates the parser of a path's raw parameters: IDs become integers, other values become decoded text. */
export function paramReader({
  path,
  integerIds,
  notFound = {},
}: Route): (raw: Readonly<Record<string, string>>) => Record<string, string | number> {
  const names = paramsOf(path)
  return raw => {
    const params: Record<string, string | number> = {}
    for (const name of names) {
      if ((textParams as readonly string[]).includes(name)) params[name] = decode(raw[name]!) ?? refuse(notFound[name]!)
      else params[name] = parseId(raw[name]!) ?? refuse(integerIds ? 'INVALID_ID' : notFound[name]!)
    }
    return params
  }
}

/** Returns the ID in a path parameter before validation. Returns undefined for other text. */
export const peekId = (raw: string | undefined): number | undefined => (raw === undefined ? undefined : parseId(raw))

function parseId(text: string): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** SQLite would cut a text at NUL. */
function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}
