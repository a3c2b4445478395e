import { whyNotStarted } from '../../../src/client/agentStarts.ts'
import { cardOfText, cardText } from '../../cards/cardFile.ts'
import type { CardPlace } from '../../cards/cardApi.ts'
import { findOpenSteps, stepsTaken } from '../../cards/mergeSteps.ts'
import { changeFromPresent } from '../../cards/changeFromPresent.ts'
import { startCard } from '../../cards/cardRun.ts'
import type { Context } from '../../context/context.ts'
import type { Msg } from '../state/model.ts'
import { changePlan } from './plan.ts'
import { browseCard, runUserCommand } from './outside.ts'
import type { JobHooks, JobOf, ShownBoard } from './job.ts'

type Changes =
  | 'viewed'
  | 'move'
  | 'archive'
  | 'unarchive'
  | 'delete'
  | 'restore'
  | 'run'
  | 'cancel'
  | 'advance'
  | 'approve'
  | 'merge'
  | 'afterMerge'
  | 'label'
  | 'agent'
  | 'create'
  | 'plan'
  | 'comment'
  | 'writeComment'
  | 'send'
  | 'writePrompt'
  | 'edit'
  | 'browse'
  | 'copy'
  | 'copyBranch'
  | 'userCommand'
type ChangeTable<Types extends Changes> = { [Type in Types]: (job: JobOf<Type>) => Promise<Msg | void> }

/** The commands that change data, and those that use the terminal or external programs. */
export const changesOf = (context: Context, shown: ShownBoard, hooks: JobHooks): ChangeTable<Changes> => ({
  ...placingOf(context, shown),
  ...agentWorkOf(context, shown),
  ...writingOf(context, shown, hooks),
})

type Placing = 'viewed' | 'move' | 'archive' | 'unarchive' | 'delete' | 'restore'

/** Commands that move, delete or restore cards. */
function placingOf({ client }: Context, { projectId }: ShownBoard): ChangeTable<Placing> {
  const place = (cardId: string): CardPlace => ({ projectId, cardId })
  const toMoved = (moveId: number, version: number): Msg => ({ type: 'moved', moveId, version })
  return {
    viewed: ({ cardId }) => client.cards.view(place(cardId)),
    move: async ({ move: { id, cardId, columnId, position }, force }) => {
      const card = await client.cards.move({ ...place(cardId), columnId: columnId!, position, force })
      const reason = whyNotStarted(card)
      return {
        type: 'moved',
        moveId: id,
        version: card.version,
        ...(reason !== undefined && { notStarted: `No agent started on card ${cardId}: ${reason}` }),
      }
    },
    archive: async ({ move: { id, cardId } }) => toMoved(id, (await client.cards.archive(place(cardId))).version),
    // After the server has confirmed the deletion, no version of the card follows.
    delete: async ({ move: { id, cardId } }) => {
      await client.cards.delete(place(cardId))
      return toMoved(id, Infinity)
    },
    unarchive: async ({ cardId, columnId, position }) => {
      await client.cards.unarchive(place(cardId))
      await client.cards.move({ ...place(cardId), columnId, position })
    },
    restore: async ({ cardId, columnId, position }) => {
      await client.cards.restore(place(cardId))
      await client.cards.move({ ...place(cardId), columnId, position })
    },
  }
}

type AgentWork = 'run' | 'cancel' | 'advance' | 'approve' | 'merge' | 'afterMerge' | 'agent' | 'send'

function agentWorkOf(context: Context, { projectId }: ShownBoard): ChangeTable<AgentWork> {
  const { client } = context
  const place = (cardId: string): CardPlace => ({ projectId, cardId })
  return {
    run: ({ cardId, force }) => run(context, place(cardId), force),
    cancel: ({ cardId }) => client.agents.cancel(place(cardId)),
    advance: ({ cardId }) => client.agents.approveAuto(place(cardId)),
    approve: ({ cardId, type: _, ...answer }) => client.agents.approvePlan({ ...place(cardId), ...answer }),
    merge: async ({ cardId, squash }) => {
      const { merged, into, after } = await client.agents.merge({ ...place(cardId), squash })
      const done = merged
        ? `Merged card ${cardId} into ${into}.`
        : `${into} already contains the work of card ${cardId}.`
      const text = [done, ...stepsTaken(cardId, after), after.problem ?? []].flat().join(' ')
      return { type: 'merged', text, steps: { cardId, ...findOpenSteps(await client.cards.get(place(cardId)), after) } }
    },
    // The work is already merged: this request only runs the steps.
    afterMerge: async ({ steps: { cardId, ...steps } }) => {
      const { after } = await client.agents.merge({ ...place(cardId), ...steps })
      return { type: 'notice', text: [...stepsTaken(cardId, after), after.problem ?? []].flat().join(' ') }
    },
    agent: async ({ cardId, choice }) => {
      await client.cards.update({ ...place(cardId), ...choice })
      const { agent, profile, model } = choice
      const how = [profile === null ? '' : `, profile ${profile}`, model === null ? '' : `, model ${model}`].join('')
      return {
        type: 'notice',
        text: `Card ${cardId} now uses ${agent === null ? "the project's agent" : `the agent ${agent}${how}`}.`,
      }
    },
    send: async ({ cardId, content }) => {
      await client.agents.send({ ...place(cardId), content })
      return { type: 'notice', text: `Sent to the agent of card ${cardId}.` }
    },
  }
}

