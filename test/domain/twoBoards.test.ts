import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saveFile } from '../../src/files/attachmentFiles.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let one: TestBoard
let two: TestBoard
beforeAll(async () => {
  ;[one, two] = await Promise.all([startBoard(), startBoard()])
  for (const board of [one, two]) await board.client.auth.setup({ ...account, displayName: 'Grace' })
})
afterAll(() => Promise.all([one.close(), two.close()]))

const account = { email: 'grace@example.org', password: 'a good long password' }

const makeProject = (board: TestBoard, name: string) =>
  board.client.projects.create({ name, path: board.folder(name.replaceAll(' ', '-')) })

/** Counts the commits that a board announces to its own listeners. */
function listenTo({ server: { app } }: TestBoard) {
  const heard = { events: 0, rights: 0 }
  const stops = [app.outbox.onAppended(() => heard.events++), app.identity.onRevoked(() => heard.rights++)]
  return { heard, stop: () => stops.forEach(stop => stop()) }
}

/** Work that does not end until its gate opens. */
function createGate() {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, work: () => opened }
}

test('a commit of one of two boards in a process wakes no listener of the other', async () => {
  const [busy, quiet] = [listenTo(one), listenTo(two)]
  await makeProject(one, 'awake')
  const { user } = await one.client.users.create({ email: 'ada@example.org', name: 'Ada', role: 'user' })
  await one.client.users.delete({ id: user.id })
  expect(busy.heard.events).toBeGreaterThan(0)
  expect(busy.heard.rights).toBeGreaterThan(0)
  expect(quiet.heard).toEqual({ events: 0, rights: 0 })
  busy.stop()
  quiet.stop()
})

test('a board whose writes all wait does not delay the other', async () => {
  const gate = createGate()
  const waiting = one.server.app.db.transaction(gate.work)
  const behind = makeProject(one, 'waiting')
  expect((await makeProject(two, 'not waiting')).name).toBe('not waiting')
  gate.open()
  await waiting
  expect((await behind).name).toBe('waiting')
})

test('a board with a full password hashing queue does not delay sign-ins of the other', async () => {
  const gate = createGate()
  const hashes = Array.from({ length: 8 }, () => one.server.app.identity.hashQueue(gate.work))
  expect((await two.as().auth.login(account)).user.email).toBe(account.email)
  gate.open()
  await Promise.all(hashes)
})

test('a user who has guessed too often at one board can sign in at the other', async () => {
  const guess = (board: TestBoard) =>
    board.request('POST', '/api/auth/login', { token: null, body: { ...account, password: 'a wrong guess' } })
  const statuses: number[] = []
  for (let guesses = 0; guesses < 12; guesses++) statuses.push((await guess(one)).status)
  expect(statuses.at(-1)).toBe(429)
  expect((await guess(two)).status).toBe(401)
})

test('a board whose attachments a backup holds does not block the other', async () => {
  const release = one.server.app.attachmentFiles.hold()
  const held = await Promise.all(
    [one, two].map(async ({ server: { app } }) => {
      const { storedAs } = await saveFile(app.attachmentFiles.folder, contentOf('kept'), 'kept.txt')
      await app.attachmentFiles.remove(storedAs)
      return existsSync(join(app.attachmentFiles.folder, storedAs))
    }),
  )
  release()
  expect(held).toEqual([true, false])
})

async function* contentOf(text: string) {
  yield Buffer.from(text)
}

test('a board continues when the other one in its process stops', async () => {
  const third = await startBoard()
  const heard: string[] = []
  const stop = two.server.app.outbox.subscribe(events => heard.push(...events.map(({ type }) => type)))
  await third.close()
  await makeProject(two, 'still here')
  await eventually('the event', () => heard.includes('project.created'))
  stop()
})
