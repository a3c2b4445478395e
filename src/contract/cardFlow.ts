import * as v from 'valibot'
import { Force, ForceStart } from './cardOrder.ts'
import { CardDetail, Pipeline } from './cardRecords.ts'
import { Name, Position, Prompt, refTo } from './fields.ts'
import { ofCard } from './notFound.ts'
import { get, member, patch, post, put, viewer } from './route.ts'

/** With `mustStart` a move that cannot start the card's agent moves nothing. */
const MoveCard = v.strictObject({
  columnId: refTo('COLUMN_NOT_FOUND'),
  position: v.optional(Position),
  mustStart: v.optional(v.boolean(), false),
  force: Force,
})
const SetPipeline = v.strictObject({
  steps: v.pipe(
    v.array(
      v.strictObject({
        columnId: refTo('COLUMN_NOT_FOUND'),
        columnName: v.optional(Name),
        prompt: v.optional(Prompt),
        approval: v.optional(v.picklist(['auto', 'manual'], 'must be auto or manual'), 'auto'),
      }),
    ),
    v.maxLength(100),
  ),
})

/** How a card goes through its columns and its pipeline. */
export const cardFlow = {
  move: patch('/api/projects/{projectId}/cards/{cardId}/move', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT', 'CARD_BLOCKED'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts', detail: ['columnId'] },
    at: 'machine or here',
    who: member('cards.move'),
    ifMatch: true,
    summary: 'Move a card; into an active column that starts its agent, for a key with agents.run or scripts.run only',
    input: MoveCard,
    output: CardDetail,
    emits: ['card.moved', 'card.updated', 'agent.status'],
  }),
  archive: post('/api/projects/{projectId}/cards/{cardId}/archive', {
    notFound: ofCard,
    who: member('agents.archive'),
    summary: 'Archive a card',
    output: CardDetail,
    emits: ['card.archived'],
  }),
  unarchive: post('/api/projects/{projectId}/cards/{cardId}/unarchive', {
    notFound: ofCard,
    at: 'machine or here',
    who: member('agents.archive'),
    summary: 'Bring an archived card back',
    output: CardDetail,
    emits: ['card.unarchived'],
  }),
  complete: post('/api/projects/{projectId}/cards/{cardId}/complete', {
    notFound: ofCard,
    at: 'machine or here',
    who: member('cards.move'),
    summary: 'Move a card to the first done column',
    emits: ['card.completed', 'card.moved'],
  }),
  activate: post('/api/projects/{projectId}/cards/{cardId}/activate', {
    fails: ['CARD_NOT_DEFERRED', 'CARD_BLOCKED'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Activate a deferred card, or start a ready one that is idle in an active column',
    input: ForceStart,
    emits: ['card.updated'],
  }),
  setAutoMode: patch('/api/projects/{projectId}/cards/{cardId}/auto-mode', {
    notFound: ofCard,
    who: member('agents.run'),
    summary: 'Switch auto mode on or off',
    input: v.strictObject({ enabled: v.boolean() }),
    output: CardDetail,
    emits: ['card.updated'],
  }),
  getPipeline: get('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: "Read a card's pipeline",
    output: Pipeline,
  }),
  setPipeline: put('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    fails: ['INVALID_PIPELINE'],
    notFound: ofCard,
    who: member('cards.update'),
    summary: "Change a card's pipeline",
    input: SetPipeline,
    output: Pipeline,
    emits: ['card.updated'],
  }),
}
