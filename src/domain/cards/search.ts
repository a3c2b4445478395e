import type { InferOutput } from 'valibot'
import { Problem } from '../../contract/errors.ts'
import type { Hit } from '../../contract/cards/search.ts'
import type { Database } from '../../store/engine/database.ts'
import {
  findBoards,
  findCards,
  findRemarks,
  hasUnindexed,
  indexCards,
  indexRemarks,
  type CardHit,
  type NamedHit,
  type RemarkHit,
} from '../../store/cards/search.ts'
import type { VisibleProject } from '../../store/projects/projects.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import { list as listProjects } from '../projects/projects.ts'

const batchSize = 500
/**
 * The maximum number of batches that a search indexes before it answers. Recent writes are found, and an import does not delay
 * searches.
 */
const maxBatchesPerPass = 4
const excerptLength = 80

type Found = InferOutput<typeof Hit>
interface Query {
  q: string
  projectId?: number
  limit: number
}

/**
 * Searches everything that the caller can see. Projects and boards whose name matches come first. Cards with all words in the title follow,
 * then other cards, then cards with the words in a comment or in the last message of their agent. Each group of cards is sorted newest
 * first. If whole words find too few results, the last word is a prefix.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function find(db: Database, caller: Caller, { q, projectId, limit }: Query): Promise<Found[]> {
  const visible = await listProjects(db, caller)
  const projects = projectId === undefined ? visible : visible.filter(({ id }) => id === projectId)
  if (projectId !== undefined && projects.length === 0) throw new Problem('PROJECT_NOT_FOUND')
  await indexPendingCards(db, maxBatchesPerPass)
  const named = projects.filter(({ name }) => includes(name, q)).map(projectHit)
  const boards = await findBoards(
    db,
    projects.map(({ id }) => id),
    q.trim(),
    limit,
  )
  const words = q.match(/[\p{L}\p{N}\p{M}]+/gu)!
  const scope = projectId === undefined && seesAll(caller) ? undefined : projects
  const cards = await cardsWith(db, words, scope, limit)
  const found = [...named, ...boards.map(boardHit), ...cards.map(card => cardHit(card, words))].slice(0, limit)
  if (found.length === limit || projects.length === 0) return found
  const remarks = await remarksWith(db, words, scope, { limit, messages: readsTranscripts(caller) })
  const others = remarks.filter(({ id }) => !cards.some(card => card.id === id))
  return [...found, ...others.map(remark => remarkHit(remark, words))].slice(0, limit)
}

/** Indexes new and changed cards, comments and messages batch by batch, so that other requests run in between. */
export async function indexPendingCards(db: Database, maxBatches = Infinity, signal?: AbortSignal): Promise<void> {
  for (let batch = 0; batch < maxBatches && !signal?.aborted && (await hasUnindexed(db)); batch++)
    await db.transaction(async tx => (await indexCards(tx, batchSize)) + (await indexRemarks(tx, batchSize)))
}

async function cardsWith(
  db: Database,
  words: readonly string[],
  projects: readonly VisibleProject[] | undefined,
  limit: number,
): Promise<CardHit[]> {
  if (projects?.length === 0) return []
  const scope = scopeOf(projects)
  const found = new Map<number, CardHit>()
  for (const terms of termsOf(words)) {
    for (const [where, fields] of [
      ['card_titles', '{title}'],
      ['card_texts', '{title prompt labels}'],
    ] as const) {
      if (found.size >= limit) break
      for (const card of await findCards(db, where, `${scope}${fields} : (${terms.join(' AND ')})`, limit))
        found.set(card.id, card)
    }
  }
  return [...found.values()].slice(0, limit)
}

/** At most `limit` cards by their comments and messages, each once. */
async function remarksWith(
  db: Database,
  words: readonly string[],
  projects: readonly VisibleProject[] | undefined,
  { limit, messages }: { limit: number; messages: boolean },
): Promise<RemarkHit[]> {
  const found = new Map<number, RemarkHit>()
  for (const terms of termsOf(words)) {
    if (found.size >= limit) break
    const expression = `${scopeOf(projects)}{body} : (${terms.join(' AND ')})`
    for (const hit of await findRemarks(db, expression, { limit: limit * remarksPerCard, messages }))
      if (!found.has(hit.id)) found.set(hit.id, hit)
  }
  return [...found.values()]
}

/** Several comments of a card can match, of which the newest is shown. */
const remarksPerCard = 5

const scopeOf = (projects: readonly VisibleProject[] | undefined) =>
  projects ? `scope : (${projects.map(({ id }) => `p${id}`).join(' OR ')}) AND ` : ''

/** Full-text terms: whole words first, then with the last word as a prefix. */
function termsOf(words: readonly string[]): readonly string[][] {
  const whole = words.map(word => `"${word}"`)
  return [whole, [...whole.slice(0, -1), `${whole.at(-1)!}*`]]
}

/** The text around the first word that begins with a search term. */
function excerptOf(text: string, words: readonly string[]): string | null {
  const at = text.search(new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})`, 'iu'))
  if (at < 0) return null
  const start = Math.max(0, at - excerptLength / 4)
  const excerpt = text
    .slice(start, start + excerptLength)
    .replace(/\s+/g, ' ')
    .trim()
    .toWellFormed()
  return `${start > 0 ? '…' : ''}${excerpt}${start + excerptLength < text.length ? '…' : ''}`
}

/** Whether nothing on the server is hidden from the caller. A key can be limited to a part of the server. */
const seesAll = (caller: Caller) => isAdmin(caller) && (!caller.key || caller.key.scope === 'server')
/** Transcripts require a permission of a key that the search itself does not. */
const readsTranscripts = ({ key }: Caller) => !key || key.permissions.includes('agents.read')
const includes = (name: string, part: string) => name.toLowerCase().includes(part.trim().toLowerCase())
const nowhere = {
  excerpt: null,
  columnName: null,
  status: null,
  archived: false,
  foundIn: 'name',
  author: null,
  commentId: null,
} as const
const projectHit = ({ id, name }: VisibleProject): Found => ({
  type: 'project',
  id: String(id),
  projectId: String(id),
  projectName: name,
  title: name,
  ...nowhere,
})
const boardHit = ({ id, projectId, projectName, title }: NamedHit): Found => ({
  type: 'board',
  id: String(id),
  projectId: String(projectId),
  projectName,
  title,
  ...nowhere,
})
const cardHit = (
  { id, projectId, projectName, title, prompt, columnName, status, archivedAt }: CardHit,
  words: readonly string[],
): Found => ({
  type: 'card',
  id: String(id),
  projectId: String(projectId),
  projectName,
  title,
  excerpt: excerptOf(prompt, words),
  columnName,
  status,
  archived: archivedAt !== null,
  foundIn: 'card',
  author: null,
  commentId: null,
})
const remarkHit = ({ commentId, authorName, body, ...card }: RemarkHit, words: readonly string[]): Found => ({
  ...cardHit({ ...card, prompt: body }, words),
  foundIn: commentId === null ? 'message' : 'comment',
  author: authorName,
  commentId: commentId === null ? null : String(commentId),
})
