import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { openApiDocument } from '../../daemon/documents/openapi.ts'
import { exampleOf, requestOf, rows, tokenFor, type Row } from '../support/contract/examples.ts'
import type { Reply, TestBoard } from '../support/servers/testBoard.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

let board: TestBoard
let own: Seed
beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  own = await seed(board)
})
afterAll(() => board.close())

const offers = ({ route }: Row) =>
  openApiDocument().paths[route.path]![route.method.toLowerCase()]!.parameters.some(
    ({ name, in: place }) => place === 'header' && name === 'Idempotency-Key',
  )
const creates = rows.filter(({ route }) => route.status === 201)

let keys = 0
async function askTwice(row: Row): Promise<{ first: Reply; second: Reply; kept: number }> {
  const key = `key-${++keys}`
  const { path, options } = requestOf(row.route, exampleOf(row, own))
  const ask = () =>
    board.request(row.route.method, path, {
      token: tokenFor(row, own),
      ...options,
      headers: { ...options.headers, 'idempotency-key': key },
    })
  const [first, second] = [await ask(), await ask()]
  const { total } = (await board.server.app.db.get<{ total: number }>(
    'SELECT count(*) AS total FROM idempotent_answers WHERE key = ?',
    [key],
  ))!
  return { first, second, kept: total }
}

describe('an Idempotency-Key', () => {
  test.each(creates.filter(offers).map(row => [row.name, row] as const))(
    'is kept for %s, as documented: the second request gets the response of the first',
    async (_, row) => {
      const { first, second, kept } = await askTwice(row)
      expect(first.status, first.text).toBe(201)
      expect([second.status, second.body, kept]).toEqual([201, first.body, 1])
    },
  )

  test.each(creates.filter(row => !offers(row)).map(row => [row.name, row] as const))(
    'is not offered for %s, and its response is not stored',
    async (_, row) => {
      const { first, second, kept } = await askTwice(row)
      expect(kept).toBe(0)
      // The repeated request ran again, or failed because of the first; it never got the first one's secret.
      if (first.status === 201 && second.status === 201) expect(second.body).not.toEqual(first.body)
      expect(second.body.error?.code).not.toBe('IDEMPOTENCY_KEY_REUSED')
    },
  )

  it('is not offered for requests that create nothing', () => {
    expect(rows.filter(row => row.route.status !== 201 && offers(row)).map(({ name }) => name)).toEqual([])
  })

  it('is not offered for responses that hold a secret, or for objects that another server creates', () => {
    expect(
      creates
        .filter(row => !offers(row))
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      'agents.token',
      'auth.createTicket',
      'auth.register',
      'auth.setup',
      'backups.create',
      'backups.upload',
      'forges.giveWebhookSecret',
      'keys.create',
      'keys.rotate',
      'members.add',
      'members.renewInvitation',
      'oauth.register',
      'previews.createTicket',
      'pullRequests.create',
      'users.create',
      'webhooks.create',
      'webhooks.rotate',
    ])
  })
})
