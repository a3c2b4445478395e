import { hostname } from 'node:os'
import { version } from '../config/version.ts'
import type { LogLevel } from '../contract/server/logs.ts'
import type { Entry } from './entry.ts'

type AnyValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: AnyValue[] } }
  | { kvlistValue: { values: KeyValue[] } }
interface KeyValue {
  key: string
  value: AnyValue
}

/** Numbers of the OpenTelemetry log data model. */
const severities: Record<LogLevel, number> = { info: 9, warn: 13, error: 17 }
/** The names that the semantic conventions have for fields of ours. */
const conventions: Record<string, Record<string, string>> = {
  http: {
    method: 'http.request.method',
    route: 'http.route',
    status: 'http.response.status_code',
    address: 'client.address',
    cause: 'exception.stacktrace',
  },
}
const everywhere: Record<string, string> = { cause: 'exception.stacktrace' }

/**
 * Entries as the body of an OTLP export request in JSON (ExportLogsServiceRequest): 64-bit integers are text, absent values are omitted.
 */
export const toOtlp = (entries: readonly Entry[]): string =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: {
          attributes: keyValues({
            'service.name': 'board',
            'service.version': version,
            'host.name': hostname(),
            'process.pid': process.pid,
          }),
        },
        scopeLogs: [{ scope: { name: 'board', version }, logRecords: entries.map(toRecord) }],
      },
    ],
  })

function toRecord({ at, level, source, message, requestId, fields }: Entry) {
  const names = conventions[source] ?? everywhere
  const named = Object.fromEntries(Object.entries(fields).map(([name, value]) => [names[name] ?? name, value]))
  const time = `${Date.parse(at)}000000`
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber: severities[level],
    severityText: level.toUpperCase(),
    body: { stringValue: message },
    attributes: keyValues({
      'board.source': source,
      ...(requestId !== null && { 'board.request_id': requestId }),
      ...named,
    }),
  }
}

const keyValues = (fields: Record<string, unknown>): KeyValue[] =>
  Object.entries(fields).flatMap(([key, value]) => {
    const any = toAnyValue(value)
    return any === undefined ? [] : [{ key, value: any }]
  })

function toAnyValue(value: unknown): AnyValue | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.flatMap(each => toAnyValue(each) ?? []) } }
  return { kvlistValue: { values: keyValues(value as Record<string, unknown>) } }
}

/**
 * The address for logs of an endpoint. An endpoint without a path gets the default path (OTLP specification, "OTLP/HTTP
 * Request").
 */
export function logsUrl(endpoint: string): string {
  const url = new URL(endpoint)
  if (url.pathname === '/') url.pathname = '/v1/logs'
  return url.href
}
