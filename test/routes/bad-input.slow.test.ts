import * as fc from 'fast-check'
import { Agent, request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyCharacter } from '../support/contract/anyCharacter.ts'
import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import type { Route } from '../../src/contract/route.ts'
import { exampleOf, requestOf, rows, sendsBody, tokenFor, type Row } from '../support/contract/examples.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'

/** For longer runs (`npm run fuzz`): BOARD_FUZZ_RUNS per row, and BOARD_FUZZ_SEED of a failure. */
const runs = Number(process.env.BOARD_FUZZ_RUNS ?? 24)
const fuzzSeed = Number(process.env.BOARD_FUZZ_SEED ?? 20_261_121)
const answerMs = () => Math.ceil(5000 * slowdown())

const note = figuresOf('test/routes/bad-input.slow.test.ts', {
  BOARD_FUZZ_RUNS: process.env.BOARD_FUZZ_RUNS,
  BOARD_FUZZ_SEED: fuzzSeed,
})
let attacked = 0

interface Attack {
  method: string
  path: string
  headers: Record<string, string>
  body?: string | Buffer
  field?: string
  isUnknown?: boolean
}
interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
}

let board: TestBoard
const agent = new Agent({ keepAlive: true })
beforeAll(async () => {
  board = await startSlotlessBoard()
})
afterAll(async () => {
  note(`almost valid requests to ${rows.length} routes, without a 5xx response`, attacked)
  agent.destroy()
  await board.close()
})

const exchange = ({ method, path, headers, body }: Attack): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(board.url)
    const outgoing = send(
      { hostname, port, method, path, headers, agent, signal: AbortSignal.timeout(answerMs()) },
      incoming => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode!, headers: incoming.headers, text: Buffer.concat(chunks).toString() }),
        )
      },
    )
    outgoing.on('error', reject).end(body)
  })

