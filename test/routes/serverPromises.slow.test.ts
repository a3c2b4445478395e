import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { exampleOf, requestOf, rows, type Row } from '../support/contract/examples.ts'
import { preparations } from '../support/contract/preparations.ts'
import {
  countStoredAnswers,
  readDocumentedAnswers,
  type DocumentedAnswers,
} from '../support/contract/documentedAnswers.ts'
import { seed, startSlotlessBoard } from '../support/contract/seed.ts'
import { Browser, type Shown } from '../support/identity/browser.ts'
import { isCallback, isLoopback, startSingleSignOn, type SingleSignOn } from '../support/identity/singleSignOn.ts'
import { openRaw } from '../support/receivers/liveSocket.ts'
import { onLibsqlServer, startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

/** Compares the OpenAPI document's promises with the server for `serverRows`: routes that change a whole server or involve another one. */
const rowOf = (name: string): Row => rows.find(row => row.name === name)!

describe('the headers of a row that changes the whole server', () => {
  let board: TestBoard
  let promises: DocumentedAnswers
  beforeEach(async () => {
    board = await startSlotlessBoard()
    promises = await readDocumentedAnswers(board)
  })
  afterEach(() => board.close())

  async function send(row: Row, input: Record<string, unknown>, token: string | null, headers: Record<string, string>) {
    const { path, options } = requestOf(row.route, input)
    return board.request(row.route.method, path, { ...options, token, headers })
  }

  /** Sends a request with an Idempotency-Key and an unknown card version; expects the promised effect of both. */
  async function expectHeaders(row: Row, input: Record<string, unknown>, token: string | null): Promise<Reply> {
    const headers = { 'idempotency-key': row.name, 'if-match': '"999999"' }
    const reply = await send(row, input, token, headers)
    expect([promises.offers(row, 'Idempotency-Key'), promises.offers(row, 'If-Match')]).toEqual([false, false])
    expect(await countStoredAnswers(board, row.name)).toBe(0)
    return reply
  }

  it('work as promised for auth.setup: a second one with the same key creates no second user', async () => {
    const row = rowOf('auth.setup')
    const input = { email: 'ada@example.org', password: 'correct horse' }
    expect((await expectHeaders(row, input, board.token)).status).toBe(201)
    const second = await expectHeaders(row, input, board.token)
    expect([second.status, second.body.error.code]).toEqual([409, 'SETUP_ALREADY_DONE'])
    expect(promises.codesOf(row, 409)).toContain('SETUP_ALREADY_DONE')
  })

  it('work as promised for auth.logout: a second one with the same key no longer has a token', async () => {
    const row = rowOf('auth.logout')
    const { token } = await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
    expect((await expectHeaders(row, {}, token)).status).toBe(204)
    const second = await expectHeaders(row, {}, token)
    expect([second.status, promises.codesOf(row, 401)]).toEqual([401, expect.arrayContaining(['UNAUTHENTICATED'])])
  })

  it.skipIf(onLibsqlServer)('work as promised for backups.restore: the same key restores again', async () => {
    const row = rowOf('backups.restore')
    await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
    const own = await seed(board)
    await preparations[row.name]!(board, own)
    const restored = await expectHeaders(row, exampleOf(row, own), own.token)
    expect(restored.status, restored.text).toBe(200)
    const again = await expectHeaders(row, exampleOf(row, own), own.token)
    expect(again.body.data.keptAs).not.toBe(restored.body.data.keptAs)
  })
})

describe('single sign-on', () => {
  let signOn: SingleSignOn
  let promises: DocumentedAnswers
  let openProvider = () => {}
  let provider: Promise<void> | undefined
  beforeAll(async () => {
    signOn = await startSingleSignOn(
      {},
      {
        findAccount: async (_, subject) => {
          await provider
          return {
            accountId: subject,
            claims: async () => ({ sub: subject, email: `${subject}@example.org`, email_verified: true }),
          }
        },
      },
    )
    promises = await readDocumentedAnswers(signOn.board)
  })
  afterAll(() => signOn.close())

  const expectDocumented = (row: Row, { status, headers, body }: Shown) =>
    promises.expectDocumented(row, { status, headers, text: body })

  it('redirects to the provider as promised, and ends in the promised page', async () => {
    const [login, callback] = [rowOf('oidc.login'), rowOf('oidc.callback')]
    const start = `${signOn.board.url}/api/oidc/login`
    const redirect = await new Browser().open(start, { stopAt: url => url.href.startsWith(signOn.provider.issuer) })
    expect(redirect.status).toBe(302)
    expectDocumented(login, redirect)
    const page = await new Browser().signIn(start, 'grace')
    expect([page.status, new URL(page.url).pathname]).toEqual([200, callback.route.path])
    expectDocumented(callback, page)
  })

  it('ends with the promised redirect if a program waits', async () => {
    const { shown, goTo } = await signOn.signInFor('ada')
    expect([shown.status, isLoopback(goTo)]).toEqual([302, true])
    expectDocumented(rowOf('oidc.callback'), shown)
  })

  it('answers an unexpected callback as promised', async () => {
    const row = rowOf('oidc.callback')
    const { path } = requestOf(row.route, { code: 'c', state: 's' })
    const { status, body } = await signOn.board.request('GET', path, { token: null })
    expect(promises.codesOf(row, status)).toContain(body.error.code)
    expect(body.error.code).toBe('OIDC_SIGN_IN_UNKNOWN')
  })

  it('is limited as promised: with 20 callbacks at the provider the next one gets 429', async () => {
    const row = rowOf('oidc.callback')
    const callbacks: Array<() => Promise<Response>> = []
    for (let each = 0; each < 21; each++) {
      const browser = new Browser()
      const { url } = await browser.signIn(`${signOn.board.url}/api/oidc/login`, `person${each}`, {
        stopAt: isCallback,
      })
      const headers = { accept: 'application/json', cookie: browser.cookiesFor(new URL(url)) }
      callbacks.push(() => fetch(url, { redirect: 'manual', headers }))
    }
    provider = new Promise<void>(resolve => {
      openProvider = resolve
    })
    const replies = callbacks.map(callback => callback())
    const first = await Promise.race(replies)
    openProvider()
    const { error } = (await first.json()) as { error: { code: string } }
    expect([first.status, error.code]).toEqual([429, 'RATE_LIMITED'])
    expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(promises.codesOf(row, 429)).toEqual(['RATE_LIMITED'])
    const statuses = (await Promise.all(replies)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(20)
  })
})

test('the socket answers an upgrade with the promised 101', async () => {
  const board = await startBoard()
  const promises = await readDocumentedAnswers(board)
  const row = rowOf('server.socket')
  const raw = await openRaw(board.url, row.route.path, { Authorization: `Bearer ${board.token}` })
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(raw.received().toString())?.[1])
  expect(status).toBe(101)
  expect(Object.keys(promises.operationOf(row).responses)).toContain(String(status))
  expect(promises.operationOf(row).responses[status]!.content).toBeUndefined()
  raw.socket.destroy()
  const plain = await board.request('GET', row.route.path)
  expect(promises.codesOf(row, plain.status)).toContain(plain.body.error.code)
  await board.close()
})
