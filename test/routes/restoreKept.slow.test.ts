import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifestOf, membersOf } from '../backups/archives.ts'
import { hashOfBoard } from '../backups/boardState.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let first: string
beforeAll(async () => {
  board = await startBoard()
  first = join(board.dataDir, '..')
  await board.client.projects.create({ name: 'Kept', path: board.folder('kept') })
})
afterAll(async () => {
  await board.close()
  rmSync(first, { recursive: true, force: true })
})

const back = async () => (await board.client.backups.create()).filename
const restore = (filename: string) => board.request('POST', `/api/backups/${filename}/restore`)

it("a restore installs the backup's sealing key, and keeps the one that it replaces", async () => {
  const keyFile = join(board.dataDir, 'secret.key')
  await board.client.credentials.create({ name: 'c', provider: 'openai', apiKey: 'sk-some-0123456789' })
  const first = readFileSync(keyFile, 'utf8')
  const { filename } = await board.client.backups.create({ withKey: true })
  const second = `${Buffer.alloc(32, 9).toString('base64')}\n`
  rmSync(keyFile)
  await board.server.stop()
  writeFileSync(keyFile, second, { mode: 0o600 })
  board = { ...board, ...(await startBoard({ dataDir: board.dataDir })) }
  const { body } = await restore(filename)
  expect(readFileSync(keyFile, 'utf8')).toBe(first)
  const members = await membersOf(readFileSync(join(board.dataDir, 'backups', body.data.keptAs)))
  expect([manifestOf(members).parts[1]!.name, members[2]!.bytes.toString()]).toEqual(['secret.key', second])
  expect(statSync(keyFile).mode & 0o777).toBe(0o600)
})

describe('nothing changes', () => {
  it('if the attachments are on another disk', async () => {
    const filename = await back()
    const [folder, elsewhere] = [join(board.dataDir, 'attachments'), join(board.folder('elsewhere'), 'attachments')]
    renameSync(folder, elsewhere)
    symlinkSync(elsewhere, folder)
    const before = hashOfBoard(board.dataDir)
    const { status, body } = await restore(filename)
    expect([status, body.error.code]).toEqual([409, 'CONFLICT'])
    expect(hashOfBoard(board.dataDir)).toBe(before)
    await board.client.projects.create({ name: 'Goes on', path: board.folder('goes-on') })
    rmSync(folder)
    renameSync(elsewhere, folder)
    expect(readdirSync(board.dataDir).filter(name => /^(restor|replaced|damaged)/.test(name))).toEqual([])
  })

  it('if authentication is disabled in the backup and others can reach the server', async () => {
    await board.as(board.token).auth.setSettings({ enabled: false })
    const filename = await back()
    await board.as(board.token).auth.setSettings({ enabled: true })
    await board.server.stop()
    const open = await startBoard({ dataDir: board.dataDir, allowHosts: ['board.example.org'] })
    const reply = await open.request('POST', `/api/backups/${filename}/restore`)
    expect([reply.status, reply.body.error.code]).toEqual([409, 'CONFLICT'])
    expect(await open.client.auth.getSettings()).toMatchObject({ enabled: true })
    await open.close()
    board = { ...board, ...(await startBoard({ dataDir: board.dataDir })) }
    expect(existsSync(join(board.dataDir, 'restore.json'))).toBe(false)
  })
})