/** Never a 5xx; a failure is in the envelope, and names the invalid field if there is one. */
async function expectGrace(attack: Attack): Promise<Answer> {
  const answer = await exchange(attack)
  attacked++
  const shown = `${attack.method} ${attack.path.slice(0, 200)} ${String(attack.body).slice(0, 300)} -> ${answer.status} ${answer.text.slice(0, 300)}`
  // The example's provider is offline, as an attack that passes validation finds out.
  if (!answer.text.includes('PROVIDER_UNAVAILABLE')) expect(answer.status, shown).toBeLessThan(500)
  expect(answer.headers['x-request-id'], shown).toBeDefined()
  // Input of unauthenticated clients might be too long to be inspected.
  if (attack.isUnknown && answer.status !== 413) expect(answer.status, shown).toBe(400)
  if (answer.status < 400) return answer
  const { error, jsonrpc, ...more } = JSON.parse(answer.text)
  // Apps get errors in the format of OAuth (RFC 6749, 5.2).
  if (attack.path.startsWith('/api/oauth/') && typeof error === 'string') {
    expect(error, shown).toMatch(/^[a-z_]+$/)
    expect(more, shown).toEqual({ error_description: expect.any(String) as string })
    return answer
  }
  // An invalid message of the Model Context Protocol gets an error in the format of that protocol.
  if (jsonrpc === '2.0') return answer
  expect(errors, shown).toHaveProperty(error.code)
  expect(answer.status, shown).toBe(errors[error.code as ErrorCode][0])
  expect(answer.text.length, shown).toBeLessThan(8192)
  if (error.code === 'VALIDATION_FAILED' && attack.field !== undefined)
    expect(
      error.details.map((detail: { path: string }) => detail.path.startsWith(attack.field!.slice(0, 50))),
      shown,
    ).toContain(true)
  return answer
}

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)
const anyText = fc.string({ unit: anyCharacter, maxLength: 40 })
/** JSON texts that are known to break parsers. */
const oddJson = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '-1',
    '1.5',
    '1e308',
    '-1e308',
    '1e999',
    '9007199254740991',
    '9007199254740993',
    '99999999999999999999999',
    '1e-320',
    '""',
    '" "',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"x\\udc00y"',
    '"\\uffff\\ufeff\\u202e"',
    '"true"',
    '"1"',
    '"-1"',
    '"0x10"',
    '"1e3"',
    '"NaN"',
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '[{}]',
    '{"__proto__":{"a":1}}',
    '{"constructor":{"prototype":{"a":1}}}',
    '{"length":-1}',
    '{"toString":1}',
    '{"then":1}',
    '"\'; DROP TABLE cards; --"',
    '"%_\\\\"',
    '"../../../etc/passwd"',
    '"2026-13-45T99:99:99Z"',
    '"+275761-01-01T00:00:00.000Z"',
  ),
  fc.constantFrom(
    JSON.stringify('x'.repeat(70_000)),
    JSON.stringify('😀'.repeat(20_000)),
    nested(50, '[', ']'),
    nested(20_000, '[', ']'),
    nested(5000, '{"a":', '}').replace(':}', ':1}'),
    JSON.stringify(Array.from({ length: 20_000 }, (_, i) => i)),
  ),
  fc.json(),
  anyText.map(text => JSON.stringify(text)),
  fc.double({ noNaN: true }).map(number => JSON.stringify(number) ?? '0'),
  fc.integer().map(String),
  fc.bigInt().map(String),
)
const oddNames = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'nope',
    'Id',
    'projectid',
    ' ',
    'a.b',
    'x'.repeat(300),
    '\0',
    '\ud800',
  ),
  fc.string({ minLength: 1, maxLength: 20 }),
)
const oddSegments = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '01',
    '+1',
    '1.0',
    '1e1',
    '0x1',
    '9007199254740991',
    '9007199254740992',
    '99999999999999999999',
    'null',
    'undefined',
    'NaN',
    '%00',
    '%0a',
    '%2e%2e',
    '..%2f..',
    '%2f',
    '%5c',
    '%',
    '%1',
    '%zz',
    '%ff',
    '%c0%af',
    '%ed%a0%80',
    '%f0%9f%98%80',
    '1%00',
    '1;',
    '1?',
    '1%3f',
    '1%23',
    '*',
    ':id',
    '{id}',
    '__proto__',
    '$1',
    `1${'1'.repeat(3000)}`,
    '~',
    "'",
    '"',
    '%22',
  ),
  fc.string({ minLength: 1, maxLength: 20 }).map(encodeURIComponent),
)
const oddQueries = fc.oneof(
  fc.constantFrom(
    'limit=1&limit=2',
    'limit[]=1',
    'limit[a]=1',
    '%',
    '%=%',
    '=',
    '&&&',
    '=1&=2',
    '__proto__=1',
    '__proto__[a]=1',
    'constructor=1',
    'limit',
    'limit=',
    'limit=%00',
    'limit=%ff',
    'limit=1%',
    'cursor=9007199254740993',
    'a=%ed%a0%80',
    '?',
    '#',
    '+',
    'q=%00',
    'q=a%00b',
    'q=%25',
    'label=%00',
    'search=%ff',
    'force=maybe',
    'boardId=1e3',
    'columnId=%20',
    `q=${'x'.repeat(8000)}`,
  ),
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'limit',
          'cursor',
          'offset',
          'columnId',
          'boardId',
          'status',
          'label',
          'search',
          'archived',
          'force',
          'q',
          'organizationId',
        ),
        fc.string({ maxLength: 12 }),
      ),
      { maxLength: 4 },
    )
    .map(pairs => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')),
)
const oddBodies: fc.Arbitrary<string | Buffer> = fc.oneof(
  oddJson,
  fc.constantFrom(
    '',
    ' ',
    '{',
    '}',
    '{"a":}',
    '{"a":1,}',
    '[',
    '"',
    '{"title":"x"',
    'undefined',
    'NaN',
    "{'a':1}",
    '\ufeff{}',
    '{}{}',
    '{"a":1}garbage',
    '\0',
    '{"a":"\t"}',
    '{"a":"\\x"}',
    nested(100_000, '[', ''),
  ),
  fc
    .constantFrom(
      [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
      [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xc0, 0x80],
    )
    .map(bytes => Buffer.from(bytes)),
  fc.uint8Array({ maxLength: 64 }).map(bytes => Buffer.from(bytes)),
)
const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  fc
    .constantFrom(
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'application/jsonp',
      'application/json; charset=utf-16',
      'application/json;',
      'APPLICATION/JSON',
      '',
      ';',
    )
    .map(type => ({ 'content-type': type })),
  fc
    .string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter(code => code !== 0x7f)
        .map(code => String.fromCharCode(code)),
      maxLength: 60,
    })
    .chain(text =>
      fc
        .constantFrom(
          'if-match',
          'idempotency-key',
          'accept',
          'content-encoding',
          'x-forwarded-for',
          'x-http-method-override',
          'range',
          'cookie',
          'expect-ct',
        )
        .map(name => ({ [name]: text.trim() })),
    ),
  fc
    .constantFrom('if-match', 'idempotency-key', 'authorization', 'x-request-id')
    .map(name => ({ [name]: 'x'.repeat(4000) })),
)

