import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request as post, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { fixture } from '../support/agents/agent.ts'
import { hideAgents, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing, type Sharing } from './sharing.ts'

describe.skipIf(!isSharable)('two machines that share a board', () => {
  let sharing: Sharing
  let one: TestBoard
  let two: TestBoard
  let projectId: string
  let folder: string

  beforeAll(async () => {
    sharing = await startSharing()
    ;[one, two] = [await sharing.join('one'), await sharing.join('two')]
    folder = two.folder('there')
    execFileSync('git', ['init', '-q', '-b', 'main', folder])
    writeFileSync(join(folder, 'readme.txt'), 'on machine two\n')
    execFileSync('git', ['-C', folder, 'add', '-A'])
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '-qm', 'first'])
    projectId = (await two.client.projects.create({ name: 'There', path: folder })).id
    await eventually(
      'both daemons at work',
      async () => (await one.client.server.daemons()).filter(each => each.duties.includes('machine')).length === 2,
    )
  })

  it('a write of one daemon is immediately visible to the other, and each lists the daemons', async () => {
    const { id } = await one.client.cards.create({ projectId, title: 'made through one', deferred: true })
    expect(await two.client.cards.get({ projectId, cardId: id })).toMatchObject({ title: 'made through one' })
    const daemons = await two.client.server.daemons()
    expect(daemons.map(({ machine, isThis, isThere }) => [machine, isThis, isThere])).toEqual([
      ['one', false, true],
      ['two', true, true],
    ])
    expect(daemons.filter(({ duties }) => duties.includes('board'))).toHaveLength(1)
  })

  it('the metrics of each list the daemons, its own work, and the state of its database', async () => {
    const figures = async (board: TestBoard) => {
      const { text } = await board.request('GET', '/metrics', { token: null })
      return (name: string) =>
        Number(
          text
            .split('\n')
            .find(line => line.startsWith(`${name} `))
            ?.split(' ')
            .at(-1),
        )
    }
    const [first, second] = await Promise.all([one, two].map(figures))
    for (const each of [first!, second!]) {
      expect([
        each('board_daemons{state="there"}'),
        each('board_daemons{state="gone"}'),
        each('board_duties{duty="machine"}'),
      ]).toEqual([2, 0, 1])
      expect(each('board_heartbeat_seconds_count')).toBeGreaterThan(0)
      expect(each('board_heartbeat_age_seconds')).toBeLessThan(3)
      expect(each('board_database_bytes{file="database"}')).toBeGreaterThan(100_000)
    }
    expect(first!('board_duties{duty="board"}') + second!('board_duties{duty="board"}')).toBe(1)
  })

  it('files, attachments and scripts of a project are those of its machine, for requests to any daemon', async () => {
    expect(JSON.stringify(await one.client.projects.files({ projectId }))).toContain('readme.txt')
    const { id: cardId } = await one.client.cards.create({ projectId, title: 'with a file', deferred: true })
    const sent = join(one.folder('sent'), 'a.txt')
    writeFileSync(sent, 'sent to one')
    const attachment = await one.client.attachments.create({ projectId, cardId, file: { path: sent } })
    for (const board of [one, two])
      expect((await board.request('GET', `/api/attachments/${attachment.id}`)).text).toBe('sent to one')
    const script = await one.client.scripts.create({ projectId, name: 'where', command: 'pwd' })
    await one.client.scripts.run({ projectId, scriptId: script.id })
    await eventually("the script's output", async () =>
      JSON.stringify(await one.client.scripts.status({ projectId })).includes(folder),
    )
  })

  it('a request that another daemon forwarded is audited once, with its original address', async () => {
    const { id: scriptId } = await two.client.scripts.create({ projectId, name: 'audited', command: 'true' })
    const request = post({
      host: '127.0.0.1',
      port: new URL(one.url).port,
      localAddress: '127.0.0.9',
      method: 'POST',
      path: `/api/projects/${projectId}/scripts/${scriptId}/run`,
      headers: { authorization: `Bearer ${one.token}` },
    }).end()
    const [reply] = (await once(request, 'response')) as [IncomingMessage]
    reply.resume()
    expect(reply.statusCode).toBeLessThan(300)
    const { items } = await two.client.audit.list({ action: 'scripts.run', limit: 100 })
    expect(items.filter(({ target }) => target?.id === scriptId).map(({ address }) => address)).toEqual(['127.0.0.9'])
  })

  it('an offline daemon is named, and cards can still be read and written', async () => {
    const three = await sharing.join('three')
    const away = (await three.client.projects.create({ name: 'Away', path: three.folder('away') })).id
    const { id: cardId } = await three.client.cards.create({ projectId: away, title: 'left behind', deferred: true })
    await three.server.stop()
    const refused = await one.request('GET', `/api/projects/${away}/files`)
    expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'MACHINE_UNAVAILABLE',
      '2',
    ])
    expect(refused.body.error.message).toContain('three')
    expect(await one.client.cards.list({ projectId: away })).toHaveLength(1)
    expect(await one.client.cards.update({ projectId: away, cardId, title: 'renamed' })).toMatchObject({
      title: 'renamed',
    })
    await one.client.cards.create({ projectId: away, title: 'another', deferred: true })
  })

  it('a card that starts no agent is created although the daemon of its machine does not answer, and no other card', async () => {
    const three = await sharing.join('three')
    const away = (await three.client.projects.create({ name: 'Silent', path: three.folder('silent') })).id
    await three.server.stop()
    const { db } = one.server.app
    await db.transaction(async tx => {
      await tx.run(
        `INSERT INTO daemons (id, host, url, version, started_at, seen_at_ms) VALUES ('silent', 'three', 'http://127.0.0.1:1', '1', '', 1e15)`,
      )
      await tx.run(
        `INSERT INTO leases VALUES ('machine:three', 'silent', 1, 1e15) ON CONFLICT DO UPDATE SET daemon_id = excluded.daemon_id, ends_at_ms = excluded.ends_at_ms`,
      )
    })
    const [backlog, active] = (await one.client.columns.list({ projectId: away })).map(({ id }) => id)
    const made = (card: object) =>
      one.client.cards.create({ projectId: away, title: 'made meanwhile', ...card }).then(
        ({ deferred }) => deferred,
        ({ code }) => code,
      )
    expect([
      await made({}),
      await made({ columnId: backlog }),
      await made({ columnId: active, deferred: true }),
    ]).toEqual([false, false, true])
    expect([await made({ columnId: active }), await made({ columnId: '999999' })]).toEqual([
      'MACHINE_UNAVAILABLE',
      'COLUMN_NOT_FOUND',
    ])
    await db.transaction(async tx => {
      for (const table of ['daemons WHERE id', 'leases WHERE daemon_id'])
        await tx.run(`DELETE FROM ${table} = 'silent'`)
    })
  })

  it('a card that is to start while its machine is offline starts when it is back', async () => {
    const [here, dataDir] = [one.folder('four'), one.folder('five')]
    for (const each of [here, dataDir])
      hideAgents(each, { well: { command: [process.execPath, fixture('well-behaved')] } })
    const [asked, before] = [await sharing.join('four', { dataDir: here }), await sharing.join('five', { dataDir })]
    const { id: away } = await before.client.projects.create({ name: 'Back soon', path: before.folder('back soon') })
    const columnId = (await before.client.columns.list({ projectId: away })).find(
      ({ columnType }) => columnType === 'active',
    )!.id
    const { id: cardId } = await before.client.cards.create({ projectId: away, title: 'Later', agent: 'well' })
    await before.server.stop()
    await asked.client.cards.move({ projectId: away, cardId, columnId })
    const status = async () => (await asked.client.cards.get({ projectId: away, cardId })).status
    expect(await status()).toBe('queued')
    await sharing.join('five', { dataDir })
    await eventually("the end of the agent's work", async () => !['queued', 'running'].includes(await status()))
    expect(await status()).toBe('completed')
  })

  it('a forward token is valid only for the request that it was signed for', async () => {
    const path = `/api/projects/${projectId}/files`
    const { forwardTokenHeader, signForwardToken } = await import('../../src/identity/forwardTokens.ts')
    const statusOf = async (token: string, at = path) =>
      (await two.request('GET', at, { token: null, headers: { [forwardTokenHeader]: token } })).status
    const { app } = two.server
    const forwarded = { method: 'GET', url: path, daemonId: app.membership.id, expiresAtMs: Date.now() + 5000 }
    expect(await statusOf(signForwardToken(app.seal, forwarded))).toBe(200)
    expect(await statusOf(signForwardToken(app.seal, forwarded), `/api/projects/${projectId}/cards`)).toBe(401)
    expect(await statusOf(signForwardToken(app.seal, { ...forwarded, daemonId: one.server.app.membership.id }))).toBe(
      401,
    )
    expect(await statusOf(signForwardToken(app.seal, { ...forwarded, expiresAtMs: Date.now() - 1 }))).toBe(401)
    expect(await statusOf(`${Date.now() + 5000}.${'A'.repeat(43)}`)).toBe(401)
    expect(await statusOf('nonsense')).toBe(401)
  })

  it('a user without access to a project cannot learn its machine', async () => {
    await one.client.auth.setup({ email: 'a@example.com', password: 'long enough', displayName: 'A' })
    const { token } = await one.client.auth.register({
      email: 'b@example.com',
      password: 'long enough',
      displayName: 'B',
    })
    for (const board of [one, two])
      expect((await board.request('GET', `/api/projects/${projectId}/files`, { token })).body.error.code).toBe(
        'PROJECT_NOT_FOUND',
      )
  })
})
