import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { OpenApiDocument } from '../../daemon/documents/openapiTypes.ts'
import { errors } from '../../src/contract/errors.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { rows } from '../support/contract/examples.ts'

let board: TestBoard
let document: OpenApiDocument
beforeAll(async () => {
  board = await startBoard()
  document = (await board.request('GET', '/api/openapi.json', { token: null })).body
})
afterAll(() => board.close())

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document) as never)
  expect(result).toMatchObject({ valid: true })
  expect(document.openapi).toBe('3.1.1')
})

test('every row of the contract is an operation with its parameters, and no two share a name', () => {
  for (const { route } of rows) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()]
    expect(operation, `${route.method} ${route.path}`).toBeDefined()
    expect(operation!.parameters.filter(each => each.in === 'path').map(each => `{${each.name}}`)).toEqual(
      route.path.match(/\{\w+\}/g) ?? [],
    )
    expect(operation!.responses).toHaveProperty('500')
  }
  const names = Object.values(document.paths)
    .flatMap(Object.values)
    .map(operation => operation.operationId)
  expect(new Set(names).size).toBe(names.length)
})

test('every reference is valid, and the error table is in the envelope', () => {
  const references = JSON.stringify(document)
    .match(/"#\/components\/[^"]+"/g)!
    .map(text => JSON.parse(text) as string)
  for (const reference of new Set(references))
    expect(
      reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document),
      reference,
    ).toBeDefined()
  expect(document.components.schemas.Failure).toMatchObject({
    properties: { error: { properties: { code: { enum: Object.keys(errors) } } } },
  })
})

test('it declares the allowed callers, and the required permission of a key', () => {
  expect(document.paths['/api/health']!.get!.security).toEqual([])
  expect(document.paths['/api/projects']!.post!.security).toEqual([{ signIn: [] }])
  expect(document.paths['/api/projects']!.get!.security).toEqual([{ signIn: [] }, { apiKey: ['projects.read'] }])
  expect(document.paths['/api/projects/{projectId}/cards']!.get!.security).toEqual([
    { signIn: [] },
    { apiKey: ['cards.read'] },
  ])
  expect(document.paths['/api/external/projects/{projectId}/cards']!.post!.security).toEqual([
    { apiKey: ['cards.create'] },
    { apiKey: ['pipelines.trigger'] },
  ])
})

test.each([
  ['post', '/api/auth/login', [400, 401, 403, 413, 429]],
  ['post', '/api/auth/register', [403, 409, 429]],
  ['post', '/api/auth/setup', [403, 409, 429]],
  ['post', '/api/cards', [401, 403, 404, 409]],
  ['delete', '/api/projects/{projectId}/boards/{boardId}', [404, 409]],
  ['delete', '/api/projects/{projectId}/columns/{columnId}', [404, 409]],
  ['delete', '/api/organizations/{id}', [404, 409]],
  ['delete', '/api/admin/users/{id}', [404, 409]],
  ['get', '/api/projects/{projectId}/cards/{cardId}/diff', [404, 409, 503]],
  ['patch', '/api/external/projects/{projectId}/cards/{cardId}/move', [400, 404, 409, 412, 429]],
  ['get', '/api/oidc/login', [302, 403, 409, 503]],
  ['get', '/api/openapi.json', [200, 304, 400, 403]],
] as const)('%s %s names the failures that it answers', (method, path, statuses) => {
  const { responses } = document.paths[path]![method]!
  expect(Object.keys(responses).map(Number)).toEqual(expect.arrayContaining([...statuses]))
})

test('query parameters are plain numbers and booleans, and the upload is a multipart body', () => {
  const list = document.paths['/api/projects/{projectId}/cards']!.get!
  expect(list.parameters.find(each => each.name === 'limit')).toMatchObject({
    in: 'query',
    required: false,
    schema: { type: 'integer', default: 1000 },
  })
  expect(list.parameters.find(each => each.name === 'archived')).toMatchObject({
    schema: { type: 'boolean', default: false },
  })
  const upload = document.paths['/api/projects/{projectId}/cards/{cardId}/attachments']!.post!
  expect(Object.keys(upload.requestBody!.content)).toEqual(['multipart/form-data'])
  expect(document.paths['/api/external/projects/{projectId}/cards/{cardId}']!.get!.parameters[0]).toMatchObject({
    schema: { type: 'integer' },
  })
})

test('the pages need no network, run no scripts and escape their content', async () => {
  for (const path of ['/api/docs']) {
    const page = await board.request('GET', path, { token: null })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /)
    expect(page.text).not.toMatch(/<script|<link|src=|https?:\/\/(?!127\.0\.0\.1|localhost)/)
  }
  const docs = (await board.request('GET', '/api/docs', { token: null })).text
  for (const { route } of rows) expect(docs).toContain(`<code>${route.path}</code>`)
  expect(docs).toContain('a card&#39;s attachments')
})

test('health and readiness answer without a sign-in, and readiness performs a write', async () => {
  expect((await board.request('GET', '/api/health', { token: null })).body).toEqual({
    data: { status: 'ok', version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
  })
  const before = await writtenAt()
  expect((await board.request('GET', '/api/ready', { token: null })).body).toEqual({ data: { status: 'ok' } })
  const first = await writtenAt()
  expect(first).not.toBe(before)
  // The readiness check writes at most once a second.
  await vi.waitFor(
    async () => {
      const [seen, askedAt] = [await writtenAt(), performance.now()]
      await Promise.all(Array.from({ length: 5 }, () => board.request('GET', '/api/ready', { token: null })))
      expect([performance.now() - askedAt < 500, await writtenAt()]).toEqual([true, seen])
    },
    { timeout: 10_000 * slowdown() },
  )
})

test("the socket's path without an upgrade is answered like a missing route", async () => {
  expect(await board.request('GET', '/api/ws', { token: null })).toMatchObject({
    status: 404,
    body: { error: { code: 'NOT_FOUND' } },
  })
})

const writtenAt = async () =>
  (await board.server.app.db.get<{ value: string }>('SELECT value FROM server_settings WHERE name = ?', ['ready']))
    ?.value
