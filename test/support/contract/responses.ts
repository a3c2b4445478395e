import { expect } from 'vitest'
import { errors, type ErrorCode } from '../../../src/contract/errors.ts'
import type { Reply, TestBoard } from '../servers/testBoard.ts'
import { requestOf, type Row } from './examples.ts'

/** Sends a route's input to a board. */
export const sendInput = (
  board: TestBoard,
  row: Row,
  input: Record<string, unknown>,
  token: string | null,
  headers: Record<string, string> = {},
): Promise<Reply> => {
  const { path, options } = requestOf(row.route, input)
  return board.request(row.route.method, path, { token, ...options, headers: { ...options.headers, ...headers } })
}

export function expectCommonHeaders({ headers }: Reply): void {
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{3,}$/)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
}

/** Expects an error in its envelope: a known code with its status, and a message that reveals nothing about the server. */
export function expectFailure(reply: Reply, ...codes: ErrorCode[]): void {
  expectCommonHeaders(reply)
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(Object.keys(reply.body), reply.text).toEqual(['error'])
  const { code, message, details = [], ...more } = reply.body.error
  expect(more).toEqual({})
  expect(errors).toHaveProperty(code)
  expect(reply.status, reply.text).toBe(errors[code as ErrorCode][0])
  if (code !== 'PROVIDER_UNAVAILABLE') expect(reply.status).toBeLessThan(500)
  expect(message).toMatch(/\S/)
  expect(reply.text).not.toMatch(/\bat \w+.*:\d+|SQLITE|SELECT |\/src\/|node_modules/)
  for (const detail of details)
    expect(detail).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/) })
  if (reply.status === 401)
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer(?: resource_metadata="http[^"]+")?$/)
  if (codes.length > 0) expect(codes, reply.text).toContain(code)
}

/** Expects an error in the format of OAuth, which its routes use. */
export function expectOauthFailure(reply: Reply, ...codes: ErrorCode[]): void {
  expectCommonHeaders(reply)
  expect(reply.body, reply.text).toEqual({
    error: expect.stringMatching(/^[a-z_]+$/),
    error_description: expect.stringMatching(/\S/),
  })
  expect(reply.status).toBe(reply.status === 413 || reply.status === 415 ? reply.status : 400)
  if (codes.length > 0) expect(codes.map(code => code.toLowerCase())).toContain(reply.body.error)
}
