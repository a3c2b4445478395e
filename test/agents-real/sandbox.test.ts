import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installedAgent, realAgents } from '../support/agents/realAgents.ts'
import { startRealBoard } from '../support/agents/realBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

describe.skipIf(!hasBubblewrap)('in the sandbox', () => {
  // Codex has a sandbox of its own, which does not work in another one: it starts without the board's, or not at all.
  for (const { id } of realAgents.filter(each => each.id !== 'codex')) {
    const agent = installedAgent(id)
    test.skipIf(!agent)(`${id} writes a file and commits it on the branch of its card`, async () => {
      const { calls } = agent!
      const real = await startRealBoard(agent!, {}, true)
      try {
        const { card } = await real.run('Write hello', folder => [
          { calls: [calls.write(join(folder, 'hello.txt'), 'hello\n')] },
          { calls: [calls.run('git add hello.txt && git commit -m "Say hello"')] },
          { calls: [calls.board('report_progress', { detail: 'I wrote hello.txt.' })] },
          { text: 'I wrote hello.txt.' },
        ])
        expect(card).toMatchObject({ status: 'completed', statusReason: null })
        const session = await real.board.client.agents.get({ projectId: real.projectId, cardId: card.id })
        expect(session.sandbox).toMatchObject({ kind: 'bubblewrap', network: 'full' })
        const git = (...args: string[]) => execFileSync('git', ['-C', real.path, ...args], { encoding: 'utf8' })
        expect(readFileSync(join(real.worktree(card.id), 'hello.txt'), 'utf8')).toBe('hello\n')
        expect(git('log', '-1', '--format=%s', session.branch!)).toBe('Say hello\n')
        await real.untilNoneRuns()
      } finally {
        await real.close()
      }
    })
  }
})
