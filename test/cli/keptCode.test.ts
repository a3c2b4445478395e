import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programs } from '../support/commands/programs.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { onLibsqlServer } from '../support/servers/testBoard.ts'

const nodeKeepsCode = Number(process.versions.node.split('.')[0]) >= 22
if (nodeKeepsCode) reportSkipped('Code that the build keeps for Node 20', 'newer versions of Node keep it themselves')
if (onLibsqlServer)
  reportSkipped('A server that starts without packages', 'its start loads the client of the libSQL server')

test.skipIf(nodeKeepsCode)('Node 20 takes the code that the build has kept of the program', () => {
  const env = { ...process.env, NODE_DEBUG: 'board' }
  const { stderr } = spawnSync(process.execPath, [programs.path, 'help'], { env, encoding: 'utf8' })
  expect(stderr).toContain('board: kept code used')
  expect(stderr).not.toContain('packages/')
})

test.skipIf(nodeKeepsCode)('Node 20 takes the code that is kept of a package when a command needs it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'board-kept-'))
  const env = { ...process.env, NODE_DEBUG: 'board', XDG_CONFIG_HOME: folder, HOME: folder }
  const set = spawnSync(process.execPath, [programs.path, 'config', 'set', 'pager', 'cat'], { env, encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  expect(set.stderr).toContain('packages/conf: kept code used')
})

test.skipIf(nodeKeepsCode || onLibsqlServer)(
  'a server starts without packages, and takes the code that is kept of those that it loads then',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'board-kept-'))
    const env = { NODE_DEBUG: 'board', HOME: folder, XDG_CONFIG_HOME: folder }
    const board = boardProcess(folder, env, ['--log-level', 'info'])
    try {
      await board.start()
      await eventually('the last package', () => board.stderr.includes('packages/prom-client'))
      const told = board.stderr.match(/The server has started|packages\/\S+ kept code \w+/g)
      expect(told).toEqual([
        'The server has started',
        ...['execa', 'undici', 'file-type', 'prom-client'].map(name => `packages/${name}: kept code used`),
      ])
    } finally {
      await clearAway(board, folder)
    }
  },
)

test('a command that asks a server loads neither the cryptography nor the processes of Node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'board-late-'))
  const tellLoaded = join(folder, 'tellLoaded.cjs')
  writeFileSync(tellLoaded, `process.on('exit', () => process.stdout.write('loaded ' + process.moduleLoadList.join()))`)
  const env = { ...process.env, XDG_CONFIG_HOME: folder, HOME: folder, BOARD_DATA_DIR: folder }
  const words = ['cards', 'list', '-P', '1', '--url', 'http://127.0.0.1:1']
  const { stdout, stderr } = spawnSync(process.execPath, ['-r', tellLoaded, programs.path, ...words], {
    env,
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })
  expect(stderr).toContain('127.0.0.1:1')
  const loaded = stdout.replace(/^[^]*loaded /, '').split(',')
  expect(loaded).toContain('NativeModule _http_client')
  expect(loaded).not.toContain('NativeModule crypto')
  expect(loaded).not.toContain('NativeModule child_process')
})