type Writing = Exclude<Changes, Placing | AgentWork>

function writingOf(context: Context, shown: ShownBoard, { suspendWhile, write, copy }: JobHooks): ChangeTable<Writing> {
  const { client } = context
  const { projectId } = shown
  const place = (cardId: string): CardPlace => ({ projectId, cardId })
  const copyText = (text: string): Msg => {
    copy(text)
    return { type: 'notice', text: `Copied ${text.split('\n')[0]!}` }
  }
  return {
    create: async ({ columnId, title, prompt }) => ({
      type: 'created',
      cardId: (await client.cards.create({ projectId, columnId, title, prompt, deferred: true })).id,
    }),
    label: ({ cardId, marks }) => label(context, place(cardId), marks),
    plan: ({ cardId, step }) => changePlan(client, place(cardId), step),
    comment: ({ cardId, content }) => comment(context, place(cardId), content),
    writeComment: async ({ cardId, content }) => {
      const written = await write(`comment-${cardId}.md`, content, true)
      if (written.text.trim() !== '') return written.save(text => comment(context, place(cardId), text.trim()))
      written.discard()
      return { type: 'notice', text: 'Nothing was written.' }
    },
    writePrompt: async ({ columnId, title, prompt }) => {
      const written = await write('new-card.md', cardText({ title, prompt }), true)
      const create = async (text: string) =>
        client.cards.create({ projectId, columnId, ...cardOfText(text), deferred: true })
      return { type: 'created', cardId: (await written.save(create)).id }
    },
    edit: ({ cardId }) => editCard(context, place(cardId), write),
    browse: ({ cardId }) => browseCard(context, place(cardId)),
    copy: async ({ text }) => copyText(text),
    copyBranch: async ({ cardId }) => {
      const { gitBranch } = await client.cards.get(place(cardId))
      return gitBranch === null ? { type: 'refused', text: `Card ${cardId} has no branch yet.` } : copyText(gitBranch)
    },
    userCommand: job => runUserCommand(context, shown, job, suspendWhile),
  }
}

/** Adds and removes labels of a card. Its other labels on the server are unchanged. */
async function label({ client }: Context, place: CardPlace, marks: Readonly<Record<string, boolean>>): Promise<void> {
  await changeFromPresent(client, place, ({ labels }) => {
    const kept = labels.filter(name => marks[name] !== false)
    const added = Object.keys(marks).filter(name => marks[name] && !kept.includes(name))
    return added.length === 0 && kept.length === labels.length ? undefined : { labels: [...kept, ...added] }
  })
}

/** Starts a card's agent: for the first time, resumed, or in a new session. */
async function run(context: Context, place: CardPlace, force?: boolean): Promise<Msg> {
  const { client } = context
  const begun = await startCard(context, place, force)
  const { lastAgentAction } = await client.cards.get(place)
  if (lastAgentAction?.type === 'not_started')
    return { type: 'refused', text: `Card ${place.cardId}: ${lastAgentAction.detail ?? 'its agent was not started.'}` }
  return { type: 'notice', text: `The agent of card ${place.cardId} ${begun}.` }
}

async function comment({ client }: Context, place: CardPlace, body: string): Promise<Msg> {
  await client.comments.create({ ...place, body })
  return { type: 'notice', text: `Commented on card ${place.cardId}.` }
}

async function editCard({ client }: Context, place: CardPlace, write: JobHooks['write']): Promise<Msg> {
  const card = await client.cards.get(place)
  const written = await write(`card-${place.cardId}.md`, cardText(card), false)
  if (!written.isNeeded) {
    written.discard()
    return { type: 'notice', text: 'Nothing was changed.' }
  }
  await written.save(async text =>
    client.cards.update({ ...place, ...cardOfText(text) }, { ifMatch: `"${card.version}"` }),
  )
  return { type: 'notice', text: `Card ${place.cardId} was changed.` }
}
