import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installedAgent, realAgents } from '../support/agents/realAgents.ts'
import { startRealBoard } from '../support/agents/realBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

describe.skipIf(!hasBubblewrap)('in the sandbox', () => {
  for (const { id } of realAgents) {
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
        expect(session.sandbox).toMatchObject({ kind: 'bwrap', network: 'full' })
        const git = (...args: string[]) => execFileSync('git', ['-C', real.path, ...args], { encoding: 'utf8' })
        expect(readFileSync(join(real.worktree(card.id), 'hello.txt'), 'utf8')).toBe('hello\n')
        expect(git('log', '-1', '--format=%s', session.branch!)).toBe('Say hello\n')
        await real.untilNoneRuns()
      } finally {
        await real.close()
      }
    })
  }

  const codex = installedAgent('codex')
  test.skipIf(!codex)(
    "codex, without its own sandbox, asks before it leaves the board's sandbox, in each of its modes",
    async () => {
      const { calls } = codex!
      const real = await startRealBoard(codex!, {}, true)
      try {
        for (const mode of [undefined, 'workspace-write', 'read-only']) {
          const { id } = await real.create('Ask', mode === undefined ? {} : { mode })
          const [plain, asked] = ['plain', 'asked'].map(name => join(real.worktree(id), name))
          real.model.play(
            { calls: [calls.run(`touch ${plain}`)] },
            { calls: [calls.runAsked!(`touch ${asked}`)] },
            { text: 'Done.' },
          )
          await real.start(id)
          const { card, questions } = await real.approveAll(id)
          expect({ status: card.status, count: questions.length }).toEqual({ status: 'completed', count: 1 })
          const mayWrite = mode !== 'read-only'
          expect([existsSync(plain!), existsSync(asked!)]).toEqual([mayWrite, mayWrite])
        }
        await real.untilNoneRuns()
      } finally {
        await real.close()
      }
    },
  )

  test.skipIf(!codex)(
    'codex with a custom program of its account does not start where the sandbox is required',
    async () => {
      const real = await startRealBoard(codex!, { CODEX_PATH: '/usr/bin/codex' }, true)
      try {
        const { id } = await real.create('Own')
        await real.start(id)
        expect(await real.untilStatus(id, 'failed')).toMatchObject({ statusReason: 'launch_failed' })
      } finally {
        await real.close()
      }
    },
  )
})
