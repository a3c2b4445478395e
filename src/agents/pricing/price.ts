import * as v from 'valibot'

const Dollars = v.pipe(v.number('must be a number'), v.minValue(0, 'must be at least 0'), v.maxValue(1e6))
export const Price = v.strictObject({
  model: v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'), v.maxLength(200)),
  /** US dollars per million tokens. */
  input: Dollars,
  cachedInput: v.optional(Dollars),
  output: Dollars,
})
export type Price = v.InferOutput<typeof Price>
