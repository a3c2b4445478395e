import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const silenceMs = 1500
const folder = mkdtempSync(join(tmpdir(), 'board-silence-'))
const go = join(folder, 'go')
const waits = (kind: string, more: Record<string, string> = {}) => ({
  fixture: 'waits-for-model',
  env: { FIXTURE_WAIT: kind, ...more },
})

let board: AgentBoard
let patient: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard(
    {
      silent: waits('silent'),
      stderr: waits('stderr'),
      codex: waits('codex'),
      copilot: waits('copilot'),
      late: waits('late'),
      tool: waits('tool', { FIXTURE_MS: String(2 * silenceMs) }),
      question: waits('question'),
    },
    { agentQuietMs: 200, agentSilenceMs: silenceMs, agentSlots: 10 },
  )
  patient = await startFolderBoard(
    { recovers: waits('recovers', { FIXTURE_GO: go }), codex: waits('codex') },
    { agentQuietMs: 200, agentSilenceMs: 0 },
  )
})
afterAll(async () => {
  await Promise.all([board.close(), patient.close()])
  rmSync(folder, { recursive: true, force: true })
})

const sessionOf = ({ client, projectId }: AgentBoard, cardId: string) => client.agents.get({ projectId, cardId })
const failureOf = async (agent: string) => {
  const { id } = await board.start(agent)
  const { statusReason, lastAgentAction } = await board.untilStatus(id, 'failed')
  expect(await sessionOf(board, id)).toMatchObject({ silentSince: null, retrying: null })
  return [statusReason, lastAgentAction?.detail]
}

test('an agent that says nothing is shown to be silent, and speaks again', async () => {
  const { id } = await patient.start('recovers')
  const silent = await eventually('the silence', async () => {
    const session = await sessionOf(patient, id)
    return session.silentSince === null ? undefined : session
  })
  expect(silent).toMatchObject({ status: 'running', retrying: null })
  expect((await patient.card(id)).lastAgentAction).toMatchObject({
    type: 'running',
    detail: expect.stringMatching(/^It has said nothing since 20.* UTC: it may be waiting for its model\.$/),
  })
  writeFileSync(go, '')
  await eventually('its word', async () => (await sessionOf(patient, id)).silentSince === null)
  expect(await patient.card(id)).toMatchObject({ status: 'running', lastAgentAction: { detail: null } })
  writeFileSync(`${go}.end`, '')
  await patient.untilStatus(id, 'completed')
})

test('what an agent says of its own retries is shown while it goes on', async () => {
  const { id } = await patient.start('codex')
  await eventually('the retry', async () => (await sessionOf(patient, id)).retrying)
  expect((await sessionOf(patient, id)).retrying).toMatch(/^Reconnecting\.\.\. 1\/5 \(exceeded retry limit/)
  expect((await patient.card(id)).lastAgentAction?.detail).toMatch(/^It tries again by itself: Reconnecting/)
  await patient.client.agents.cancel({ projectId: patient.projectId, cardId: id })
  expect(await sessionOf(patient, id)).toMatchObject({ retrying: null, silentSince: null })
})

test('a turn without a sign of the model ends after the bound, as a usage limit unless the agent has named something else', async () => {
  const [silent, stderr, codex, copilot, late] = await Promise.all(
    ['silent', 'stderr', 'codex', 'copilot', 'late'].map(failureOf),
  )
  expect(silent).toEqual([
    'usage_limit',
    expect.stringMatching(/^The agent has shown no sign of its model for \d+ seconds, so its turn was ended\.$/),
  ])
  expect(stderr).toEqual(['usage_limit', expect.stringContaining('It wrote: Attempt 1 failed with status 429.')])
  expect(codex).toEqual(['usage_limit', expect.stringContaining('It said: Reconnecting... 1/5')])
  expect(copilot).toEqual(['usage_limit', expect.stringContaining('It said: Info: Request failed')])
  expect(late).toEqual(['usage_limit', expect.any(String)])
  await board.untilNoneRuns()
})

test('a tool may run, and a question wait, for longer than the bound', async () => {
  const [tool, question] = [await board.start('tool'), await board.start('question')]
  await board.untilStatus(question.id, 'waiting')
  await board.untilStatus(tool.id, 'completed')
  expect(await sessionOf(board, question.id)).toMatchObject({ status: 'waiting', silentSince: null })
  await board.client.agents.approvePlan({ projectId: board.projectId, cardId: question.id, approved: true })
  await board.untilStatus(question.id, 'completed')
})

test('the end of a limit that the bound has found is kept', async () => {
  const { id } = await board.start('codex')
  await board.untilStatus(id, 'failed')
  const { limitEndsAt } = await sessionOf(board, id)
  expect((Date.parse(limitEndsAt!) - Date.now()) / 3_600_000).toBeCloseTo(2, 1)
})
