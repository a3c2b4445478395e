import * as v from 'valibot'
import { Id, limit, queryInteger, text, Time } from '../fields.ts'
import { admin, get, post, put, superAdmin } from '../route.ts'

export const LogLevel = v.picklist(['info', 'warn', 'error'], 'must be info, warn or error')
export type LogLevel = v.InferOutput<typeof LogLevel>
/** `source` is the part of the server that wrote the entry. */
const LogEntry = v.object({
  id: Id,
  at: Time,
  level: LogLevel,
  message: v.string(),
  source: v.string(),
  requestId: v.nullable(v.string()),
  fields: v.record(v.string(), v.unknown()),
})
/** `level` is the minimum level. `after` an ID returns newer entries, oldest first; `before` returns older ones. */
const ListLogs = v.strictObject({
  level: v.optional(LogLevel),
  search: v.optional(text(1, 500)),
  since: v.optional(Time),
  after: v.optional(queryInteger(0)),
  before: v.optional(queryInteger(1)),
  limit: limit(100, 1000),
})

const HeaderName = v.pipe(v.string(), v.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be a header name'))
const HeaderValue = v.pipe(text(0, 4096), v.regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII'))
const Endpoint = v.nullable(
  v.pipe(text(1, 2000), v.url('must be a URL'), v.regex(/^https?:\/\//i, 'must begin with https:// or http://')),
)
const Fields = {
  enabled: v.boolean(),
  endpoint: Endpoint,
  protocol: v.literal('otlp-http', 'must be otlp-http'),
  headers: v.pipe(
    v.record(HeaderName, HeaderValue),
    v.check(headers => Object.keys(headers).length <= 20, 'must have at most 20 headers'),
  ),
  minLevel: LogLevel,
  compression: v.picklist(['none', 'gzip'], 'must be none or gzip'),
}
/** Where the log is sent, by OTLP over HTTP as JSON. Header values are encrypted, and masked when read. */
export const LogExport = v.object(Fields)

export const logs = {
  list: get('/api/logs', {
    who: admin,
    summary: 'List log entries, newest first',
    input: ListLogs,
    output: v.array(LogEntry),
  }),
  getExport: get('/api/settings/log-export', {
    who: superAdmin,
    summary: 'Get the log export settings',
    output: LogExport,
  }),
  setExport: put('/api/settings/log-export', {
    audited: { target: 'settings', named: 'log-export', detail: ['enabled'] },
    who: superAdmin,
    summary: 'Update the log export settings',
    details: 'Omitted fields are unchanged.',
    input: v.partial(v.strictObject(Fields)),
    output: LogExport,
  }),
  testExport: post('/api/settings/log-export/test', {
    who: superAdmin,
    summary: 'Send a test entry to the log export endpoint, and return its response',
    // `delivered` equals `ok`, for clients that use that name.
    output: v.object({
      ok: v.boolean(),
      delivered: v.boolean(),
      status: v.nullable(v.number()),
      error: v.nullable(v.string()),
    }),
  }),
}
