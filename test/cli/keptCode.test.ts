import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { programs } from '../support/commands/programs.ts'

const nodeKeepsCode = Number(process.versions.node.split('.')[0]) >= 22

test.skipIf(nodeKeepsCode)('Node 20 takes the code that the build has kept of the program', () => {
  const env = { ...process.env, NODE_DEBUG: 'board' }
  const { stderr } = spawnSync(process.execPath, [programs.path, 'help'], { env, encoding: 'utf8' })
  expect(stderr).toContain('board: kept code used')
})
