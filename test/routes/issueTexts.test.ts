import * as v from 'valibot'
import { expect, it } from 'vitest'
import { validate } from '../../daemon/http/validate.ts'
import type { Problem } from '../../src/contract/errors.ts'
import { ClientMessage } from '../../src/contract/server/events.ts'
import { rows } from '../support/contract/examples.ts'

const saidOf = (schema: v.GenericSchema, value: unknown): string[] => {
  try {
    validate(schema, value)
    return []
  } catch (error) {
    return (error as Problem).details!.map(({ message }) => message)
  }
}
const field = (schema: v.GenericSchema, value: unknown) => saidOf(v.strictObject({ field: schema }), { field: value })

it.each<[string, v.GenericSchema, unknown]>([
  ['must be text', v.string(), 1],
  ['must be a number', v.number(), 'x'],
  ['must be true or false', v.boolean(), 'x'],
  ['must be a list', v.array(v.string()), {}],
  ['must be an object', v.strictObject({}), 'x'],
  ['must be an object', v.record(v.string(), v.string()), 'x'],
  ['must be text', v.optional(v.string()), 1],
  ['must be text', v.nullable(v.string()), 1],
  ['must be true', v.literal(true), false],
  ['must be 2.0', v.literal('2.0'), '1.0'],
  ['must be null', v.null(), 1],
  ['must be one, two or three', v.picklist(['one', 'two', 'three']), 'four'],
  ['must be text or a number', v.union([v.string(), v.number()]), true],
  ['must be text, a number or null', v.union([v.string(), v.number(), v.null()]), true],
  ['must be a (b) or c | d', v.picklist(['a (b)', 'c | d']), 'x'],
  ['must be a whole number', v.pipe(v.number(), v.integer()), 1.5],
  ['must be at least 3', v.pipe(v.number(), v.minValue(3)), 1],
  ['must be at most 3', v.pipe(v.number(), v.maxValue(3)), 4],
  ['must have at least 2 characters', v.pipe(v.string(), v.minLength(2)), 'x'],
  ['must have at most 1 items', v.pipe(v.array(v.number()), v.maxLength(1)), [1, 2]],
  ['must be a URL', v.pipe(v.string(), v.url()), 'x'],
  ['must be a time like 2026-01-31T12:00:00.000Z', v.pipe(v.string(), v.isoTimestamp()), 'x'],
  ['does not have the right form', v.pipe(v.string(), v.regex(/^a$/)), 'x'],
  [
    'says it itself',
    v.pipe(
      v.string(),
      v.check(() => false, 'says it itself'),
    ),
    'x',
  ],
])('"%s" is the message', (said, schema, value) => {
  expect(field(schema, value)).toEqual([said])
})

it('a missing field, an unknown one, and the kinds of a message are named', () => {
  expect(saidOf(v.strictObject({ a: v.string() }), {})).toEqual(['is required'])
  expect(saidOf(v.object({ a: v.string() }), {})).toEqual(['is required'])
  expect(saidOf(v.strictObject({}), { a: 1 })).toEqual(['is not a known field'])
  for (const type of ['nonsense', undefined, 7])
    expect(saidOf(ClientMessage, { type })).toEqual(['must be subscribe, unsubscribe or ping'])
})

it('no message for a field of any route uses terms of a program', () => {
  const nonsense = [
    null,
    true,
    -1,
    1.5,
    1e300,
    '',
    'nonsense \u0007',
    'x'.repeat(300_000),
    [],
    [null],
    {},
    { a: { b: 1 } },
  ]
  for (const { name, route } of rows) {
    const { input } = route
    if (!input || !('entries' in input)) continue
    for (const key of Object.keys(input.entries as object))
      for (const value of nonsense)
        for (const message of saidOf(input, { [key]: value })) {
          expect(message, `${name} ${key}`).toMatch(
            /^(must|is|are|may|has|have|does|stands|needs|cannot|holds|names|leads) ?\S/,
          )
          expect(message, `${name} ${key}`).not.toMatch(
            /Invalid|[Ee]xpected|[Rr]eceived|variant|undefined|Object|Array|\bnever\b|unknown/,
          )
        }
  }
})
