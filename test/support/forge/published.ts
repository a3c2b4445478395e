import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A record in a forge's published description of its API. Field names end with "?" if they can be missing; types with "?"
 * if they can be null. "@name" is another record, "[type]" a list, 'a'|'b' one of these words.
 */
type Shape = string | { [field: string]: Shape } | [Shape]

/** The records of a forge by the names in its description: test/fixtures/forge/KIND.json. */
export function readPublished(kind: string): (name: string, value: unknown) => string[] {
  const shapes = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../fixtures/forge', `${kind}.json`), 'utf8'),
  ) as Record<string, Shape>
  return (name, value) => differences(shapes, `@${name}`, value, name)
}

/** The places where a value differs from its description. A field without a description is a difference. */
function differences(shapes: Record<string, Shape>, shape: Shape, value: unknown, at: string): string[] {
  if (Array.isArray(shape)) return ofList(shapes, shape[0], value, at)
  if (typeof shape === 'object') return ofObject(shapes, shape, value, at)
  if (shape.endsWith('?') && value === null) return []
  const type = shape.replace(/\?$/, '')
  if (type === 'any') return []
  if (type.startsWith('@')) return differences(shapes, shapes[type.slice(1)]!, value, at)
  if (type.startsWith('[')) return ofList(shapes, type.slice(1, -1), value, at)
  const fits = type.startsWith("'")
    ? type.split('|').includes(`'${String(value)}'`)
    : type === 'integer'
      ? Number.isSafeInteger(value)
      : type === 'object'
        ? typeof value === 'object' && value !== null
        : typeof value === type
  return fits ? [] : [`${at} is ${JSON.stringify(value)}, not ${shape}`]
}

function ofList(shapes: Record<string, Shape>, shape: Shape, value: unknown, at: string): string[] {
  if (!Array.isArray(value)) return [`${at} is not a list`]
  return value.flatMap((each, index) => differences(shapes, shape, each, `${at}[${index}]`))
}

function ofObject(
  shapes: Record<string, Shape>,
  shape: { [field: string]: Shape },
  value: unknown,
  at: string,
): string[] {
  if (value === null && shape[''] === '?') return []
  if (typeof value !== 'object' || value === null) return [`${at} is ${JSON.stringify(value)}, not an object`]
  const fields = value as Record<string, unknown>
  const known = Object.keys(shape).map(name => name.replace(/\?$/, ''))
  return [
    ...Object.keys(fields)
      .filter(name => !known.includes(name))
      .map(name => `${at}.${name} is not described`),
    ...Object.entries(shape).flatMap(([field, type]) => {
      const name = field.replace(/\?$/, '')
      if (name in fields && fields[name] !== undefined) return differences(shapes, type, fields[name], `${at}.${name}`)
      return field.endsWith('?') || field === '' ? [] : [`${at}.${name} is missing`]
    }),
  ]
}
