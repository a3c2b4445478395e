import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programs } from '../support/commands/programs.ts'

const nodeKeepsCode = Number(process.versions.node.split('.')[0]) >= 22

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
