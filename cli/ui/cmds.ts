import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiFailure } from '../../src/client/index.ts'
import type { CardPlace } from '../cardRoutes.ts'
import { cardOfText, cardText } from '../cardFile.ts'
import { startCard } from '../cardRun.ts'
import type { Context } from '../context.ts'
import { edit } from '../editor.ts'
import { describe } from '../errors.ts'
import { exitOf } from '../exit.ts'
import type { Cmd, Msg } from './state/model.ts'
import { messagesAtOnce } from './state/opened.ts'

type Job = Exclude<Cmd, { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }>

export interface CmdHooks {
  dispatch: (msg: Msg) => void
  /** Gives the terminal to what is done meanwhile. */
  lend: <T>(work: () => Promise<T>) => Promise<T>
}
export interface CmdRunner {
  run(job: Job): void
  close(): void
}

const retryMs = 1000

/** Runs what the model asks for and dispatches what came of it. Changes reach the server in the order in which they were asked for. */
export function createCmdRunner(
  context: Context,
  projectId: string,
  boardId: () => string,
  { dispatch, lend }: CmdHooks,
): CmdRunner {
  let isClosed = false
  let lastChange: Promise<void> = Promise.resolve()
  const refused = (error: unknown, moveId?: number) =>
    dispatch({ type: 'refused', moveId, text: sentence(describe(error).message) })
  const reads = readsOf(context, projectId, boardId)
  const changes = changesOf(context, projectId, lend)
  const read = (ask: () => Promise<Msg>) =>
    void retryWhileUnreachable(ask, () => isClosed).then(
      msg => {
        if (!isClosed) dispatch(msg)
      },
      error => {
        if (!isClosed) refused(error)
      },
    )
  const change = (act: () => Promise<Msg | void>, moveId?: number) => {
    lastChange = lastChange
      .then(() => retryOnRateLimit(act))
      .then(
        msg => {
          if (msg) dispatch(msg)
        },
        error => refused(error, moveId),
      )
  }
  return {
    run: job => {
      if (job.type === 'settings')
        void readSettings(context).then(
          msg => {
            if (!isClosed) dispatch(msg)
          },
          () => {
            /* They are read again before long. */
          },
        )
      else if (job.type in reads) read((reads[job.type as keyof typeof reads] as (job: Job) => () => Promise<Msg>)(job))
      else
        change(
          () => (changes[job.type as keyof typeof changes] as (job: Job) => Promise<Msg | void>)(job),
          'move' in job ? job.move.id : undefined,
        )
    },
    close: () => {
      isClosed = true
    },
  }
}

type Reads = 'page' | 'columns' | 'open' | 'older' | 'diff' | 'find' | 'question'
type Of<Type extends Job['type']> = Extract<Job, { type: Type }>

function readsOf(
  { client }: Context,
  projectId: string,
  boardId: () => string,
): { [Type in Reads]: (job: Of<Type>) => () => Promise<Msg> } {
  return {
    page:
      ({ request, columnId, offset, limit }) =>
      async () => ({
        type: 'page',
        page: {
          request,
          columnId,
          offset,
          limit,
          cards: await client.cards.list({ projectId, columnId, offset, limit }),
        },
      }),
    columns: () => async () => {
      const boards = await client.boards.list({ projectId })
      const board = boards.find(({ id }) => id === boardId()) ?? boards[0]
      return {
        type: 'columns',
        boards,
        boardId: board?.id ?? '',
        columns: board ? await client.columns.list({ projectId, boardId: board.id }) : [],
      }
    },
    open:
      ({ cardId }) =>
      async () => {
        const place = { projectId, cardId }
        const [card, sessions, messages] = await Promise.all([
          client.cards.get(place),
          client.agents.sessions(place),
          client.agents.messages({ ...place, limit: messagesAtOnce }),
        ])
        return { type: 'opened', card, sessions, messages }
      },
    older:
      ({ cardId, before }) =>
      async () => ({
        type: 'older',
        cardId,
        messages: await client.agents.messages({ projectId, cardId, before, limit: messagesAtOnce }),
      }),
    diff:
      ({ cardId }) =>
      async () => ({
        type: 'diffed',
        cardId,
        diff: await client.agents.diff({ projectId, cardId }).catch(error => orReason(error)),
      }),
    find:
      ({ cardId }) =>
      async () => ({ type: 'found', card: await client.cards.get({ projectId, cardId }) }),
    question:
      ({ cardId }) =>
      async () => ({
        type: 'question',
        cardId,
        text:
          (await client.cards.get({ projectId, cardId })).lastAgentAction?.detail ??
          'The agent asks for your approval.',
      }),
  }
}

