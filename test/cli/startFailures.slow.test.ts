import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { fillDisk, mayMount, mountDisk, mountReadOnly, unmountDisk } from '../support/processes/smallDisk.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { eventually } from '../support/waiting/eventually.ts'

const isRoot = process.getuid?.() === 0
const canDeny = !isRoot || mayMount
if (!canDeny) reportSkipped('Files that cannot be written', 'root can write them, and cannot mount here')

let cli: CommandLine
let round = 0
beforeAll(() => {
  cli = commandLine()
})
afterAll(() => cli.close())

const serveIn = (dataDir: string) => cli.start(['serve', '--port', '0', '--data-dir', dataDir])

/** A data folder that a server has used until it stopped. */
async function usedFolder(dataDir = join(cli.home, `data-${++round}`)): Promise<string> {
  const server = serveIn(dataDir)
  await eventually('a server that listens', () => server.stdout.includes('Listening on'), 20_000)
  server.interrupt()
  await eventually('its end', () => server.code !== undefined, 20_000)
  return dataDir
}

const folderInPlaceOf = (path: string) => {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path)
}
const fileInPlaceOf = (path: string) => {
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, 'No folder.\n')
}
/** The mode of a file does not stop root. */
const deny = (path: string) => (isRoot ? mountReadOnly(path) : chmodSync(path, 0o444))
const allow = (path: string) => (isRoot ? unmountDisk(path) : chmodSync(path, 0o600))

const faults: ReadonlyArray<[name: string, fault: (path: string) => void, reason: string]> = [
  ['board.db', folderInPlaceOf, 'it is not a file'],
  ['board.db-wal', folderInPlaceOf, 'it is not a file'],
  ['board.lock', folderInPlaceOf, 'it is not a file'],
  ['daemon.json', folderInPlaceOf, 'it is not a file'],
  ['database-use.json', folderInPlaceOf, 'it is not a file'],
  ['attachments', fileInPlaceOf, 'it is a file'],
]

describe('a server that cannot start exits immediately with the reason', () => {
  const refusal = async (dataDir: string) => {
    const { code, stdout, stderr } = await cli.board(['serve', '--port', '0', '--data-dir', dataDir])
    expect(stdout).toBe('')
    return { code, problem: stderr.split('\n').find(line => line.startsWith('board: ')) }
  }

  test.each(faults)('for %s with another type', async (name, fault, reason) => {
    const dataDir = await usedFolder()
    fault(join(dataDir, name))
    expect(await refusal(dataDir)).toEqual({
      code: 1,
      problem: `board: the data folder ${dataDir} cannot be used: ${name}: ${reason}`,
    })
  })

  test('for an invalid lock file', async () => {
    const dataDir = await usedFolder()
    writeFileSync(join(dataDir, 'board.lock'), 'No lock.\n')
    expect(await refusal(dataDir)).toEqual({
      code: 5,
      problem: `board: ${dataDir}/board.lock is damaged. The file contains no data. Delete it, and start again`,
    })
  })

  test.skipIf(!canDeny).each(['board.db', 'board.lock'])('for %s that cannot be written', async name => {
    const dataDir = await usedFolder()
    const path = join(dataDir, name)
    deny(path)
    const { code, problem } = await refusal(dataDir).finally(() => allow(path))
    expect(code).toBe(4)
    expect(problem).toContain(`board: the data folder ${dataDir} cannot be used: ${name}: `)
  })

  test.skipIf(!mayMount)('on a full disk, regardless of the remaining space', async () => {
    const disk = join(cli.home, 'disk')
    mkdirSync(disk)
    for (const size of ['64k', '1m', '1500k']) {
      mountDisk(disk, size)
      const dataDir = join(disk, 'data')
      expect(await refusal(dataDir).finally(() => unmountDisk(disk))).toEqual({
        code: 1,
        problem: `board: the disk of the data folder ${dataDir} is full`,
      })
    }
    mountDisk(disk, '64m')
    try {
      const dataDir = await usedFolder(join(disk, 'data'))
      const empty = fillDisk(disk)
      // The first start uses the space that the earlier server has left.
      for (let start = 0; start < 2; start++) expect((await refusal(dataDir)).code).toBe(1)
      expect(await refusal(dataDir)).toEqual({
        code: 1,
        problem: `board: the disk of the data folder ${dataDir} is full`,
      })
      empty()
      await usedFolder(dataDir)
    } finally {
      unmountDisk(disk)
    }
  })
})

test('a server that waits for its database stops on a signal', async () => {
  const silent = createServer(socket => sockets.push(socket)).listen(0, '127.0.0.1')
  const sockets: Socket[] = []
  await eventually('a silent server', () => silent.listening)
  const { port } = silent.address() as AddressInfo
  const dataDir = join(cli.home, 'waits')
  const args = ['--port', '0', '--data-dir', dataDir, '--database', `ws://127.0.0.1:${port}`]
  const server = cli.start(['serve', ...args])
  await eventually('its connection', () => sockets.length > 0, 20_000)
  const asked = performance.now()
  server.interrupt()
  await eventually('its end', () => server.code !== undefined, 20_000)
  expect(performance.now() - asked).toBeLessThan(15_000)
  for (const socket of sockets) socket.destroy()
  silent.close()
})
