import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collectGarbage } from '../../src/system/collectGarbage.ts'
import { hashOfBoard } from '../backups/boardState.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { connectedApp } from '../support/identity/connectedApp.ts'
import { fileBody } from '../support/contract/seed.ts'

let board: TestBoard
let projectId: string
const password = 'a long password'

beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password })
  projectId = (await board.client.projects.create({ name: 'Kept', path: board.folder('kept') })).id
  const { id } = await newCard('the first card')
  await board.request('POST', `/api/projects/${projectId}/cards/${id}/attachments`, fileBody('notes.txt', 'some text'))
})
afterAll(() => board.close())

const newCard = (title: string) => board.client.cards.create({ projectId, title, deferred: true })
const titles = async () => (await board.client.cards.list({ projectId })).map(({ title }) => title)
const back = async () => (await board.client.backups.create()).filename
const restore = (filename: string, token = board.token) =>
  board.request('POST', `/api/backups/${filename}/restore`, { token })
const signIn = async () => (await board.as().auth.login({ email: 'root@example.org', password })).token
const me = async (token: string) => (await board.request('GET', '/api/auth/me', { token })).status

describe('a restore', () => {
  it('restores every row and every file, and keeps the previous state as a backup', async () => {
    const filename = await back()
    const before = hashOfBoard(board.dataDir)
    const { id: cardId } = await newCard('to be kept')
    await board.request(
      'POST',
      `/api/projects/${projectId}/cards/${cardId}/attachments`,
      fileBody('later.txt', 'later'),
    )
    const later = hashOfBoard(board.dataDir)
    const { status, body } = await restore(filename)
    expect([status, body.data]).toEqual([200, { filename, keptAs: expect.stringMatching(/^board-.*\.tar\.gz$/) }])
    expect(hashOfBoard(board.dataDir)).toBe(before)
    expect(await titles()).not.toContain('to be kept')
    expect((await board.client.backups.list()).find(each => each.filename === body.data.keptAs)).toMatchObject({
      origin: 'restore',
      verified: true,
    })
    await restore(body.data.keptAs)
    expect(hashOfBoard(board.dataDir)).toBe(later)
    expect(await titles()).toContain('to be kept')
    await eventually(
      'the end of leftover work',
      () => !readdirSync(board.dataDir).some(name => /^(restor|replaced|damaged)/.test(name)),
    )
  })

  it('leaves no open handle of the earlier database that could harm the new one', async () => {
    for (let round = 0; round < 3; round++) {
      const filename = await back()
      await newCard(`round ${round}`)
      expect((await restore(filename)).status).toBe(200)
      await newCard(`after ${round}`)
      // A connection that was closed but not released would end now, with all side effects.
      const written = hashOfBoard(board.dataDir)
      await collectGarbage()
      expect(hashOfBoard(board.dataDir)).toBe(written)
    }
    const before = hashOfBoard(board.dataDir)
    await board.server.stop()
    board = { ...board, ...(await startBoard({ dataDir: board.dataDir })) }
    expect((await titles()).filter(title => title.startsWith('after'))).toEqual(['after 0', 'after 1', 'after 2'])
    expect(hashOfBoard(board.dataDir)).toBe(before)
  })

  it("ends every sign-in except the caller's, and neither keys nor the local token", async () => {
    const root = await signIn()
    const { key } = await board.as(root).keys.create({ name: 'k', scope: 'server', permissions: ['backups.read'] })
    const filename = await back()
    const [mine, other] = [await signIn(), await signIn()]
    expect((await restore(filename, mine)).status).toBe(200)
    expect([await me(mine), await me(other), await me(root), await me(board.token)]).toEqual([200, 401, 401, 200])
    expect((await board.request('GET', '/api/backups', { token: key })).status).toBe(200)
    expect((await board.request('GET', '/api/backups', { token: mine })).status).toBe(200)
  })

  it("also ends the caller's sign-in if the account is not in the backup", async () => {
    const filename = await back()
    const { user, generatedPassword } = await board.client.users.create({
      email: 'late@example.org',
      name: 'Late',
      role: 'super_admin',
    })
    const { token } = await board.as().auth.login({ email: user.email, password: generatedPassword })
    expect((await restore(filename, token)).status).toBe(200)
    expect(await me(token)).toBe(401)
  })

  it("revokes all app authorizations, also those revoked after the backup, and an app's sign-in starts again", async () => {
    const ada = await signIn()
    const [kept, revoked] = [await connectedApp(board), await connectedApp(board)]
    const [keptTokens, revokedTokens] = [await kept.connect(ada), await revoked.connect(ada)]
    const filename = await back()
    const used = (await kept.refresh(keptTokens.refresh_token)).body
    expect((await revoked.revoke(revokedTokens.refresh_token)).status).toBe(200)
    const unused = await kept.code(ada)
    expect((await restore(filename)).status).toBe(200)
    for (const { access_token } of [keptTokens, used, revokedTokens]) expect(await me(access_token)).toBe(401)
    const refreshed = [
      await kept.refresh(keptTokens.refresh_token),
      await kept.refresh(used.refresh_token),
      await revoked.refresh(revokedTokens.refresh_token),
      await kept.trade(unused),
    ]
    for (const { status, body } of refreshed) expect([status, body.error]).toEqual([400, 'invalid_grant'])
    const again = await connectedApp(board)
    const { access_token } = await again.connect(await signIn())
    expect(await me(access_token)).toBe(200)
  })

  it('closes sockets with 1012, and a returning client gets a resync for events that are not in the backup', async () => {
    const filename = await back()
    await newCard('news')
    const live = await openSocket(board.url, board.token)
    live.send({ type: 'subscribe', payload: { projectId } })
    const { data } = await live.message('subscribed')
    await restore(filename)
    expect(await live.untilClosed()).toMatchObject({ code: 1012 })
    const again = await openSocket(board.url, board.token)
    again.send({ type: 'subscribe', payload: { projectId, since: data.seq } })
    await again.message('resync')
    again.close()
  })

  it('runs once at a time', async () => {
    const filename = await back()
    const answers = (await Promise.all([restore(filename), restore(filename), restore(filename)])).map(
      ({ status, body }) => [status, body.error?.code],
    )
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
    for (const [status, code] of answers.filter(([each]) => each !== 200))
      expect([
        [409, 'CONFLICT'],
        [503, 'SHUTTING_DOWN'],
      ]).toContainEqual([status, code])
  })

  it('loses no acknowledged write, rejects others with Retry-After, and always answers health requests', async () => {
    const filename = await back()
    const acknowledged: string[] = []
    const answers: Reply[] = []
    let isDone = false
    const write = async (writer: number) => {
      for (let number = 0; !isDone; number++) {
        const title = `written ${writer}-${number}`
        const reply = await board.request('POST', '/api/cards', { body: { projectId, title, deferred: true } })
        if (reply.status === 201) acknowledged.push(title)
        answers.push(reply)
        await delay(reply.status === 503 ? 5 : 2)
      }
    }
    const read = async (path: string) => {
      for (; !isDone; await delay(5)) answers.push(await board.request('GET', path))
    }
    const healthy: number[] = []
    const watch = async () => {
      for (; !isDone; await delay(5)) healthy.push((await board.request('GET', '/api/health')).status)
    }
    const all = Promise.all([write(1), write(2), write(3), read(`/api/projects/${projectId}/cards`), watch()])
    const { body, status } = await restore(filename)
    isDone = true
    await all
    expect(status, JSON.stringify(body)).toBe(200)
    const refused = answers.filter(reply => reply.status >= 300)
    expect(refused.length).toBeGreaterThan(0)
    for (const reply of refused)
      expect([reply.status, reply.body.error.code, reply.headers.get('retry-after')]).toEqual([
        503,
        'SHUTTING_DOWN',
        expect.stringMatching(/^[12]$/),
      ])
    expect(new Set(healthy)).toEqual(new Set([200]))
    const now = await titles()
    await restore(body.data.keptAs)
    const then = await titles()
    expect(acknowledged.filter(title => !now.includes(title) && !then.includes(title))).toEqual([])
    expect(acknowledged.filter(title => then.includes(title)).length).toBeGreaterThan(0)
  })
})
