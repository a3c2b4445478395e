import { afterEach, beforeEach, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let now: Date
beforeEach(async () => {
  now = new Date()
  board = await startBoard({ clock: () => now })
})
afterEach(() => board.close())

const ada = { email: 'ada@example.org', password: 'correct horse' }
const redeem = (ticket: string) => board.as('').auth.redeemTicket({ ticket })
const invalid = { status: 401, code: 'INVALID_CREDENTIALS' }

test('a ticket is exchanged once for a sign-in of its account', async () => {
  const { token, user } = await board.client.auth.setup(ada)
  const { ticket, expiresAt } = await board.as(token).auth.createTicket()
  expect(Date.parse(expiresAt) - now.getTime()).toBe(60_000)
  const signedIn = await redeem(ticket)
  expect(signedIn.user).toEqual(user)
  expect(await board.as(signedIn.token).auth.me()).toMatchObject({ id: user.id, token: { kind: 'sign-in' } })
  await expect(redeem(ticket)).rejects.toMatchObject(invalid)
})

test('a ticket is invalid after a minute, and after its creator has signed out', async () => {
  const { token } = await board.client.auth.setup(ada)
  const late = await board.as(token).auth.createTicket()
  const left = await board.as(token).auth.createTicket()
  await board.as(token).auth.logout()
  await expect(redeem(left.ticket)).rejects.toMatchObject(invalid)
  now = new Date(now.getTime() + 60_001)
  await expect(redeem(late.ticket)).rejects.toMatchObject(invalid)
  await expect(redeem('svc_bt_none')).rejects.toMatchObject(invalid)
})

test('the database holds neither the text nor the account of a ticket in plain text', async () => {
  const { token } = await board.client.auth.setup(ada)
  const { ticket } = await board.as(token).auth.createTicket()
  expect(board.stored()).not.toContain(ticket)
})

test('before there is an account the browser acts as the operator, across a restart, until the first account or its sign-out', async () => {
  const { token, user } = await redeem((await board.client.auth.createTicket()).ticket)
  const other = await redeem((await board.client.auth.createTicket()).ticket)
  expect(user).toMatchObject({ id: '0', role: 'super_admin', displayName: 'Local operator' })
  await board.server.stop()
  const again = await startBoard({ dataDir: board.dataDir, clock: () => now })
  try {
    expect(await again.as(token).auth.me()).toMatchObject({ id: '0', role: 'super_admin' })
    await again.as(other.token).auth.logout()
    await expect(again.as(other.token).auth.me()).rejects.toMatchObject({ status: 401 })
    await again.client.auth.setup(ada)
    await expect(again.as(token).auth.me()).rejects.toMatchObject({ status: 401 })
  } finally {
    await again.close()
  }
})

test('an API key cannot create a ticket', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'work', path: board.folder('work') })
  const { key } = await board.client.keys.create({
    scope: 'project',
    projectId,
    name: 'one',
    permissions: ['cards.read'],
  })
  await expect(board.as(key).auth.createTicket()).rejects.toMatchObject({ status: 403 })
})
