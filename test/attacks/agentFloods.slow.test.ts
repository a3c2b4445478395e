import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mintAgentToken } from '../../src/identity/agentTokens.ts'
import type { ServerConfig } from '../../src/config/server.ts'
import { readLatestSession } from '../../src/store/agents/sessions.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import type { Reply } from '../support/servers/testBoard.ts'

const [cards, cardBytes, withinMs] = [600, 60_000, 3000]

describe.each([
  ['with the limits of a new server', {}, 300],
  ['without a limit of requests', { agentRequestsPerMinute: Infinity }, Infinity],
] as Array<[string, Partial<ServerConfig>, number]>)('an agent at work, %s', (_, config, perMinute) => {
  let board: AgentBoard
  let cardId: string
  beforeAll(async () => {
    board = await startFolderBoard({ forever: { fixture: 'forever' } }, config)
    cardId = (await board.start('forever')).id
    await board.untilStatus(cardId, 'running')
  })
  afterAll(() => board.close())

  /** Another token of the running session, like the ones its tools and shell commands have. */
  const sessionToken = async () => {
    const { app } = board.server
    const { id: sessionId } = (await readLatestSession(app.db, Number(cardId)))!
    return (await app.db.transaction(tx => mintAgentToken(tx, { cardId: Number(cardId), sessionId, ttlSecs: 600 })))
      .token
  }
  const createCard = (token: string, at: number) =>
    board.request('POST', '/api/mcp', {
      token,
      body: {
        jsonrpc: '2.0',
        id: at,
        method: 'tools/call',
        params: { name: 'create_card', arguments: { title: `Flood ${at}`, prompt: 'x'.repeat(cardBytes) } },
      },
    })
  const answerOf = ({ status, body }: Reply): string => {
    if (status !== 200) return String(status)
    const { isError, content } = body.result
    return isError ? JSON.parse(content[0].text).error.code : 'created'
  }

  it(`that creates ${cards} cards of ${cardBytes / 1000} KB in ${withinMs / 1000} seconds with several tokens creates 50`, async () => {
    const tokens = await Promise.all(Array.from({ length: 4 }, sessionToken))
    const startedAtMs = performance.now()
    const replies = await Promise.all(Array.from({ length: cards }, (_, at) => createCard(tokens[at % 4]!, at)))
    const tookMs = performance.now() - startedAtMs
    const answers = replies.map(answerOf)
    const count = (wanted: string) => answers.filter(answer => answer === wanted).length
    const passed = Math.min(cards, perMinute)
    // The agent has also sent some requests.
    expect(count('429')).toBeGreaterThanOrEqual(cards - passed)
    expect(count('429')).toBeLessThan(cards - passed + 50)
    expect(count('created')).toBe(50)
    expect(count('CARD_LIMIT_REACHED')).toBe(cards - 50 - count('429'))
    expect(await board.server.app.db.get("SELECT count(*) AS total FROM cards WHERE title LIKE 'Flood %'")).toEqual({
      total: 50,
    })
    const refused = replies.find(({ status }) => status === 429)
    if (perMinute < Infinity) expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(tookMs).toBeLessThan(60_000)
    // Users can continue to work.
    expect(await board.client.cards.create({ projectId: board.projectId, title: 'Of a person' })).toMatchObject({
      status: 'idle',
    })
  })
})