/** A body with bytes removed, duplicated or replaced. */
const bent = (body: string): fc.Arbitrary<Buffer> =>
  fc
    .array(
      fc.record({
        at: fc.nat(body.length),
        length: fc.nat(40),
        instead: fc.oneof(
          fc.constantFrom(
            '',
            '\r\n',
            '--seed-boundary',
            '--seed-boundary--',
            '; filename="../../x"',
            'Content-Type: text/html\r\n',
            '\0',
            'null',
            '[',
            '"',
            '-1',
            '1e999',
          ),
          anyText,
        ),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map(changes =>
      Buffer.from(
        changes.reduce((text, { at, length, instead }) => text.slice(0, at) + instead + text.slice(at + length), body),
      ),
    )

const fieldsOf = ({ input }: Route, example: Record<string, unknown>) => [
  ...new Set([...Object.keys(example), ...(input && 'entries' in input ? Object.keys(input.entries as object) : [])]),
]
/** An object's JSON text with one member replaced, added or omitted. */
const withMember = (object: Record<string, unknown>, name: string, json: string | undefined) =>
  `{${[
    ...Object.entries(object)
      .filter(([each]) => each !== name)
      .map(([each, value]) => `${JSON.stringify(each)}:${JSON.stringify(value)}`),
    ...(json === undefined ? [] : [`${JSON.stringify(name)}:${json}`]),
  ].join()}}`

/** A query with one invalid field. */
function withField(path: string, field: string, value: string): URLSearchParams {
  const query = new URLSearchParams(path.split('?')[1])
  query.set(field, value)
  return query
}

/** Requests that are almost valid for the row. */
function attacks(row: Row, from: Seed): fc.Arbitrary<Attack> {
  const { route } = row
  const example = exampleOf(row, from)
  const { path, options } = requestOf(route, example)
  const [bare] = path.split('?') as [string]
  const rest = (options.body ?? {}) as Record<string, unknown>
  const names = fieldsOf(route, example).filter(name => !paramsOf(route.path).includes(name))
  /** Input with keys that the client chooses has no known field names. */
  const isNamed = route.checkedBy !== 'rules' && route.input !== undefined && 'entries' in route.input
  const json = { authorization: `Bearer ${tokenFor(row, from)}`, 'content-type': 'application/json' }
  const base: Attack = {
    method: route.method,
    path,
    headers: { ...json, ...options.headers },
    body: (options.raw as string | undefined) ?? (options.body === undefined ? undefined : JSON.stringify(rest)),
  }
  const kinds: Array<fc.Arbitrary<Attack>> = [
    oddHeaders.map(headers => ({ ...base, headers: { ...base.headers, ...headers } })),
    oddQueries.map(query => ({ ...base, path: `${bare}?${query}` })),
  ]
  if (paramsOf(route.path).length > 0)
    kinds.push(
      fc.tuple(fc.constantFrom(...paramsOf(route.path)), oddSegments).map(([param, segment]) => ({
        ...base,
        path: requestOf({ ...route, path: route.path.replace(`{${param}}`, '\u0001') }, example)
          .path.split('?')[0]!
          .replace('\u0001', () => segment),
      })),
    )
  if (sendsBody(route)) kinds.push(oddBodies.map(body => ({ ...base, headers: json, body })))
  if (route.transfer === 'upload')
    for (let weight = 0; weight < 3; weight++) kinds.push(bent(String(base.body)).map(body => ({ ...base, body })))
  if (sendsBody(route) && route.input && route.transfer !== 'upload') {
    kinds.push(
      fc.tuple(oddNames, oddJson).map(([field, text]) => ({
        ...base,
        body: withMember(rest, field, text),
        ...(isNamed &&
          route.input?.type !== 'loose_object' &&
          !names.includes(field) &&
          !(field in Object.prototype) && { field, isUnknown: true }),
      })),
    )
    if (names.length > 0)
      for (let weight = 0; weight < 4; weight++)
        kinds.push(
          fc.tuple(fc.constantFrom(...names), fc.option(oddJson, { nil: undefined, freq: 8 })).map(([field, text]) => ({
            ...base,
            body: withMember(rest, field, text),
            field: isNamed ? field : undefined,
          })),
        )
  } else if (names.length > 0)
    kinds.push(
      fc.tuple(fc.constantFrom(...names), oddJson).map(([field, text]) => ({
        ...base,
        path: `${bare}?${withField(path, field, text.slice(0, 1000).toWellFormed())}`,
        field,
      })),
    )
  return fc.oneof(...kinds)
}

describe(`${rows.length * runs} almost valid requests (seed ${fuzzSeed})`, () => {
  let shared: Seed
  beforeAll(async () => {
    shared = await seed(board)
  })

  it.each(rows)(
    '$name responds without a failure',
    async row => {
      const from = row.route.method === 'GET' || paramsOf(row.route.path).length === 0 ? shared : await seed(board)
      await fc.assert(
        fc.asyncProperty(attacks(row, from), async attack => {
          await expectGrace(attack)
        }),
        { seed: fuzzSeed, numRuns: runs, endOnFailure: true },
      )
      expect((await exchange({ method: 'GET', path: '/api/ready', headers: {} })).status).toBe(200)
      expect(Object.keys(Object.prototype)).toEqual([])
    },
    300_000 + 400 * runs,
  )
})
