import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

describe.skipIf(!hasBubblewrap)('a card whose agent runs in the sandbox', () => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ asking: { fixture: 'permission-first' } }, { sandbox: 'require' })
  })
  afterAll(() => board.close())

  test('starts, asks, edits, is reviewed twice, merges, and leaves no files', async () => {
    const { client, path, projectId } = board
    const { id: cardId } = await board.start('asking', { title: 'Write allowed.txt' })
    const ref = { projectId, cardId }
    const worktree = join(board.dataDir, 'worktrees', projectId, cardId)

    const answerQuestion = async () => {
      await board.untilStatus(cardId, 'waiting')
      expect((await client.agents.get(ref)).waitingFor).toBe('Write allowed.txt')
      await client.agents.approvePlan({ ...ref, approved: true })
      await board.untilStatus(cardId, 'completed')
    }
    await answerQuestion()
    const session = await client.agents.get(ref)
    expect(session).toMatchObject({ status: 'completed', summary: 'Written.', sandbox: { kind: 'bwrap' } })
    expect(readFileSync(join(worktree, 'allowed.txt'), 'utf8')).toBe('allowed\n')
    expect(existsSync(join(path, 'allowed.txt'))).toBe(false)
    expect(await client.agents.diff(ref)).toMatchObject({
      diff: expect.stringContaining('+allowed') as string,
      stats: { filesChanged: 1, insertions: 1, deletions: 0 },
    })

    const comments = [{ path: 'allowed.txt', line: 1, body: 'Are you sure?' }]
    expect(
      await client.reviews.create({ ...ref, verdict: 'request_changes', body: 'Check it.', comments }),
    ).toMatchObject({ round: 1 })
    await answerQuestion()
    expect(await client.reviews.create({ ...ref, verdict: 'approve' })).toMatchObject({ round: 2 })

    const branch = (await board.card(cardId)).gitBranch!
    expect(await client.agents.merge(ref)).toMatchObject({ merged: true })
    expect(git(path, 'show', 'main:allowed.txt')).toBe('allowed\n')
    expect(readFileSync(join(path, 'allowed.txt'), 'utf8')).toBe('allowed\n')

    await client.cards.detachWorktree({ ...ref, remove: true })
    expect(existsSync(worktree)).toBe(false)
    expect(git(path, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
    expect(git(path, 'branch', '--list', branch)).toBe('')
    expect(git(path, 'status', '--porcelain')).toBe('')
    await board.untilNoneRuns()
    await client.cards.delete(ref)
  })
})

const git = (path: string, ...args: string[]): string =>
  execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' })
