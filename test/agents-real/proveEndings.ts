import { expect, test } from 'vitest'
import { childrenOf, readProcessFile } from '../support/processes/processFiles.ts'
import { eventually } from '../support/waiting/eventually.ts'
import type { AgentUnderTest } from './agentUnderTest.ts'

/** The agent hands over to a new session, and its process is killed in that one. */
export function proveEndings({ real: started, cell }: AgentUnderTest): void {
  test('hands its work over to a new session, which fails as crashed if its process is killed', async () => {
    const real = started()
    const { client } = real.board
    const { id: cardId } = await real.create('Relay')
    const ref = { projectId: real.projectId, cardId }
    const untilAsked = (what: string, isMain = false) => {
      const before = real.model.asked.length
      return eventually(
        `a request with ${what}`,
        () =>
          real.model.asked
            .slice(before)
            .find(({ body, offersTools }) => (offersTools || !isMain) && JSON.stringify(body).includes(what)),
        120_000,
      )
    }
    real.model.play({ fails: 'stalls' })
    const before = real.model.asked.length
    await real.start(cardId)
    await eventually('the request', () => real.model.asked.length > before, 120_000)
    const handoff = 'The goal is a harbour.'
    real.model.play({ text: handoff })
    const [, taken] = await Promise.all([
      client.agents.relay(ref),
      untilAsked('You take over from an earlier session.'),
      // Gemini uses a model to select the model first.
      untilAsked('Your session ends here', true).then(() => real.model.play({ fails: 'stalls' })),
    ])
    expect(JSON.stringify(taken.body)).toContain(handoff)
    expect((await client.agents.sessions(ref)).map(({ status }) => status).sort()).toEqual(['completed', 'running'])
    cell('relay', 'yes')
    const leaders = childrenOf(real.board.pid).filter(isAgent)
    expect(leaders).toHaveLength(1)
    process.kill(leaders[0]!, 'SIGKILL')
    await eventually('the end', async () => !(await real.card(cardId)).hasActiveAgent, 30_000)
    expect(await real.card(cardId)).toMatchObject({ status: 'failed', statusReason: 'crashed' })
    await real.untilNoneRuns()
    cell('agent killed', 'crashed')
  })
}

/** Whether a server's process was started for an agent. Its watchdog was not. */
const isAgent = (pid: number): boolean => readProcessFile(pid, 'environ').includes('BOARD_RUN_ID=')
