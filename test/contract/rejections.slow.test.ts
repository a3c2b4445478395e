import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAboutServer } from '../../src/contract/accounts/keys.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import { keyPermissionsOf, permissions, type Permission } from '../../src/contract/route.ts'
import { exampleOf, requestOf, rows, sendsBody, tokenFor } from '../support/contract/examples.ts'
import { seedsOf } from '../support/contract/preparations.ts'
import { expectCommonHeaders, expectFailure, expectOauthFailure, sendInput } from '../support/contract/responses.ts'
import { startSlotlessBoard, type Seed } from '../support/contract/seed.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let seeds: ReturnType<typeof seedsOf>
beforeAll(async () => {
  board = await startSlotlessBoard()
  seeds = seedsOf(board)
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
})
afterAll(() => board.close())

/** Routes whose example changes the whole server. */
const changesServer = ['auth.setup', 'backups.restore']
const farAway = { 'x-forwarded-for': '203.0.113.7' }

describe.each(rows)('$name', row => {
  const { name, route } = row

  if (route.who.kind !== 'public')
    it(`requires a token${route.who.kind === 'local' ? ' from other machines' : ''}`, async () => {
      const input = exampleOf(row, await seeds.shared())
      for (const token of [
        null,
        'svc_st_nonsense',
        `${board.token.slice(0, -1)}${board.token.endsWith('a') ? 'b' : 'a'}`,
      ])
        expectFailure(
          await sendInput(board, row, input, token, route.who.kind === 'local' ? farAway : {}),
          'UNAUTHENTICATED',
        )
      if (route.who.kind === 'key') expectFailure(await sendInput(board, row, input, board.token), 'UNAUTHENTICATED')
    })

  // authorization.slow.test.ts checks the permissions.
  if (route.who.kind !== 'public' && route.who.kind !== 'token')
    it('rejects an API key without its permission', async () => {
      const allowed = keyPermissionsOf(route.who)
      const others = permissions.filter(permission => !allowed.includes(permission))
      expectFailure(
        await sendInput(
          board,
          row,
          exampleOf(row, await seeds.shared()),
          await newKey(await seeds.shared(), others),
          route.who.kind === 'local' ? farAway : {},
        ),
        route.who.kind === 'agent' ? 'AGENT_TOKEN_REQUIRED' : 'INSUFFICIENT_PERMISSIONS',
      )
    })

  it('rejects an empty body, wrong ids and invalid input in the error envelope', async () => {
    // A route that requires a body changes nothing, because each of the bodies is wrong.
    const changesNothing =
      changesServer.includes(name) || (sendsBody(route) && route.input && !v.safeParse(route.input, {}).success)
    const fresh = await (changesNothing ? seeds.shared() : seeds.for(row))
    const params = paramsOf(route.path)
    const { path } = requestOf(route, exampleOf(row, fresh))
    const token = tokenFor(row, fresh)
    for (const param of params)
      for (const id of ['0', '-1', '01', 'x', '1.5', '1e3', '99999999999999999999', ' 1', '%00', '1%2f2']) {
        const wrong = route.path.replace(/\{(\w+)\}/g, (_, each: string) =>
          each === param ? id : encodeURIComponent(String(exampleOf(row, fresh)[each])),
        )
        const reply = await board.request(route.method, wrong, {
          token,
          ...(sendsBody(route) && route.input && { body: {} }),
        })
        if (route.integerIds) expectFailure(reply, 'INVALID_ID')
        else expect([reply.status, expectFailure(reply)], wrong).toEqual([404, undefined])
      }
    const bare = path.split('?')[0]!
    const replies = [
      await board.request(route.method, bare, { token }),
      await board.request(route.method, `${bare}?nonsense=1&limit=x`, { token }),
    ]
    if (sendsBody(route))
      for (const raw of ['"nonsense"', '[]', 'null', '42', '{"nonsense":true}', '{'])
        replies.push(await board.request(route.method, bare, { token, raw }))
    for (const reply of replies)
      if (reply.status >= 300) (route.oauth ? expectOauthFailure : expectFailure)(reply)
      else expectCommonHeaders(reply)
    const refused = sendsBody(route) && route.input && !route.oauth ? replies.slice(2) : []
    expect(
      refused.filter(
        ({ status, body }) =>
          status !== 400 ||
          !(
            ['VALIDATION_FAILED', 'INVALID_JSON'].includes(body.error.code) ||
            (route.checkedBy === 'rules' && body.error.details)
          ),
      ),
    ).toEqual([])
  })
})

/** Creates a key of the project, or of the server for server permissions. */
async function newKey({ projectId }: Seed, allowed: readonly Permission[]): Promise<string> {
  return (
    await board.client.keys.create({
      name: 'Some',
      permissions: [...allowed],
      ...(allowed.some(isAboutServer) ? { scope: 'server' } : { scope: 'project', projectId }),
    })
  ).key
}
