import { lookup } from 'node:dns'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { afterEach, expect, it } from 'vitest'
import { createEgressPolicy } from '../../src/egress/egressPolicy.ts'
import { createForge } from '../../src/forge/createForge.ts'
import { ForgeFailed, type Forge } from '../../src/forge/forge.ts'

const token = 'ghp_secret0123456789'
const now = new Date('2026-11-23T12:00:00Z')
const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

interface Scripted {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  breaks?: boolean
}
interface Seen {
  line: string
  authorization: string | undefined
  headers: IncomingMessage['headers']
}

/** A server that sends the next response of its list, and then repeats the last one. */
async function serve(...answers: Scripted[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server: Server = createServer((request, response) => {
    const { authorization } = request.headers
    seen.push({ line: `${request.method!} ${request.url!}`, authorization, headers: request.headers })
    const { status = 200, headers = {}, body, breaks } = answers.length > 1 ? answers.shift()! : answers[0]!
    if (breaks) return void request.socket.destroy()
    response.writeHead(status, headers)
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

function forgeAt(url: string): Forge {
  const dispatcher = new Agent()
  open.push(dispatcher)
  const address = { kind: 'github', apiUrl: url, webUrl: url, repository: 'acme/site' } as const
  return createForge(address, token, { dispatcher, clock: () => now })
}

const failure = (work: Promise<unknown>): Promise<ForgeFailed> =>
  work.then(
    () => expect.unreachable('It did not fail.'),
    (error: unknown) => (expect(error).toBeInstanceOf(ForgeFailed), error as ForgeFailed),
  )

it('repeats failed reads a few times', async () => {
  const { url, seen } = await serve({ breaks: true }, { status: 502, body: '<html>' }, { body: { login: 'ann' } })
  expect(await forgeAt(url).account()).toBe('ann')
  expect(seen).toHaveLength(3)
  const { url: down, seen: asked } = await serve({ status: 503 })
  expect(await failure(forgeAt(down).account())).toMatchObject({
    reason: 'unreachable',
    message: 'GitHub answered with status 503',
  })
  expect(asked).toHaveLength(3)
})

it('sends a write once, regardless of its result', async () => {
  const { url, seen } = await serve({ breaks: true })
  expect((await failure(forgeAt(url).commentOnIssue(1, 'Done.'))).reason).toBe('unreachable')
  expect(seen.map(({ line }) => line)).toEqual(['POST /repos/acme/site/issues/1/comments'])
})

it.each([
  [401, 'refused', { message: 'Bad credentials' }],
  [403, 'refused', { message: 'Resource not accessible by personal access token' }],
  [404, 'missing', { message: 'Not Found' }],
  [410, 'missing', { message: 'This issue was deleted' }],
  [422, 'invalid', { message: 'Validation Failed', errors: [{ field: 'base', code: 'invalid' }] }],
  [405, 'conflict', { message: 'Pull Request is not mergeable' }],
  [409, 'conflict', { message: 'Head branch was modified. Review and try the merge again.' }],
  [418, 'odd', { message: 'I am a teapot' }],
])('reports status %i as %s', async (status, reason, body) => {
  const { url } = await serve({ status, body })
  const failed = await failure(forgeAt(url).mergePull(1, { method: 'merge', headCommit: 'a'.repeat(40) }))
  expect(failed.reason).toBe(reason)
  expect(failed.message).toContain(body.message)
  if (status === 422) expect(failed.message).toContain('field: base')
})

it('reports when it can retry after a rate limit', async () => {
  const seconds = now.getTime() / 1000
  const cases: [Scripted, number][] = [
    [{ status: 429, headers: { 'retry-after': '30' } }, 30],
    [{ status: 429, headers: { 'retry-after': new Date(now.getTime() + 90_000).toUTCString() } }, 90],
    [{ status: 429 }, 60],
    [{ status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${seconds + 600}` } }, 600],
    [{ status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }, 60],
    [{ status: 429, headers: { 'retry-after': '0' } }, 1],
    [{ status: 429, headers: { 'retry-after': '99999999' } }, 86_400],
  ]
  for (const [answer, wait] of cases) {
    const { url, seen } = await serve(answer)
    expect(await failure(forgeAt(url).account())).toMatchObject({
      reason: 'limited',
      retryAt: now.getTime() + wait * 1000,
    })
    expect(seen).toHaveLength(1)
  }
})

it('rejects invalid responses', async () => {
  for (const body of ['<html>Sign in</html>', { login: 7 }, [], '', '{"login": "a']) {
    const { url } = await serve({ body })
    const failed = await failure(forgeAt(url).account())
    expect(failed.reason).toBe('odd')
    expect(failed.message).toContain('/user')
  }
})

it('has no token, no control characters and limited text in its messages', async () => {
  const { url } = await serve({ status: 422, body: { message: `\u001b[31mNot\u202e ${token} \n${'x'.repeat(5000)}` } })
  const { message } = await failure(forgeAt(url).account())
  expect(message).toMatch(/^GitHub answered with status 422: \[31mNot \*\*\* x+$/)
  expect(message.length).toBeLessThan(350)
})

it('connects only to addresses that the egress policy allows', async () => {
  const { url, seen } = await serve({ body: { login: 'ann' } })
  const egress = createEgressPolicy({ allowPrivate: false, lookup })
  open.push(egress)
  const address = { kind: 'github', apiUrl: url, webUrl: url, repository: 'acme/site' } as const
  const failed = await failure(createForge(address, token, { dispatcher: await egress.dispatcher() }).account())
  expect(failed).toMatchObject({ reason: 'unreachable', message: expect.stringContaining('--allow-private-webhooks') })
  expect(seen).toEqual([])
})

it('follows redirects within the forge only', async () => {
  const { url, seen } = await serve({ status: 301, headers: { location: '/user/1' } }, { body: { login: 'ann' } })
  expect(await forgeAt(url).account()).toBe('ann')
  expect(seen.map(({ authorization }) => authorization)).toEqual([`Bearer ${token}`, `Bearer ${token}`])
  const other = await serve({ body: { login: 'eve' } })
  for (const location of [other.url, 'file:///etc/passwd', 'http://', '/user']) {
    const { url: away } = await serve({ status: 302, headers: { location } })
    expect((await failure(forgeAt(away).account())).reason).toBe('odd')
  }
  const { url: moved } = await serve({ status: 307, headers: { location: other.url } })
  expect((await failure(forgeAt(moved).commentOnIssue(1, 'x'))).reason).toBe('missing')
  expect(other.seen).toEqual([])
})

it("reads a log from the forge's redirect target, without the token", async () => {
  const log = `${'2026-11-23T12:00:00.1234567Z all is well\n'.repeat(200_000)}##[error]Process completed with exit code 1.\n`
  const storage = await serve({ body: log })
  const { url } = await serve({ status: 302, headers: { location: `${storage.url}/log?sig=1` } })
  const check = { id: 'run:7', name: 'test', state: 'failure', url: null } as const
  const excerpt = await forgeAt(url).readCheckLog(check, 2000)
  expect(excerpt).toMatch(/^\[\.\.\.\]\nall is well\n[^]*\n##\[error\]Process completed with exit code 1\.$/)
  expect(Buffer.byteLength(excerpt!)).toBeLessThanOrEqual(2000)
  expect(storage.seen).toMatchObject([{ line: 'GET /log?sig=1', authorization: undefined }])
  expect(JSON.stringify(storage.seen)).not.toContain(token)
})

it("reads page after page, and uses only the parameters of the next page's address", async () => {
  const issue = (number: number) => ({
    number,
    title: `Issue ${number}`,
    state: 'open',
    labels: [{ name: 'board' }],
    user: null,
    html_url: 'javascript:alert(1)',
    updated_at: '2026-11-23T12:00:00Z',
  })
  const other = await serve({ body: [] })
  const { url, seen } = await serve(
    {
      body: [issue(1)],
      headers: { link: `<${other.url}/x?page=2&after=abc>; rel="next", <${other.url}>; rel="last"` },
    },
    { body: [issue(2), { ...issue(3), pull_request: {} }] },
  )
  const issues = await forgeAt(url).listIssues({ label: 'board' })
  expect(issues).toMatchObject([
    { number: 1, author: 'ghost', url: `${url}/acme/site/issues/1` },
    { number: 2, body: '' },
  ])
  expect(seen[1]!.line).toBe('GET /repos/acme/site/issues?page=2&after=abc')
  expect(other.seen).toEqual([])
})

it('stops reading endless pages', async () => {
  const { url, seen } = await serve({ body: [], headers: { link: '<?page=2>; rel="next"' } })
  expect(await forgeAt(url).listIssues({ label: 'board' })).toEqual([])
  expect(seen).toHaveLength(20)
})
