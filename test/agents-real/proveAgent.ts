import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import type { AgentUnderTest, Traits } from './agentUnderTest.ts'
import { recordCell, type Cell } from './cells.ts'
import { proveChoices } from './proveChoices.ts'
import { proveEndings } from './proveEndings.ts'
import { proveQuestions } from './proveQuestions.ts'
import { startRealBoard, type RealBoard } from '../support/agents/realBoard.ts'
import { installedAgent, type RealAgent } from '../support/agents/realAgents.ts'

const says = {
  401: 'Incorrect API key provided.',
  404: 'The model scripted does not exist.',
  429: 'Rate limit reached for requests.',
  500: 'The server had an error.',
}

/** Tests one real agent through its public interface. */
export function proveAgent(id: RealAgent['id'], traits: Traits = {}): void {
  const { silence = '20s', usage, resumesNextMinute, foreign = [] } = traits
  const agent = installedAgent(id)
  describe.skipIf(!agent)(`${id} on a card`, () => {
    let real: RealBoard
    const cell = (name: Cell, value: string) => recordCell(id, name, value)
    beforeAll(async () => {
      real = await startRealBoard(agent!, { BOARD_AGENT_SILENCE: silence })
    })
    afterAll(async () => {
      await real.close()
    })

    test('is found on the search path', async () => {
      const providers = await real.board.client.agents.providers({})
      expect(providers.filter(({ installed }) => installed).map(each => each.id)).toEqual([id])
      cell('found', 'yes')
    })

    test("writes a file, uses the board's tools, and completes with its tokens counted", async () => {
      const { calls } = agent!
      const { card } = await real.run('Write hello', folder => [
        { calls: [calls.write(join(folder, 'hello.txt'), 'hello\n')] },
        { calls: [calls.board('report_progress', { detail: 'I wrote hello.txt.' })] },
        { text: 'I wrote hello.txt.', usage: { input: 500, cached: 100, output: 30, thought: 10 } },
      ])
      expect(card).toMatchObject({ status: 'completed', statusReason: null })
      expect(readFileSync(join(real.worktree(card.id), 'hello.txt'), 'utf8')).toBe('hello\n')
      expect(await real.board.client.agents.get({ projectId: real.projectId, cardId: card.id })).toMatchObject({
        agent: id,
        status: 'completed',
        summary: 'I wrote hello.txt.',
        usage: usage ?? { inputTokens: 2500, outputTokens: 70 },
      })
      cell('starts', 'yes')
      cell('usage', usage ? 'a part' : 'exact')
      const told = await real.board.client.agents.messages({ projectId: real.projectId, cardId: card.id })
      cell(
        'MCP',
        // Copilot calls a tool by its title.
        told.some(
          ({ tool }) => tool?.status === 'completed' && /report_progress|Report progress/.test(JSON.stringify(tool)),
        )
          ? 'yes'
          : 'no',
      )
      await real.untilNoneRuns()
    })

    test('asks its model with the key of the account', () => {
      const main = real.model.asked.filter(({ offersTools }) => offersTools)
      expect(main.length).toBeGreaterThan(0)
      expect(new Set(real.model.asked.filter(({ protocol }) => protocol).map(({ key }) => key))).toEqual(
        new Set([real.key]),
      )
    })

    test.each([401, 404, 429, 500] as const)('does not complete if its model responds with %i', async status => {
      const { card } = await real.run(`Fails with ${status}`, () => [
        { fails: status, message: says[status], ...(status === 429 && { retryAfter: 1 }) },
      ])
      expect(card.status, card.lastAgentAction?.detail ?? undefined).toBe('failed')
      cell(`${status}`, card.statusReason!)
      await real.untilNoneRuns()
    })

    test('is cancelled in the middle of its turn, and continues its session', async () => {
      const { id: cardId } = await real.create('Cancel')
      const ref = { projectId: real.projectId, cardId }
      const word = 'pineapple'
      await real.board.client.cards.update({ ...ref, prompt: `The word is ${word}.` })
      real.model.play({ text: 'I know the word.' })
      await real.start(cardId)
      await real.untilStatus(cardId, 'completed')
      await real.untilNoneRuns()
      if (resumesNextMinute) await sleep(60_000 - (Date.now() % 60_000))
      const before = real.model.asked.length
      real.model.play({ text: 'Going on.' })
      await real.board.client.agents.send({ ...ref, content: 'Which word?' })
      await real.untilStatus(cardId, 'completed')
      const isKnown = real.model.asked.slice(before).some(({ body }) => JSON.stringify(body).includes(word))
      const [first, ...others] = await real.board.client.agents.sessions(ref)
      const told = await real.board.client.agents.messages(ref)
      const isNew = others.length > 0 || told.some(({ content }) => content.includes('started a new conversation'))
      cell('resume', isKnown ? (isNew ? 'by the board' : 'native') : 'no')
      expect(told.filter(({ role, content }) => role === 'agent' && content.includes('I know the word.'))).toHaveLength(
        1,
      )
      expect(first!.summary).toContain('Going on.')
      await real.untilNoneRuns()
      real.model.play({ fails: 'stalls' })
      const asked = real.model.asked.length
      await real.board.client.agents.send({ ...ref, content: 'Wait.' })
      await eventually('the request', () => real.model.asked.length > asked, 60_000)
      await real.board.client.agents.cancel(ref)
      await real.untilNoneRuns()
      expect((await real.card(cardId)).status).toBe('cancelled')
      cell('cancel', 'yes')
    })

    test('ends with a killed server, and leaves its key in no file', async () => {
      const { id: cardId } = await real.create('Killed')
      real.model.play({ fails: 'stalls' })
      const asked = real.model.asked.length
      await real.start(cardId)
      await eventually('the request', () => real.model.asked.length > asked, 60_000)
      await real.board.end('SIGKILL')
      await real.board.start()
      await real.untilNoneRuns()
      expect(await real.card(cardId)).toMatchObject({ status: 'interrupted', statusReason: 'server_restart' })
      cell('kill -9', 'yes')
      const holders = spawnSync('grep', [
        '-rla',
        real.key,
        '--include=board.db*',
        '--include=*.log',
        '--include=*.out',
        real.dataDir,
      ])
      expect(holders.stdout.toString()).toBe('')
      cell('key', 'nowhere')
    })

    const underTest: AgentUnderTest = { id, traits, real: () => real, cell }
    proveChoices(underTest)
    proveQuestions(underTest)
    proveEndings(underTest)

    test('connects to no host beyond this machine', () => {
      expect(real.foreignConnections().sort()).toEqual([...foreign].sort())
      cell('other hosts', foreign.join(', ') || 'none')
    })
  })
}
