import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCredentialProvider, type FakeCredentialProvider } from '../support/identity/fakeCredentialProvider.ts'
import { onLibsqlServer, startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

const apiKey = 'sk-canary-0123456789abcdef-WXYZ'
let board: TestBoard
let provider: FakeCredentialProvider

beforeAll(async () => {
  provider = await startCredentialProvider()
  provider.goodKey = apiKey
  board = await startBoard()
})
afterAll(async () => {
  await board.close()
  await provider.close()
})

const add = () => board.client.credentials.create({ name: 'k', provider: 'custom', baseUrl: provider.url, apiKey })
const verify = (id: string) => board.request('POST', `/api/credentials/${id}/verify`)
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]

describe('the seal', () => {
  const sealedOf = async (id: string) =>
    (await board.server.app.db.get<{ sealed: string }>('SELECT sealed FROM credentials WHERE id = ?', [Number(id)]))!
      .sealed
  const setSealed = (id: string, sealed: string) =>
    board.server.app.db.transaction(tx =>
      tx.run('UPDATE credentials SET sealed = ? WHERE id = ?', [sealed, Number(id)]),
    )

  it('can be opened in its own row only', async () => {
    const [one, two] = [await add(), await add()]
    await setSealed(one.id, await sealedOf(two.id))
    expect(codeOf(await verify(one.id))).toEqual([409, 'SEALED_WITH_OTHER_KEY'])
  })

  it('rejects text that is damaged in any part', async () => {
    const { id } = await add()
    const parts = (await sealedOf(id)).split('.')
    const damaged = [
      ...parts.map((_, at) =>
        parts
          .map((each, index) => (index === at ? each.replace(/^./, first => (first === 'A' ? 'B' : 'A')) : each))
          .join('.'),
      ),
      parts.slice(0, 4).join('.'),
      '',
      '1',
      'x.y.z',
      parts.map((part, at) => (at === 3 ? part.slice(0, 6) : part)).join('.'),
    ]
    for (const text of damaged) {
      await setSealed(id, text)
      expect(codeOf(await verify(id)), text).toEqual([409, 'SEALED_WITH_OTHER_KEY'])
    }
  })

  it('never seals one text to equal results', async () => {
    const [one, two] = await Promise.all([await add(), await add()].map(({ id }) => sealedOf(id)))
    expect(one!.split('.').slice(2)).not.toEqual(two!.split('.').slice(2))
  })

  it('reports a wrong BOARD_SECRET_KEY, keeps everything else working, and accepts the secret again', async ({
    skip,
  }) => {
    skip(onLibsqlServer, 'With another key than the others have, no daemon starts.')
    const right = await startBoard({ secretKey: '11'.repeat(32) })
    const { id } = await right.client.credentials.create({
      name: 'k',
      provider: 'custom',
      baseUrl: provider.url,
      apiKey,
    })
    expect(existsSync(join(right.dataDir, 'secret.key'))).toBe(false)
    await right.server.stop()
    const wrong = await startBoard({ dataDir: right.dataDir, secretKey: Buffer.alloc(32, 7).toString('base64') })
    expect(await wrong.client.credentials.get({ id })).toMatchObject({ apiKey: '…WXYZ' })
    const reply = await wrong.request('POST', `/api/credentials/${id}/verify`)
    expect([reply.status, reply.body.error]).toEqual([
      409,
      { code: 'SEALED_WITH_OTHER_KEY', message: expect.stringContaining('another key') },
    ])
    await wrong.client.credentials.update({ id, apiKey })
    expect(await wrong.client.credentials.verify({ id })).toEqual({ valid: true, detail: null })
    await wrong.close()
    await right.close()
  })

  it('accepts the same 32 bytes in base64, in base64url and in hexadecimal', async () => {
    const bytes = Buffer.from('fbff'.repeat(16), 'hex')
    const first = await startBoard({ secretKey: bytes.toString('hex') })
    const { id } = await first.client.credentials.create({
      name: 'k',
      provider: 'custom',
      baseUrl: provider.url,
      apiKey,
    })
    await first.server.stop()
    for (const encoding of ['base64', 'base64url'] as const) {
      const again = await startBoard({ dataDir: first.dataDir, secretKey: bytes.toString(encoding) })
      expect((await again.client.credentials.verify({ id })).valid).toBe(true)
      await again.close()
    }
    await first.close()
  })

  it('does not start with an invalid BOARD_SECRET_KEY, and does not repeat it', async () => {
    for (const secretKey of ['canary', 'canary'.repeat(8), `${'11'.repeat(31)}`, '11'.repeat(33)])
      await expect(startBoard({ secretKey })).rejects.toThrow(
        expect.objectContaining({ message: expect.stringMatching(/^BOARD_SECRET_KEY must be 32 bytes(?!.*canary)/) }),
      )
  })

  it('reports a damaged key file as damaged', async ({ skip }) => {
    skip(onLibsqlServer, 'With another key than the others have, no daemon starts.')
    const fresh = await startBoard()
    writeFileSync(join(fresh.dataDir, 'secret.key'), 'canary')
    const reply = await fresh.request('POST', '/api/credentials', { body: { name: 'k', provider: 'openai', apiKey } })
    expect([codeOf(reply), reply.body.error.message]).toEqual([
      [409, 'SEALED_WITH_OTHER_KEY'],
      expect.stringContaining('secret.key'),
    ])
    expect(reply.text).not.toMatch(/canary|board-test/)
    expect(await fresh.client.credentials.list()).toEqual([])
    await fresh.close()
  })

  it("writes it to disk only sealed, with the key next to the database for the server's account alone", async () => {
    const fresh = await startBoard()
    const keyFile = join(fresh.dataDir, 'secret.key')
    expect(existsSync(keyFile)).toBe(onLibsqlServer)
    const { id } = await fresh.client.credentials.create({ name: 'k', provider: 'openai', apiKey })
    expect(statSync(keyFile).mode & 0o777).toBe(0o600)
    expect(Buffer.from(readFileSync(keyFile, 'utf8'), 'base64')).toHaveLength(32)
    expect(await fresh.server.app.db.get('SELECT sealed FROM credentials WHERE id = ?', [Number(id)])).toMatchObject({
      sealed: expect.stringMatching(/^1\.[\w-]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]{42}$/),
    })
    expect(fresh.stored() + readFileSync(keyFile, 'latin1')).not.toContain('canary')
    await fresh.close()
  })
})
