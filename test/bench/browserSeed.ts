import { join } from 'node:path'
import { indexPendingCards } from '../../src/domain/cards/search.ts'
import type { Transaction } from '../../src/store/engine/database.ts'
import { insertSession } from '../../src/store/agents/sessions.ts'
import { configureAgents, flooder, seedFolder, seedProject, signIn, type Agent, type SeededProject } from './seed.ts'

/** A board for a browser: one column with many cards, one with few cards and agents, and short and long transcripts. */
export interface BrowserSeed {
  dataDir: string
  token: string
  many: SeededProject
  few: SeededProject
  transcripts: { short: Transcript; long: Transcript }
}
/** A card with many messages, and the id of the last one. */
export interface Transcript {
  projectId: string
  cardId: string
  lastId: number
}

export const [manyCards, fewCards] = [10_000, 100]
export const [longTranscript, shortTranscript] = [100_000, 100]

export async function seedForBrowser(folder: string, agent: Agent): Promise<BrowserSeed> {
  const dataDir = join(folder, 'browser')
  const seeded = await seedFolder(dataDir, async app => {
    const many = await app.db.transaction(tx => seedProject(tx, manyCards, folder))
    const few = await app.db.transaction(tx => seedProject(tx, fewCards, folder))
    const transcript = (card: number, messages: number) =>
      app.db.transaction(tx => seedTranscript(tx, few.projectId, few.firstCardId + card, messages))
    const [short, long] = [await transcript(0, shortTranscript), await transcript(1, longTranscript)]
    await indexPendingCards(app.db)
    return { token: await signIn(app), many, few, transcripts: { short, long } }
  })
  configureAgents(dataDir, { [flooder]: agent })
  return { dataDir, ...seeded }
}

/** Inserts the transcript of an ended agent, a few lines of Markdown per message. */
async function seedTranscript(tx: Transaction, projectId: number, cardId: number, count: number): Promise<Transcript> {
  const sessionId = await insertSession(tx, {
    projectId,
    cardId,
    purpose: 'work',
    agent: 'flooder',
    status: 'completed',
    prompt: 'Speak.',
    messages: count,
    startedAt: tx.now,
    endedAt: tx.now,
  })
  const numbers = 'WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)'
  const { lastId } = await tx.run(
    `INSERT INTO transcript_messages (session_id, card_id, role, at) ${numbers} SELECT ?, ?, iif(at % 20 = 1, 'user', 'agent'), ? FROM n`,
    [count, sessionId, cardId, tx.now],
  )
  await tx.run(
    'INSERT INTO transcript_pieces (message_id, number, data) SELECT id, 1, ? FROM transcript_messages WHERE session_id = ?',
    [JSON.stringify(said), sessionId],
  )
  return { projectId: String(projectId), cardId: String(cardId), lastId }
}

const said = `I looked at **three places** where the total is added up:

- \`src/cart/total.ts\` rounds each line by itself,
- \`src/cart/tax.ts\` rounds the sum once more.

\`\`\`ts
export const total = (lines: readonly Line[]) => lines.reduce((sum, { price }) => sum + price, 0)
\`\`\`
`