function changesOf(
  context: Context,
  projectId: string,
  lend: CmdHooks['lend'],
): { [Type in Exclude<Job['type'], Reads | 'settings'>]: (job: Of<Type>) => Promise<Msg | void> } {
  const { client } = context
  const place = (cardId: string): CardPlace => ({ projectId, cardId })
  return {
    viewed: ({ cardId }) => client.cards.view(place(cardId)),
    move: async ({ move: { id, cardId, columnId, position } }) => ({
      type: 'moved',
      moveId: id,
      version: (await client.cards.move({ ...place(cardId), columnId: columnId!, position })).version,
    }),
    archive: async ({ move: { id, cardId } }) => ({
      type: 'moved',
      moveId: id,
      version: (await client.cards.archive(place(cardId))).version,
    }),
    unarchive: async ({ cardId, columnId, position }) => {
      await client.cards.unarchive(place(cardId))
      await client.cards.move({ ...place(cardId), columnId, position })
    },
    run: ({ cardId }) => run(context, place(cardId)),
    cancel: ({ cardId }) => client.agents.cancel(place(cardId)),
    advance: ({ cardId }) => client.agents.approveAuto(place(cardId)),
    approve: ({ cardId, approved, feedback }) => client.agents.approvePlan({ ...place(cardId), approved, feedback }),
    create: async ({ columnId, title, prompt }) => ({
      type: 'created',
      cardId: (await client.cards.create({ projectId, columnId, title, prompt, deferred: true })).id,
    }),
    send: async ({ cardId, content }) => {
      await client.agents.send({ ...place(cardId), content })
      return { type: 'said', text: `Sent to the agent of card ${cardId}.` }
    },
    writePrompt: ({ columnId, title, prompt }) => lend(() => writePrompt(context, projectId, columnId, title, prompt)),
    edit: ({ cardId }) => lend(() => editCard(context, place(cardId))),
  }
}

async function readSettings({ client }: Context): Promise<Msg> {
  const [settings, shortcuts] = await Promise.all([client.settings.getUser(), client.settings.getShortcuts()])
  return { type: 'settings', settings, shortcuts }
}

/** A server that is away or busy is asked again. */
async function retryWhileUnreachable<T>(read: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (exitOf(error) !== 'unreachable' || isOver()) throw error
      await sleep(retryMs, undefined, { ref: false })
    }
  }
}

/** A server that is asked too often is asked again when it says so. */
async function retryOnRateLimit<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const { status, retryAfterSecs } = error as ApiFailure
      if (status !== 429 || retryAfterSecs === undefined) throw error
      await sleep(retryAfterSecs * 1000, undefined, { ref: false })
    }
  }
}

const sentence = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`

/** What the server says instead of a diff. */
function orReason(error: unknown): string {
  if (exitOf(error) === 'unreachable') throw error
  return sentence(describe(error).message)
}

/** Starts a card's agent: for the first time, where it broke off, or anew. */
async function run(context: Context, place: CardPlace): Promise<Msg> {
  const { client } = context
  const begun = await startCard(context, place)
  const { lastAgentAction } = await client.cards.get(place)
  if (lastAgentAction?.type === 'not_started')
    return { type: 'refused', text: `Card ${place.cardId}: ${lastAgentAction.detail ?? 'its agent was not started.'}` }
  return { type: 'said', text: `The agent of card ${place.cardId} ${begun}.` }
}

async function editCard({ client }: Context, place: CardPlace): Promise<Msg> {
  const card = await client.cards.get(place)
  const before = cardText(card)
  let text = 'Nothing was changed.'
  await edit(before, `card-${place.cardId}.md`, async after => {
    if (after === before) return
    await client.cards.update({ ...place, ...cardOfText(after) }, { ifMatch: `"${card.version}"` })
    text = `Card ${place.cardId} was changed.`
  })
  return { type: 'said', text }
}

async function writePrompt(
  { client }: Context,
  projectId: string,
  columnId: string,
  title: string,
  prompt: string,
): Promise<Msg> {
  let cardId = ''
  await edit(cardText({ title, prompt }), 'new-card.md', async after => {
    cardId = (await client.cards.create({ projectId, columnId, ...cardOfText(after), deferred: true })).id
  })
  return { type: 'created', cardId }
}
