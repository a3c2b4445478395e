import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ home: { protocol: 'command', command: ['sh', '-c', 'echo mine > mine'] } })
})
afterAll(() => board.close())

test('a push that takes longer than 30 seconds is awaited', async () => {
  const { projectId, client, path } = board
  const remote = join(board.folder('remotes'), 'slow.git')
  execFileSync('git', ['init', '-q', '--bare', remote])
  const hook = join(remote, 'hooks', 'pre-receive')
  writeFileSync(hook, '#!/bin/sh\nsleep 32\n')
  chmodSync(hook, 0o755)
  execFileSync('git', ['-C', path, 'remote', 'add', 'origin', remote])
  const { id } = await board.start('home')
  await board.untilStatus(id, 'completed')
  expect(await client.branches.push({ projectId, cardId: id })).toMatchObject({ remote: 'origin' })
  expect(execFileSync('git', ['-C', remote, 'for-each-ref'], { encoding: 'utf8' })).toContain('refs/heads/board/')
})
