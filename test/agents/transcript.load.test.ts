import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queryMessages } from '../../src/agents/transcript/messageQuery.ts'
import { openTranscript } from '../../src/agents/transcript/agentTranscript.ts'
import type { TranscriptSession } from '../../src/agents/transcript/transcriptWriter.ts'
import { Problem } from '../../src/contract/errors.ts'
import { readSession } from '../../src/store/agents/sessions.ts'
import type { MessageView } from '../../src/views/agents.ts'
import { newCard, newSession, type TestCard } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { say, toolCall, toolUpdate } from '../support/agents/updates.ts'

let board: TestBoard
let card: TestCard

beforeAll(async () => {
  board = await startBoard()
  card = await newCard(board)
})
afterAll(() => board.close())

describe('a flood', () => {
  it.each([
    ['chunks', (at: number) => say(`${at} some more words\n`)],
    [
      'a mix',
      (at: number) =>
        at % 10 === 0
          ? toolCall(`c${at}`, { rawInput: { at } })
          : at % 10 === 1
            ? toolUpdate(`c${at - 1}`, { status: 'completed' })
            : say(`${at}\n`, at % 7 === 0 ? 'agent_thought_chunk' : 'agent_message_chunk'),
    ],
  ])('of 100,000 updates, %s, is stored completely in little memory', async (name, update) => {
    const session = await newSession(board, card)
    const transcript = openTranscript(board.server.app.db, session)
    const count = 100_000
    let peak = 0
    const start = process.memoryUsage().rss
    const startedAt = performance.now()
    for (let at = 0; at < count; at++) {
      const full = transcript.add(update(at))
      if (!full) continue
      await full
      peak = Math.max(peak, process.memoryUsage().rss)
    }
    await transcript.finishMessages()
    const rate = Math.round((count / (performance.now() - startedAt)) * 1000)
    console.log(`${name}: ${rate} updates a second, at most ${Math.round((peak - start) / 1e6)} MB more than before`)
    const { messages, toolCalls } = (await readSession(board.server.app.db, session.id))!
    const kept = await everything(session)
    expect(kept.length).toBe(messages + toolCalls)
    const expected = Array.from({ length: count }, (_, at) => update(at))
      .filter(({ sessionUpdate }) => sessionUpdate.endsWith('chunk'))
      .map(({ content }) => (content as { text: string }).text)
      .join('')
    expect(
      kept
        .filter(({ role }) => role !== 'tool')
        .map(({ content }) => content)
        .join(''),
    ).toBe(expected)
    expect(kept.filter(({ tool }) => tool).every(({ tool }) => tool!.status === 'completed')).toBe(true)
    expect(peak - start).toBeLessThan(300e6)
    expect(rate).toBeGreaterThan(5000 / slowdown())
  })
})

async function everything(session: TranscriptSession): Promise<MessageView[]> {
  const kept: MessageView[] = []
  for (;;) {
    const page = await queryMessages(board.server.app.db, {
      cardId: session.cardId,
      sessionId: session.id,
      since: Number(kept.at(-1)?.id ?? 0),
      limit: 1000,
    })
    if (page.length === 0) return kept
    kept.push(...page)
  }
}

describe('when nothing can be written', () => {
  it('a full disk or a busy database delays the agent', async () => {
    const { db } = board.server.app
    const session = await newSession(board, card)
    let failures = 3
    const transcript = openTranscript(
      {
        ...db,
        transaction: work => (failures-- > 0 ? Promise.reject(new Problem('DISK_FULL')) : db.transaction(work)),
      },
      session,
    )
    await transcript.add(say('Kept '))
    const full = transcript.add(say('x'.repeat(600_000)))
    expect(full).toBeInstanceOf(Promise)
    await full
    expect((await everything(session)).map(({ content }) => content).join('')).toBe(`Kept ${'x'.repeat(600_000)}`)
    expect(failures).toBeLessThan(0)
  })

  it('because the session is deleted, the agent gets the error', async () => {
    const session = await newSession(board, card)
    const transcript = openTranscript(board.server.app.db, session)
    await board.server.app.db.transaction(tx => tx.run('DELETE FROM agent_sessions WHERE id = ?', [session.id]))
    await transcript.add(say('Anybody?'))
    await expect(transcript.finishMessages()).rejects.toThrow(/FOREIGN KEY/)
    await expect(transcript.add(say('Hello?'))).rejects.toThrow(/FOREIGN KEY/)
  })
})
