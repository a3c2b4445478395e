import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
const { GIT_CONFIG_GLOBAL } = process.env
beforeAll(async () => {
  board = await startAgentBoard({ good: { fixture: 'well-behaved' } }, { fetchTimeoutMs: 700 })
  const folder = board.folder('account')
  mkdirSync(folder, { recursive: true })
  const ssh = join(folder, 'ssh')
  writeFileSync(ssh, '#!/bin/sh\nexec sleep 600\n')
  chmodSync(ssh, 0o755)
  process.env.GIT_CONFIG_GLOBAL = join(folder, 'config')
  writeFileSync(process.env.GIT_CONFIG_GLOBAL, `[core]\n\tsshCommand = ${ssh}\n`)
})
afterAll(async () => {
  if (GIT_CONFIG_GLOBAL === undefined) delete process.env.GIT_CONFIG_GLOBAL
  else process.env.GIT_CONFIG_GLOBAL = GIT_CONFIG_GLOBAL
  await board.close()
})

test('the transcript reports once that the base could not be fetched, and the agent works at the local commit', async () => {
  const git = (...args: string[]) => execFileSync('git', ['-C', board.path, ...args], { encoding: 'utf8' }).trim()
  git('remote', 'add', 'origin', 'ssh://ann:s3cretword@host/x.git')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  git('branch', '--quiet', '--set-upstream-to', 'origin/main')
  const { id } = await board.start('good')
  await board.untilStatus(id, 'completed')
  const texts = (await board.messages(id)).map(({ content }) => content)
  const told = texts.filter(text => text.includes('fetched'))
  expect(told).toEqual([
    'main could not be fetched from origin, so the work starts at the local commit: no answer within 0.7 s',
  ])
  expect(texts.join('\n')).not.toContain('s3cretword')
  const { stats } = await board.client.agents.diff({ projectId: board.projectId, cardId: id })
  expect(stats.filesChanged).toBe(1)
})
