import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import * as v from 'valibot'

/**
 * The JSON encoding of OTLP's ExportLogsServiceRequest (opentelemetry-proto 1, collector/logs/v1/logs_service.proto and logs/v1/logs.proto),
 * strictly: names in lowerCamelCase, 64-bit integers as text, enums as numbers, one kind of value each, and no fields outside the schema.
 */
const Int64 = v.pipe(v.string(), v.regex(/^-?\d{1,19}$/))
const Fixed64 = v.pipe(v.string(), v.regex(/^\d{1,20}$/))
const Count = v.pipe(v.number(), v.integer(), v.minValue(0))
const AnyValue: v.GenericSchema<unknown> = v.lazy(() =>
  v.union([
    v.strictObject({ stringValue: v.string() }),
    v.strictObject({ boolValue: v.boolean() }),
    v.strictObject({ intValue: Int64 }),
    v.strictObject({ doubleValue: v.number() }),
    v.strictObject({ bytesValue: v.string() }),
    v.strictObject({ arrayValue: v.strictObject({ values: v.array(AnyValue) }) }),
    v.strictObject({ kvlistValue: v.strictObject({ values: KeyValues }) }),
  ]),
)
const KeyValues = v.pipe(
  v.array(v.strictObject({ key: v.pipe(v.string(), v.nonEmpty()), value: AnyValue })),
  v.check(list => new Set(list.map(({ key }) => key)).size === list.length, 'keys must be unique'),
)
const LogRecord = v.strictObject({
  timeUnixNano: v.optional(Fixed64),
  observedTimeUnixNano: v.optional(Fixed64),
  severityNumber: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(24))),
  severityText: v.optional(v.string()),
  body: v.optional(AnyValue),
  attributes: v.optional(KeyValues),
  droppedAttributesCount: v.optional(Count),
  flags: v.optional(Count),
  traceId: v.optional(v.pipe(v.string(), v.regex(/^([0-9a-f]{32})?$/i))),
  spanId: v.optional(v.pipe(v.string(), v.regex(/^([0-9a-f]{16})?$/i))),
  eventName: v.optional(v.string()),
})
const Scope = v.strictObject({
  name: v.optional(v.string()),
  version: v.optional(v.string()),
  attributes: v.optional(KeyValues),
  droppedAttributesCount: v.optional(Count),
})
const ExportRequest = v.strictObject({
  resourceLogs: v.array(
    v.strictObject({
      resource: v.optional(
        v.strictObject({ attributes: v.optional(KeyValues), droppedAttributesCount: v.optional(Count) }),
      ),
      schemaUrl: v.optional(v.string()),
      scopeLogs: v.array(
        v.strictObject({ scope: v.optional(Scope), logRecords: v.array(LogRecord), schemaUrl: v.optional(v.string()) }),
      ),
    }),
  ),
})

/** A record in a simple form. */
export interface ReceivedRecord {
  message: string
  severityNumber: number
  attributes: Record<string, unknown>
}
export interface ReceivedRequest {
  path: string
  headers: IncomingHttpHeaders
  bytes: Buffer
  text: string
  body: v.InferOutput<typeof ExportRequest> | undefined
  atMs: number
}

/** A receiver of OTLP over HTTP on loopback. A request that does not match the schema gets 400 and is recorded in `misfits`. */
export interface OtlpReceiver {
  url: string
  requests: ReceivedRequest[]
  misfits: string[]
  /** The records of accepted requests, and the attributes of their resource. */
  records(): ReceivedRecord[]
  resource(): Record<string, unknown>
  /** Answers the next requests in this way; undefined: accepts them. */
  answer: ((response: ServerResponse, request: ReceivedRequest) => void) | undefined
  close(): Promise<void>
}

/** @param port 0 for a free one */
export async function startReceiver(port = 0): Promise<OtlpReceiver> {
  const taken: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const bytes = Buffer.concat(chunks)
        const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8')
        const checked = v.safeParse(ExportRequest, parse(text))
        const seen: ReceivedRequest = {
          path: `${request.method} ${request.url}`,
          headers: request.headers,
          bytes,
          text,
          body: checked.success ? checked.output : undefined,
          atMs: performance.now(),
        }
        receiver.requests.push(seen)
        if (receiver.answer) return receiver.answer(response, seen)
        if (!checked.success || request.headers['content-type'] !== 'application/json') {
          receiver.misfits.push(
            checked.success ? String(request.headers['content-type']) : JSON.stringify(v.flatten(checked.issues)),
          )
          return reply(response, 400, { code: 3, message: 'It does not fit.' })
        }
        taken.push(seen)
        reply(response, 200, {})
      })
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    misfits: [],
    answer: undefined,
    records: () =>
      taken.flatMap(({ body }) =>
        body!.resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords.map(toRecord))),
      ),
    resource: () => plainOf(taken.at(-1)?.body?.resourceLogs[0]?.resource?.attributes ?? []),
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => {
        server.close(resolve)
      })
    },
  }
  return receiver
}

export const reply = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

const toRecord = ({ body, severityNumber = 0, attributes = [] }: v.InferOutput<typeof LogRecord>): ReceivedRecord => ({
  message: String(plainValue(body)),
  severityNumber,
  attributes: plainOf(attributes),
})
const plainOf = (list: ReadonlyArray<{ key: string; value: unknown }>) =>
  Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value)]))

function plainValue(value: any): unknown {
  if (value?.arrayValue) return value.arrayValue.values.map(plainValue)
  if (value?.kvlistValue) return plainOf(value.kvlistValue.values)
  return value?.intValue === undefined ? Object.values(value ?? {})[0] : Number(value.intValue)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
