import { fixture } from './agents/agent.ts'
import { configure } from './agents/agentBoard.ts'
import { eventually, type TestBoard } from './helper.ts'
import type { Seed } from './seed.ts'

/** Inputs of the rows that steer agents, for `examples`. */
export const agentExamples = ({ projectId, cardId, preSessionId: sessionId }: Seed) => {
  const [card, talk] = [{ projectId, cardId }, { projectId, sessionId }]
  return {
    agents: {
      providers: {}, get: card, cancel: card, sessions: card, history: card, messages: { ...card, since: '2026-01-01T00:00:00.000Z', limit: 10 }, send: { ...card, content: 'Go on.' }, retry: card, relaunch: card, relay: card,
      approvePlan: { ...card, approved: false, feedback: 'Not so.' }, summary: card, active: { projectId }, slashCommands: { projectId }, token: { ...card, ttlSecs: 60 }, approveAuto: card, diff: card, merge: { ...card, squash: true },
    },
    preSessions: { start: card, send: { ...talk, content: 'Go on.' }, accept: talk, cancel: talk, messages: talk },
    assistant: { get: { projectId }, send: { projectId, content: 'Hello?' } },
    mcp: { call: { jsonrpc: '2.0' as const, id: 1, method: 'ping' } },
  }
}

/** Agents for every example: what a project uses unless a row needs another. */
export function configureExamples(dataDir: string): void {
  const quick = { protocol: 'command' as const, command: ['/bin/echo', 'Done.'] }
  configure(dataDir, { quick, writing: { fixture: 'well-behaved' }, forever: { fixture: 'forever' }, planning: { fixture: 'plan-approval' }, relaying: { fixture: 'filling-context', env: { FIXTURE_USED: '10' } } }, fixture('examples'))
}

/** What a row needs beside its seed: an agent at work, one that asks, or work that is done. */
export async function prepareExample(name: string, { client }: Pick<TestBoard, 'client'>, { projectId, cardId, activeColumnId }: Seed): Promise<void> {
  const needed: Record<string, [agent: string, status: string]> = {
    'agents.cancel': ['forever', 'running'], 'external.cancelAgent': ['forever', 'running'], 'agents.relay': ['relaying', 'running'], 'agents.approvePlan': ['planning', 'waiting'],
    'agents.approveAuto': ['quick', 'completed'], 'agents.merge': ['writing', 'completed'], 'agents.token': ['quick', 'completed'],
  }
  if (!needed[name]) return
  const [agent, status] = needed[name]
  await client.cards.update({ projectId, cardId, agent })
  await client.cards.move({ projectId, cardId, columnId: activeColumnId })
  await eventually(`a card for ${name}`, async () => (await client.cards.get({ projectId, cardId })).status === status, 15_000)
}
