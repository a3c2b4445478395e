import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToken, tokenPrefixes } from '../../src/domain/accounts/token.ts'
import { toEntry } from '../../src/logs/entry.ts'
import { redact } from '../../src/logs/redact.ts'
import { slowdown } from '../support/waiting/eventually.ts'

const secret = 'Tr0ub4dor-canary'

describe('redaction removes from a text', () => {
  test.each<[string, string]>([
    ...tokenPrefixes.map((prefix): [string, string] => [`a token of the board, ${prefix}`, createToken(prefix)]),
    ["a webhook's secret", 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ["a provider's key", 'sk-ant-api03-abcdefghij'],
    ['a token of GitHub', 'ghp_0123456789abcdefghijABCDEFGHIJ012345'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
  ])('%s, at any place', (_, value) => {
    for (const text of [
      value,
      `before ${value} after`,
      `("${value}")`,
      `/api/projects/${value}/cards`,
      `x=${value}&y`,
      `Bearer ${value}`,
    ])
      expect(redact.text(text)).not.toContain(value.slice(8))
  })

  test.each([
    `Authorization: Bearer ${secret}`,
    `authorization="Basic ${secret}"`,
    `Bearer ${secret}`,
    `password=${secret}`,
    `{"password":"${secret}"}`,
    `{"clientSecret": "${secret} and more"}`,
    `apiKey: ${secret}`,
    `api_key='${secret}'`,
    `X-Api-Key: ${secret}`,
    `access_token=${secret}&x=1`,
    `Cookie: ${secret}`,
    `https://ada:${secret}@example.org/x`,
    `https://example.org/x?key=${secret}`,
    `postgres://u:${secret}@h/d`,
    `http://h/p#${secret}`,
    `setup-code: ${secret}`,
    `verifier=${secret}`,
    `GET /api/oidc/callback?code=${secret}&state=x 302`,
    `/x?a=1&b=${secret}`,
    `{\\"password\\":\\"${secret}\\"}`,
  ])('the value of %s', text => {
    expect(redact.text(text)).not.toContain(secret)
  })

  test('no text that only looks similar', () => {
    for (const text of [
      'PATCH /api/projects/{projectId}/cards/{cardId}/move 200',
      'The key of the shed is under the mat',
      'tokens used: 1234',
      "ENOENT: no such file or directory, open '/home/ada/keys.txt'",
      'at file:///srv/board/cli/main.js:10:5',
      'https://example.org/x failed',
    ])
      expect(redact.text(text)).toBe(text)
  })
})

test('fields with secret names lose their values at any depth, and the others keep theirs', () => {
  const names = [
    'password',
    'newPassword',
    'passwd',
    'clientSecret',
    'secret',
    'token',
    'accessToken',
    'apiKey',
    'api_key',
    'x-api-key',
    'privateKey',
    'authorization',
    'Cookie',
    'set-cookie',
    'headers',
    'body',
    'query',
    'verifier',
    'setupCode',
  ]
  const clean = redact.fields({
    ...Object.fromEntries(names.map(name => [name, secret])),
    nested: { deep: [{ password: secret }] },
    error: new Error(`token=${secret}`),
    status: 200,
    userId: 12,
    tokens: 5,
    ok: true,
    none: null,
  })
  expect(JSON.stringify(clean)).not.toContain(secret)
  expect(clean).toMatchObject({
    status: 200,
    userId: 12,
    tokens: 5,
    ok: true,
    none: null,
    nested: { deep: [{ password: '[redacted]' }] },
  })
})

test('unserializable values are converted: endless objects, half characters, NUL, bytes, functions', () => {
  const endless: Record<string, unknown> = { name: 'x' }
  endless.self = endless
  const entry = toEntry('info', `a\0b\ud800${'x'.repeat(100_000)}`, {
    endless,
    bytes: Buffer.from(secret),
    nan: NaN,
    big: 10n,
    run: () => secret,
    many: Array.from({ length: 10_000 }, (_, at) => at),
    long: 'y'.repeat(100_000),
  })
  const text = JSON.stringify(entry)
  expect(text.length).toBeLessThan(20_000)
  expect(text.isWellFormed() && !text.includes('\\u0000') && !text.includes('\\ud800')).toBe(true)
})

test('the worst texts take no longer than others', () => {
  const worst = [
    'a-',
    'a.',
    '://',
    'password',
    'key=',
    'bearer ',
    'svc_',
    'a:',
    '/a',
    '/?a=',
    '"',
    '\\"',
    'token"',
  ].map(part => part.repeat(20_000))
  const startedAtMs = performance.now()
  for (const text of worst) redact.text(text)
  expect(performance.now() - startedAtMs).toBeLessThan(1000 * slowdown())
})

test("a password is never shown as the value of a secret's name", () => {
  fc.assert(
    fc.property(
      fc
        .string({ minLength: 8, maxLength: 40 })
        .filter(text => /^[^\s"'\\&,;)\]}]+$/.test(text) && !'[redacted]'.includes(text)),
      value => !redact.text(`while signing in with password=${value} at once`).includes(value),
    ),
  )
})
