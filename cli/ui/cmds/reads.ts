import { questionLines } from '../../agents/questions.ts'
import type { Context } from '../../context/context.ts'
import { exitOf } from '../../failures/failure.ts'
import type { Msg } from '../state/model.ts'
import { messagesAtOnce } from '../../../src/boardModel/openedCard.ts'
import { commentsAtOnce } from '../state/comments.ts'
import { previewMessages } from '../state/preview.ts'
import { reasonOf } from './reason.ts'
import type { Job, JobOf, ShownBoard } from './job.ts'

type Reads =
  | 'page'
  | 'columns'
  | 'settings'
  | 'open'
  | 'preview'
  | 'older'
  | 'diff'
  | 'comments'
  | 'people'
  | 'branches'
  | 'find'
  | 'question'
  | 'projects'
  | 'agents'
  | 'slashCommands'
  | 'search'

/** Background reads, whose failures are not shown. */
export const isQuiet = ({ type }: Job): boolean =>
  type === 'settings' || type === 'preview' || type === 'search' || type === 'slashCommands'

/** The commands that read from the server. */
export function readsOf(context: Context, shown: ShownBoard): { [Type in Reads]: (job: JobOf<Type>) => Promise<Msg> } {
  const { client } = context
  const { projectId } = shown
  return {
    page: async ({ request, columnId, offset, limit }) => {
      const cards = await client.cards.list({ projectId, columnId, offset, limit })
      return { type: 'page', page: { request, columnId, offset, limit, cards } }
    },
    columns: () => readColumns(context, shown),
    settings: async () => {
      const [settings, shortcuts] = await Promise.all([client.settings.getUser(), client.settings.getShortcuts()])
      return { type: 'settings', settings, shortcuts }
    },
    open: async ({ cardId }) => ({ type: 'opened', ...(await readCard(context, shown, cardId, messagesAtOnce)) }),
    preview: async ({ cardId }) => ({
      type: 'previewed',
      ...(await readCard(context, shown, cardId, previewMessages)),
    }),
    older: async ({ cardId, before }) => {
      const messages = await client.agents.messages({ projectId, cardId, before, limit: messagesAtOnce })
      return { type: 'older', cardId, messages }
    },
    diff: async ({ cardId }) => {
      const diff = await client.agents.diff({ projectId, cardId }).catch(error => orReason(error))
      return { type: 'diffed', cardId, diff }
    },
    comments: async ({ cardId }) => {
      const read = client.comments.list({ projectId, cardId, limit: commentsAtOnce })
      return { type: 'commented', cardId, comments: await read.then(({ items }) => items, orReason) }
    },
    branches: async ({ cardIds }) => {
      const read = async (cardId: string) => ({
        cardId,
        branch: (await client.cards.get({ projectId, cardId })).gitBranch,
      })
      const [home] = await client.branches.repositories({ projectId, cardId: cardIds[0]! })
      return { type: 'branches', branches: await Promise.all(cardIds.map(read)), into: home?.mergesInto ?? null }
    },
    people: async () => ({ type: 'people', people: await client.members.people({ projectId }) }),
    find: ({ cardId }) => findCard(context, shown, cardId),
    question: ({ cardId }) => readQuestion(context, shown, cardId),
    projects: async () => ({
      type: 'projects',
      projects: (await client.projects.list()).map(({ id, name }) => ({ id, name })),
    }),
    agents: async () => {
      const [agents, agentProfiles] = await Promise.all([client.agents.providers(), client.agentProfiles.list()])
      return { type: 'agents', agents, agentProfiles }
    },
    slashCommands: async ({ cardId }) => ({
      type: 'slashCommands',
      cardId,
      commands: await client.agents.slashCommands({ projectId }),
    }),
    search: async ({ text }) => ({ type: 'hits', text, hits: await client.search.find({ q: text, limit: 20 }) }),
  }
}

/** The oldest question of a card's agent. */
async function readQuestion({ client }: Context, { projectId }: ShownBoard, cardId: string): Promise<Msg> {
  const { questions } = await client.agents.get({ projectId, cardId })
  const [first] = questions
  const more = questions.length > 1 ? ` (the first of ${questions.length} questions)` : ''
  if (!first) return { type: 'question', cardId, lines: ['The question is no longer open.'], options: [] }
  const [title, ...lines] = questionLines(first)
  return {
    type: 'question',
    cardId,
    requestId: first.requestId,
    lines: [`${title}${more}`, ...lines],
    options: first.options,
    takesText: first.takesText,
  }
}

async function readColumns({ client }: Context, { projectId, boardId }: ShownBoard): Promise<Msg> {
  const boards = await client.boards.list({ projectId })
  const board = boards.find(({ id }) => id === boardId) ?? boards[0]
  const columns = board ? await client.columns.list({ projectId, boardId: board.id }) : []
  return { type: 'columns', projectId, boards, boardId: board?.id ?? '', columns }
}

async function readCard({ client }: Context, { projectId }: ShownBoard, cardId: string, limit: number) {
  const place = { projectId, cardId }
  const [card, sessions, messages] = await Promise.all([
    client.cards.get(place),
    client.agents.sessions(place),
    client.agents.messages({ ...place, limit }),
  ])
  return { card, sessions, messages }
}

/** A card by its ID, with its project if it is not the shown one. */
async function findCard({ client }: Context, { projectId }: ShownBoard, cardId: string): Promise<Msg> {
  const card = await client.cards.getFlat({ id: cardId })
  if (card.projectId === projectId) return { type: 'found', card }
  const { id, name } = await client.projects.get({ id: card.projectId })
  return { type: 'found', card, project: { id, name } }
}

/** Returns the server's error message, which is shown instead of the result. @throws the error if the server is unreachable */
function orReason(error: unknown): string {
  if (exitOf(error) === 'unreachable') throw error
  return reasonOf(error)
}
