import * as v from 'valibot'
import { invalid, Problem, type Detail } from '../../src/contract/errors.ts'
import { issueText } from '../../src/contract/forges/issueText.ts'

/**
 * Reads a query string. Each name can occur once.
 * @throws Problem VALIDATION_FAILED
 */
export function readQuery(url: string): Record<string, string> {
  const at = url.indexOf('?')
  return at < 0 ? {} : fieldsOnce(url.slice(at + 1), 'A query parameter occurs more than once.')
}

/** @throws Problem VALIDATION_FAILED with the message if a name occurs more than once */
export function fieldsOnce(text: string, message: string): Record<string, string> {
  const entries = [...new URLSearchParams(text)]
  const fields = Object.fromEntries(entries)
  if (Object.keys(fields).length !== entries.length) throw new Problem('VALIDATION_FAILED', message)
  return fields
}

/**
 * Validates a value against a schema and returns the parsed value.
 * @throws Problem VALIDATION_FAILED with each field and its rule, but never its value
 */
export function validate(schema: v.GenericSchema, value: unknown): unknown {
  const isList = Array.isArray(value)
  const meant = optionFor(schema, isList)
  // Valibot's object schemas accept an array as an object without fields.
  if (isList && meant.type !== 'array')
    throw new Problem('VALIDATION_FAILED', 'body must be an object', {
      details: [{ path: '', message: 'must be an object' }],
    })
  requireBounds(isList ? { body: value } : value)
  const result = v.safeParse(meant, value, { abortPipeEarly: true })
  if (result.success) return result.output
  const details = result.issues.slice(0, 20).map(toDetail)
  throw new Problem(
    'VALIDATION_FAILED',
    details
      .map(({ path, message }) => `${path || 'body'} ${message}`)
      .join('; ')
      .slice(0, 2000),
    { details },
  )
}

/** Returns the option of a union of an object and a list that fits a value, so that errors name its fields. */
function optionFor(schema: v.GenericSchema, isList: boolean): v.GenericSchema {
  const { options = [] } = schema as { options?: readonly v.GenericSchema[] }
  if (schema.type !== 'union' || !options.some(({ type }) => type === 'array')) return schema
  return options.find(({ type }) => (type === 'array') === isList) ?? schema
}

const maxItems = 10_000

/**
 * Checks list lengths before the schema. The schema would create an issue per item before it counts them: half a million items
 * block the server for seconds.
 */
function requireBounds(value: unknown): void {
  if (value === null || typeof value !== 'object') return
  for (const [name, field] of Object.entries(value)) {
    const count = Array.isArray(field)
      ? field.length
      : field !== null && typeof field === 'object'
        ? Object.keys(field).length
        : 0
    if (count > maxItems) throw invalid(name.slice(0, 200), `must have at most ${maxItems} items`)
  }
}

function toDetail(issue: v.BaseIssue<unknown>): Detail {
  const path = (issue.path ?? [])
    .map(item => String(item.key))
    .join('.')
    .slice(0, 200)
  return { path, message: issueText(issue) }
}
