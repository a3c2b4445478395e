import * as v from 'valibot'
import { integer, IntegerId, text } from '../contract/fields.ts'
import { orNull, Time } from './records.ts'

const Count = integer(0, Number.MAX_SAFE_INTEGER)

export const Attachment = v.strictObject({
  id: IntegerId,
  cardId: IntegerId,
  filename: text(1, 500),
  contentType: v.optional(text(0, 255)),
  size: Count,
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal')),
  createdAt: v.optional(Time),
})
/** An attachment whose bytes were on another machine, unreachable, or missing at the time of the export. */
export const Missing = v.strictObject({ attachmentId: IntegerId, machine: orNull(text(1, 200)) })
/** A piece of an attachment's bytes in base64. The pieces of one attachment are consecutive and in order. */
export const Content = v.strictObject({
  attachmentId: IntegerId,
  content: v.pipe(
    v.string(),
    v.maxLength(4 * 1024 * 1024),
    v.check(
      value =>
        value.length % 4 === 0 &&
        Buffer.byteLength(value, 'base64') * 4 >= value.length * 3 - 8 &&
        /^[A-Za-z0-9+/]*={0,2}$/.test(value),
      'must be base64',
    ),
  ),
})
